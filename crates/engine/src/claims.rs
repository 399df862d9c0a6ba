//! How a worker gets work: look at the board, claim what is there, read the store where memory ends, or park.

use crate::board::{Look, QueueKey};
use crate::ready::{ENTRIES_MAX, Place};
use crate::shared::Shared;
use crate::task::Parcel;
use crate::waiters::Wants;
use crate::{Error, binding};
use futures_util::future::join_all;
use onward_core::record::Record;
use onward_core::{Claimed, Command, Key, LeaseId, Millis, PartitionId, Rejection, Reply, Share, Span, codec, index};
use onward_store::{IndexName, Partitions, Range};

/// Claims up to `wants.max` executions; with nothing ready it waits for the first one, up to `wait`.
pub(crate) async fn claim(shared: &Shared, wants: &Wants, wait: Span) -> Result<Vec<Claimed>, Error> {
    check(wants)?;
    let deadline = shared.clock.now() + wait;
    loop {
        if shared.is_stopping() {
            return Err(Error::ShuttingDown);
        }
        match shared.board.look(wants, wait.0 > 0) {
            Look::Found(found) => {
                let claimed = claim_found(shared, wants, found).await?;
                if !claimed.is_empty() {
                    return Ok(claimed);
                }
            }
            Look::Refill(queue, after) => refill(shared, &queue, after).await,
            Look::Parked(id, receiver) => return Ok(park(shared, id, receiver, deadline).await),
            Look::Nothing => return Ok(Vec::new()),
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
    let (low, high) = (onward_core::limits::LEASE_MIN, onward_core::limits::LEASE_MAX);
    if !(low..=high).contains(&wants.lease) {
        return invalid("lease", format!("is {low} to {high}, not {}", wants.lease));
    }
    Ok(())
}

/// Claims what the board had. Entries that were gone are no error: the board is a hint.
async fn claim_found(shared: &Shared, wants: &Wants, found: Vec<(QueueKey, Place)>) -> Result<Vec<Claimed>, Error> {
    let calls = found.iter().map(|(_, (_, execution))| {
        let claim = wants.claim(*execution, LeaseId(shared.chance.id()));
        shared.call_sealed(execution.partition(), Command::Claim(claim))
    });
    let mut claimed = Vec::new();
    let mut failure = None;
    // All parcels are opened together, with nothing to wait for afterwards: whoever drops this call half-way drops them
    // sealed, and no lease is lost.
    for ((queue, place), parcel) in found.iter().zip(join_all(calls).await) {
        match parcel.and_then(Parcel::open) {
            Ok(Reply::Claimed(work)) => claimed.push(*work),
            Err(Error::Refused(Rejection::LanePaused(lane))) => shared.board.stall_lane(&wants.namespace, &lane),
            Ok(_) | Err(Error::Refused(_)) => {}
            Err(error) => {
                shared.claim_matches(shared.board.announce(queue.clone(), *place));
                failure = Some(error);
            }
        }
    }
    match failure {
        Some(error) if claimed.is_empty() => Err(error),
        _ => Ok(claimed),
    }
}

/// Waits until somebody hands work over or the time is up.
async fn park(
    shared: &Shared,
    id: u64,
    mut receiver: tokio::sync::oneshot::Receiver<Parcel>,
    deadline: Millis,
) -> Vec<Claimed> {
    let remaining = deadline - shared.clock.now();
    let result = tokio::select! {
        biased;
        result = &mut receiver => return result.ok().and_then(Parcel::claimed).into_iter().collect(),
        () = shared.clock.sleep(remaining) => {
            shared.board.unpark(id);
            receiver.close();
            receiver.try_recv()
        }
    };
    result.ok().and_then(Parcel::claimed).into_iter().collect()
}

/// Reads more of a queue from the store, until nobody waits for more of it.
async fn refill(shared: &Shared, queue: &QueueKey, mut after: Option<Place>) {
    let mut reading = Reading { shared, queue, is_over: false };
    loop {
        let page = read(shared, queue, after).await;
        let (matches, again) = shared.board.refilled(queue, page);
        reading.is_over = again.is_none();
        shared.claim_matches(matches);
        match again {
            Some(behind) => after = behind,
            None => return,
        }
    }
}

/// A reading under way. A worker may leave in the middle of it; then somebody else has to read the queue.
struct Reading<'a> {
    shared: &'a Shared,
    queue: &'a QueueKey,
    is_over: bool,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.shared.board.abandon_refill(self.queue);
            self.shared.reread.notify_one();
        }
    }
}

async fn read(shared: &Shared, queue: &QueueKey, after: Option<Place>) -> Option<(Vec<Place>, bool)> {
    let after = after.map(|(rank, id)| (rank, binding::store_key(&Key::Execution(id))));
    let range = Range { after, ..Range::default() };
    match shared.store.scan(&queue.index(), &Partitions::All, range, ENTRIES_MAX).await {
        Ok(page) => {
            let place = |found: onward_store::Found| Some((found.rank, found.key.as_str().parse().ok()?));
            Some((page.items.into_iter().filter_map(place).collect(), page.more))
        }
        Err(error) => {
            tracing::warn!(%error, lane = %queue.lane, "ready work could not be read; trying again");
            shared.clock.sleep(Span(100)).await;
            None
        }
    }
}

/// Looks for work that no hint has told of; see [`Board::doubt_all`](crate::board::Board::doubt_all).
pub(crate) async fn look_again(shared: &Shared, forget: bool) {
    if let Err(error) = load_classes(shared).await {
        tracing::warn!(%error, "the registry of classes could not be read");
    }
    for (queue, after) in shared.board.doubt_all(forget) {
        refill(shared, &queue, after).await;
    }
}

/// Reads the registry of classes, so that the board knows which queues exist.
pub(crate) async fn load_classes(shared: &Shared) -> onward_store::Result<()> {
    let index = IndexName::new(index::CLASSES);
    let mut range = Range::default();
    loop {
        let page = shared.store.scan(&index, &Partitions::All, range.clone(), 4_096).await?;
        for found in &page.items {
            let Ok(key) = found.key.as_str().parse::<Key>() else { continue };
            register(shared, PartitionId(found.partition.0), &key).await?;
        }
        match page.items.last() {
            Some(last) if page.more => range.after = Some((last.rank, last.key.clone())),
            _ => return Ok(()),
        }
    }
}

/// Makes the queue of a class known; only a class whose name is a hash has to be loaded for it.
async fn register(shared: &Shared, partition: PartitionId, key: &Key) -> onward_store::Result<()> {
    let Some((namespace, lane, name)) = index::class_of(key) else { return Ok(()) };
    let class = match index::class_by_name(name) {
        Some(class) => class,
        None => {
            let rows = shared.store.load(binding::partition(partition), &[binding::store_key(key)]).await?;
            match rows.into_iter().next().flatten().map(|row| codec::decode(key, &row.body)) {
                Some(Record::Class(seen)) => seen.capabilities,
                _ => return Ok(()),
            }
        }
    };
    let share = Share::default();
    shared.board.register(QueueKey { namespace: namespace.clone(), lane: lane.clone(), class, share });
    Ok(())
}
