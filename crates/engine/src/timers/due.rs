//! Background jobs for due times: fire them, read further ones, and sweep for lost hints.

use crate::api::query;
use crate::members::handover;
use crate::members::roster::Homes;
use crate::messages::delivery;
use crate::shared::Shared;
use crate::timers::failures::{FailureTracker, Verdict};
use crate::timers::heap::{Next, Place};
use crate::{Error, binding};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use onward_core::index::DueKind;
use onward_core::record::Record;
use onward_core::{Due, Key, Looked, Millis, PartitionId, Span, limits};
use onward_store::{Batch, Found, Home, Partition, Range, Version};
use std::sync::Arc;

/// Pause before a failed item is tried again.
const RETRY_AFTER: Span = Span::seconds(1);

type Fired = (PartitionId, Key, bool);

/// Fires the due times of one kind in the partitions whose home this process is.
pub(crate) async fn run(shared: Arc<Shared>, kind: DueKind) {
    let changed = match kind {
        DueKind::Lease => &shared.homes_changed.leases,
        DueKind::Timer | DueKind::Housekeeping => &shared.homes_changed.timers,
    };
    let mut tracker = FailureTracker::new();
    let mut fired: FuturesUnordered<BoxFuture<'static, Fired>> = FuturesUnordered::new();
    let mut before = Homes::Nowhere;
    let timers = shared.timers.of(kind);
    loop {
        let now = shared.homes();
        if now != before {
            timers.reset();
            before = now;
        }
        let pause = if before != Homes::Nowhere { fire(&shared, kind, &mut tracker, &mut fired).await } else { None };
        let sleep = async {
            match pause {
                Some(pause) => shared.clock.sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = shared.stopped() => return,
            Some(item) = fired.next(), if !fired.is_empty() => {
                settle(&shared, kind, &mut tracker, item);
                while let Some(Some(item)) = fired.next().now_or_never() {
                    settle(&shared, kind, &mut tracker, item);
                }
            }
            () = changed.notified() => {}
            () = timers.earlier.notified() => {}
            () = sleep => {}
        }
    }
}

/// Fires what is due; returns how long to sleep if nothing else happens, or `None` to sleep until woken.
async fn fire(
    shared: &Arc<Shared>,
    kind: DueKind,
    tracker: &mut FailureTracker<Key>,
    fired: &mut FuturesUnordered<BoxFuture<'static, Fired>>,
) -> Option<Span> {
    let now = shared.time.now();
    let timers = shared.timers.of(kind);
    let due = timers.take_due(now, limits::DUE_FIRED_MAX.saturating_sub(fired.len()));
    if !due.is_empty() {
        tracker.next_cycle();
    }
    for (partition, key) in due {
        if tracker.rests(&key) {
            later(shared, kind, partition, &key);
        } else {
            fired.push(Box::pin(fire_one(shared.clone(), kind, partition, key)));
        }
    }
    match timers.next() {
        // A fired item wakes this job when it is done.
        _ if fired.len() >= limits::DUE_FIRED_MAX => None,
        Next::Sleep => None,
        Next::SleepUntil(time) => Some((time - now).max(Span(1))),
        Next::ReadFrom(from) => Some(read(shared, kind, from, Millis(u64::MAX)).await),
    }
}

fn settle(shared: &Shared, kind: DueKind, tracker: &mut FailureTracker<Key>, (partition, key, failed): Fired) {
    if !failed {
        return tracker.succeeded(&key);
    }
    shared.metrics.due_errors.add(1);
    if tracker.failed(&key) == Verdict::Rests {
        tracing::error!(%key, "a due time failed three times in a row and is paused");
    }
    later(shared, kind, partition, &key);
}

/// Schedules the item for another try.
fn later(shared: &Shared, kind: DueKind, partition: PartitionId, key: &Key) {
    shared.timers.of(kind).remind(partition, key, shared.time.now() + RETRY_AFTER);
}

async fn fire_one(shared: Arc<Shared>, kind: DueKind, partition: PartitionId, key: Key) -> Fired {
    if let Key::Message(from, to, seq) = key {
        delivery::due(&shared, from, to, seq);
        return (partition, key, false);
    }
    match in_scope(&shared, partition, &key).await {
        Ok(true) => {}
        Ok(false) => return (partition, key, false),
        Err(_) => return (partition, key, true),
    }
    let failed = match shared.call(partition, Due { key: key.clone() }).await {
        Ok(Looked { acted: false, next: Some(next) }) => {
            shared.timers.of(kind).remind(partition, &key, next);
            false
        }
        Ok(_) | Err(Error::ShuttingDown) => false,
        Err(_) => true,
    };
    (partition, key, failed)
}

/// Whether a record is in scope of this process. What it cannot understand is outside: the filter fails closed.
pub(crate) async fn in_scope(shared: &Shared, partition: PartitionId, key: &Key) -> Result<bool, Error> {
    let Some(scope) = &shared.options.scope else { return Ok(true) };
    if let Key::Idempotency(namespace, _) | Key::Unique(namespace, _) | Key::Queues(namespace, ..) = key {
        return Ok(scope.covers_namespace(namespace));
    }
    // An errand is in scope with the execution that it is about.
    let about = if let Key::Errand(id, _) = key { &Key::Execution(*id) } else { key };
    match query::record(shared, partition, about).await? {
        Some(Record::Execution(execution)) => Ok(scope.covers(&execution)),
        _ => Ok(false),
    }
}

/// Reads due times from the store into memory; returns how long to wait before asking the timers again.
async fn read(shared: &Shared, kind: DueKind, from: Place, until: Millis) -> Span {
    let Some(homes) = shared.homes().partitions() else {
        // Without partitions there is nothing to wait for but a change of homes.
        return limits::FUTURE_MAX;
    };
    let reading = shared.timers.of(kind).begin_reading();
    let after = from.after.map(|key| (kind.rank(from.time), key));
    let range = Range { after, ..Range::between(kind.rank(from.time), kind.rank(until)) };
    match shared.store.due(&homes, range, limits::DUE_PAGE_MAX).await {
        Ok(page) => {
            let last = page.items.last().filter(|_| page.more);
            let cut_at = last.map(|last| Place { time: kind.time(last.rank), after: Some(last.key.clone()) });
            let now = shared.time.now();
            let time = |found: Found| {
                let (time, key) = (kind.time(found.rank), found.key.as_str().parse::<Key>());
                if key.is_err() && time <= now {
                    // Of a kind that only a newer build knows.
                    handover::newer(shared, &found.key.as_str());
                }
                Some((time, PartitionId(found.partition.0), key.ok()?))
            };
            reading.end(page.items.into_iter().filter_map(time).collect(), until, cut_at);
            Span(0)
        }
        Err(error) => {
            tracing::warn!(%error, "due times could not be read; trying again");
            RETRY_AFTER
        }
    }
}

/// Sweeps for lost hints. It runs rarely, because hints are rarely lost, and does not ask whether anything has changed:
/// the answer would be a hint as well.
pub(crate) async fn sweep(shared: Arc<Shared>) {
    loop {
        let every = shared.options.sweep_every;
        let pause = Span(every.0 + shared.chance.jittered(every).0 / 2);
        tokio::select! {
            biased;
            () = shared.stopped() => return,
            () = shared.clock.sleep(pause) => {}
        }
        shared.metrics.sweeps.add(1);
        ask_time(&shared).await;
        read_near(&shared).await;
        crate::work::claims::look_again(&shared, true).await;
    }
}

/// Asks the store for its time. Commits report it too, but a home that commits nothing would not notice that its own
/// clock was set back, and would be late by as much.
async fn ask_time(shared: &Shared) {
    // A member learns the time with every heartbeat.
    if shared.homes() == Homes::Nowhere || *shared.store.home().borrow() == Home::ByMembership {
        return;
    }
    let sent = shared.time.local();
    let nothing = Batch::new(Partition(0), Version(shared.chance.id()));
    match shared.store.commit(vec![nothing]).await.as_deref() {
        Ok([outcome, ..]) => shared.time.observe(sent, binding::outcome_time(outcome)),
        Ok([]) => {}
        Err(error) => tracing::warn!(%error, "the store's time could not be read"),
    }
}

/// Reads the due times of the next two sweeps, where a hint may have been lost or another process may have written.
pub(crate) async fn read_near(shared: &Shared) {
    if shared.homes() != Homes::Nowhere {
        let horizon = shared.time.now() + Span(2 * shared.options.sweep_every.0);
        for kind in DueKind::AWAITED {
            read(shared, kind, Place::at(Millis(0)), horizon).await;
        }
    }
}
