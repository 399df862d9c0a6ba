//! How a worker gets work: query the board, claim what is there, read the store where memory ends, or park.

use crate::members::roster::Homes;
use crate::partition::task::SealedReply;
use crate::shared::{Shared, typed};
use crate::work::board::{Look, QueueKey, QueuePage, Refill};
use crate::work::ready::Position;
use crate::work::registry;
use crate::work::remote;
use crate::work::waiters::{WaiterId, Wants};
use crate::{Error, binding};
use futures_util::future::join_all;
use onward_core::limits::READY_MAX;
use onward_core::{Claim, Claimed, Key, Millis, Rejection, Span, TableVerb};
use onward_store::{Partitions, Range};
use tokio::sync::oneshot;

/// Entries that are read of a queue at least, however many are read at once.
const PAGE_MIN: usize = 16;
/// Pause of a claim after a failed read of the store.
const READ_AGAIN_AFTER: Span = Span(100);
/// How long a parked claim that got its first piece waits for others, as a part of its lease.
const MORE_PART: u64 = 4;

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
        match shared.board.look(wants, wait.0 > 0, shared.clock.now()) {
            Look::Found(found) => {
                let claimed = claim_found(shared, wants, found).await?;
                if !claimed.is_empty() {
                    return Ok(claimed);
                }
            }
            Look::Refill(queues) => {
                if let Err(error) = refill(shared, queues).await {
                    if !error.is_temporary() || shared.clock.now() >= deadline {
                        // Other workers may be parked on what this call began to read.
                        shared.serve_waiters_later();
                        return Err(error);
                    }
                    shared.clock.rest(READ_AGAIN_AFTER).await;
                }
            }
            Look::Parked(id, receiver) => return Ok(park(shared, wants, (id, receiver), deadline).await),
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
    if let Some(kinds) = wants.kinds.as_ref().filter(|kinds| kinds.is_empty() || kinds.len() > max) {
        return invalid(
            "kinds",
            format!("1 to {max} kinds are needed, {} were given; leave it out for all", kinds.len()),
        );
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
            Err(Error::Refused(_)) => shared.board.was_gone(&(queue.clone(), *place)),
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

/// Waits until work is handed over or the deadline passes. With the first piece come others that memory knows, as when
/// work is found at once.
async fn park(
    shared: &Shared,
    wants: &Wants,
    (id, mut receiver): (WaiterId, oneshot::Receiver<SealedReply>),
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
    let Some(parcel) = parcel else { return Vec::new() };
    // It stays sealed until there is nothing more to wait for, so that a call that is dropped here loses no lease.
    let more = more(shared, wants).await;
    parcel.claimed().into_iter().chain(more).collect()
}

/// Claims what memory knows besides the first piece of a parked claim. Its lease runs already, so this does not take long.
async fn more(shared: &Shared, wants: &Wants) -> Vec<Claimed> {
    let found = shared.board.take_known(wants, wants.max - 1);
    if found.is_empty() {
        return Vec::new();
    }
    let mut unanswered = Unanswered { shared, entries: found.clone() };
    tokio::select! {
        biased;
        claimed = claim_found(shared, wants, found) => {
            unanswered.entries.clear();
            claimed.unwrap_or_default()
        }
        () = shared.clock.sleep(Span(wants.lease.0 / MORE_PART)) => Vec::new(),
    }
}

/// Entries that are being claimed. What is not answered returns to the board, where a claim finds out what became of it.
struct Unanswered<'a> {
    shared: &'a Shared,
    entries: Vec<(QueueKey, Position)>,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        self.entries.drain(..).for_each(|entry| self.shared.board.restore(entry));
    }
}

/// Reads more of some queues from the store, until no waiter needs more of them.
async fn refill(shared: &Shared, mut queues: Vec<Refill>) -> Result<(), Error> {
    while !queues.is_empty() {
        let mut reading = Reading { shared, queues: queues.iter().map(|(queue, _)| queue.clone()).collect() };
        let pages = read(shared, queues).await;
        let begun = std::mem::take(&mut reading.queues);
        // The caller decides when to try again.
        let pages = pages.inspect_err(|_| shared.board.abandon_refill(&begun))?;
        let (matches, again) = shared.board.refilled(pages);
        shared.claim_matches(matches);
        queues = again;
    }
    Ok(())
}

/// A read in progress. If its worker leaves half-way, another one has to read the queues.
struct Reading<'a> {
    shared: &'a Shared,
    queues: Vec<QueueKey>,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        if !self.queues.is_empty() {
            self.shared.board.abandon_refill(&self.queues);
            self.shared.board.unserved.notify_one();
        }
    }
}

/// Reads queues in the partitions that are near, those with the same partitions in one call. Many queues are read a
/// little each: most of them are short, and one that is not is read again alone.
async fn read(shared: &Shared, queues: Vec<Refill>) -> Result<Vec<QueuePage>, Error> {
    let limit = (READY_MAX / queues.len().max(1)).max(PAGE_MIN);
    let mut near: Vec<(Homes, Vec<Refill>)> = Vec::new();
    for (queue, homes) in shared.board.all_near(queues) {
        match near.iter_mut().find(|(same, _)| *same == homes) {
            Some((_, queues)) => queues.push(queue),
            None => near.push((homes, vec![queue])),
        }
    }
    let mut pages = Vec::new();
    for (homes, queues) in near {
        match homes.partitions() {
            Some(near) => pages.extend(pages_of(shared, queues, &near, limit).await?),
            None => pages.extend(queues.into_iter().map(|(queue, _)| (queue, Vec::new(), false))),
        }
    }
    Ok(pages)
}

/// Reads up to `limit` entries of each queue in some partitions, and whether there are more.
pub(crate) async fn pages_of(
    shared: &Shared,
    queues: Vec<Refill>,
    partitions: &Partitions,
    limit: usize,
) -> Result<Vec<QueuePage>, Error> {
    let range = |after: &Option<Position>| {
        let after = after.map(|(rank, id)| (rank, binding::store_key(&Key::Execution(id))));
        Range { after, ..Range::default() }
    };
    let wanted: Vec<_> = queues.iter().map(|(queue, after)| (queue.index(), range(after))).collect();
    let pages = shared.store.scan_many(&wanted, partitions, limit).await?;
    let place = |found: onward_store::Found| Some((found.rank, found.key.as_str().parse().ok()?));
    let read = queues.into_iter().zip(pages);
    Ok(read.map(|((queue, _), page)| (queue, page.items.into_iter().filter_map(place).collect(), page.more)).collect())
}

/// Finds work that no hint has announced; see [`Board::doubt_all`](crate::work::board::Board::doubt_all).
pub(crate) async fn look_again(shared: &Shared, forget: bool) {
    if let Err(error) = registry::read(shared).await {
        tracing::warn!(%error, "the registry of queues could not be read");
    }
    shared.board.doubt_all(forget);
    serve_waiters(shared).await;
}

/// Matches waiters with ready work: with what is in memory, and with what must be read for the queues they wait for.
pub(crate) async fn serve_waiters(shared: &Shared) {
    shared.claim_matches(shared.board.match_waiting());
    loop {
        let unknown = shared.board.begin_awaited();
        if unknown.is_empty() {
            return;
        }
        if let Err(error) = refill(shared, unknown).await {
            tracing::warn!(%error, "ready work could not be read; trying again");
            return shared.serve_waiters_later();
        }
    }
}
