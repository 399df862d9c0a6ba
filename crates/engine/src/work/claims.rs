//! How a worker gets work: query the board, claim what is there, read the store where memory ends, or park.

use crate::api::query;
use crate::partition::task::SealedReply;
use crate::shared::{Shared, typed};
use crate::work::board::{Look, QueueKey};
use crate::work::ready::Position;
use crate::work::remote;
use crate::work::waiters::{WaiterId, Wants};
use crate::{Error, binding};
use futures_util::future::join_all;
use onward_core::limits::READY_MAX;
use onward_core::record::Record;
use onward_core::{Claim, Claimed, Key, Millis, Rejection, Span, TableVerb, index};
use onward_store::{IndexName, Partitions, Range};
use tokio::sync::oneshot;

/// Pause of a claim after a failed read of the store.
const READ_AGAIN_AFTER: Span = Span(100);

/// Claims up to `wants.max` executions; if nothing is ready, waits up to `wait` for the first one.
pub(crate) async fn claim(shared: &Shared, wants: &Wants, wait: Span) -> Result<Vec<Claimed>, Error> {
    check(wants)?;
    let deadline = shared.clock.now() + wait;
    loop {
        if shared.is_stopping() {
            return Err(Error::ShuttingDown);
        }
        // A read that ends after this line is noticed.
        let read = shared.board.read.notified();
        match shared.board.look(wants, wait.0 > 0) {
            Look::Found(found) => {
                let claimed = claim_found(shared, wants, found).await?;
                if !claimed.is_empty() {
                    return Ok(claimed);
                }
            }
            Look::Refill(queue, after) => {
                if let Err(error) = refill(shared, &queue, after).await {
                    if !error.is_temporary() || shared.clock.now() >= deadline {
                        return Err(error);
                    }
                    shared.clock.rest(READ_AGAIN_AFTER).await;
                }
            }
            Look::Parked(id, receiver) => return Ok(park(shared, id, receiver, deadline).await),
            Look::Reading => read.await,
            Look::Nothing if wait.0 > 0 => return Ok(Vec::new()),
            Look::Nothing => return claim_found(shared, wants, remote::look(shared, wants).await?).await,
        }
    }
}

fn check(wants: &Wants) -> Result<(), Rejection> {
    let invalid = |field, why: String| Err(Rejection::InvalidArgument { field, why });
    let max = onward_core::limits::CALL_ITEMS_MAX;
    if wants.max == 0 || wants.max > max {
        return invalid("max", format!("is 1 to {max}, not {}", wants.max));
    }
    if wants.lanes.is_empty() || wants.lanes.len() > max {
        return invalid("lanes", format!("1 to {max} lanes are needed, {} were given", wants.lanes.len()));
    }
    onward_core::limits::check_lease(wants.lease)
}

/// Claims what was found on the board. Entries that are gone are no error: the board is a hint.
async fn claim_found(shared: &Shared, wants: &Wants, found: Vec<(QueueKey, Position)>) -> Result<Vec<Claimed>, Error> {
    let calls = found.iter().map(|(_, (_, execution))| {
        let claim = wants.claim(*execution, shared.chance.id());
        shared.call_sealed(execution.partition(), claim.into())
    });
    let mut claimed = Vec::new();
    let mut failure = None;
    // All sealed replies are opened together, with nothing to wait for afterwards: a call that is dropped half-way
    // drops them sealed, and no lease is lost.
    for ((queue, place), parcel) in found.iter().zip(join_all(calls).await) {
        match parcel.and_then(SealedReply::open).and_then(|reply| typed(Claim::open(reply))) {
            Ok(work) => claimed.push(*work),
            Err(Error::Refused(_)) => {}
            Err(error) => {
                shared.board.restore((queue.clone(), *place));
                failure = Some(error);
            }
        }
    }
    match failure {
        Some(error) if claimed.is_empty() => Err(error),
        _ => Ok(claimed),
    }
}

/// Takes a waiter off the board when its call ends, also when the call is dropped half-way.
struct Parked<'a> {
    shared: &'a Shared,
    id: WaiterId,
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        self.shared.board.unpark(self.id);
    }
}

/// Waits until work is handed over or the deadline passes.
async fn park(
    shared: &Shared,
    id: WaiterId,
    mut receiver: oneshot::Receiver<SealedReply>,
    deadline: Millis,
) -> Vec<Claimed> {
    let _parked = Parked { shared, id };
    let remaining = deadline - shared.clock.now();
    let parcel = tokio::select! {
        biased;
        parcel = &mut receiver => parcel.ok(),
        () = shared.clock.sleep(remaining) => {
            receiver.close();
            receiver.try_recv().ok()
        }
    };
    parcel.and_then(SealedReply::claimed).into_iter().collect()
}

/// Reads more of a queue from the store, until no waiter needs more of it.
async fn refill(shared: &Shared, queue: &QueueKey, mut after: Option<Position>) -> Result<(), Error> {
    let mut reading = Reading { shared, queue, is_over: false };
    loop {
        let page = match read(shared, queue, after).await {
            Ok(page) => page,
            Err(error) => {
                reading.is_over = true;
                shared.board.abandon_refill(queue);
                return Err(error);
            }
        };
        let (matches, again) = shared.board.refilled(queue, page);
        reading.is_over = again.is_none();
        shared.claim_matches(matches);
        match again {
            Some(behind) => after = behind,
            None => return Ok(()),
        }
    }
}

/// A read in progress. If its worker leaves half-way, another one has to read the queue.
struct Reading<'a> {
    shared: &'a Shared,
    queue: &'a QueueKey,
    is_over: bool,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.shared.board.abandon_refill(self.queue);
            self.shared.board.unserved.notify_one();
        }
    }
}

async fn read(shared: &Shared, queue: &QueueKey, after: Option<Position>) -> Result<(Vec<Position>, bool), Error> {
    match shared.board.near(queue).partitions() {
        Some(near) => page(shared, queue, &near, after, READY_MAX).await,
        None => Ok((Vec::new(), false)),
    }
}

/// Reads up to `limit` entries of a queue in some partitions after a position, and whether there are more.
pub(crate) async fn page(
    shared: &Shared,
    queue: &QueueKey,
    partitions: &Partitions,
    after: Option<Position>,
    limit: usize,
) -> Result<(Vec<Position>, bool), Error> {
    let after = after.map(|(rank, id)| (rank, binding::store_key(&Key::Execution(id))));
    let range = Range { after, ..Range::default() };
    let page = shared.store.scan(&queue.index(), partitions, range, limit).await?;
    let place = |found: onward_store::Found| Some((found.rank, found.key.as_str().parse().ok()?));
    Ok((page.items.into_iter().filter_map(place).collect(), page.more))
}

/// Finds work that no hint has announced; see [`Board::doubt_all`](crate::work::board::Board::doubt_all).
pub(crate) async fn look_again(shared: &Shared, forget: bool) {
    if let Err(error) = load_classes(shared).await {
        tracing::warn!(%error, "the registry of classes could not be read");
    }
    shared.board.doubt_all(forget);
    serve_waiters(shared).await;
}

/// Matches waiters with ready work: with what is in memory, and with what must be read for the queues they wait for.
pub(crate) async fn serve_waiters(shared: &Shared) {
    shared.claim_matches(shared.board.match_waiting());
    for queue in shared.board.awaited() {
        let Some(after) = shared.board.begin_refill(&queue) else { continue };
        if let Err(error) = refill(shared, &queue, after).await {
            tracing::warn!(%error, lane = %queue.lane, "ready work could not be read; trying again");
            shared.serve_waiters_later();
        }
    }
}

/// Reads the registry of classes, so that the board knows which queues exist.
pub(crate) async fn load_classes(shared: &Shared) -> Result<(), Error> {
    for key in query::keys(shared, &IndexName::new(index::CLASSES)).await? {
        register(shared, &key).await?;
    }
    Ok(())
}

/// Registers the queue of a class; only a class whose name is a hash has to be loaded for it.
async fn register(shared: &Shared, key: &Key) -> Result<(), Error> {
    let Key::Class(namespace, lane, name, partition) = key else { return Ok(()) };
    let class = match index::class_by_name(name) {
        Some(class) => class,
        None => match query::record(shared, *partition, key).await? {
            Some(Record::Class(seen)) => seen.capabilities,
            _ => return Ok(()),
        },
    };
    shared.board.register(QueueKey { namespace: namespace.clone(), lane: lane.clone(), class });
    Ok(())
}
