//! Background work on due times: fire them, read further ones, and sweep for lost hints.

use crate::roster::Homes;
use crate::shared::Shared;
use crate::timers::Next;
use crate::tracker::{FailureTracker, Verdict};
use crate::{Error, binding, office, query};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use onward_core::record::Record;
use onward_core::{Command, Due, Key, Millis, PartitionId, Reply, Span, index, limits};
use onward_store::{Batch, Found, Home, Partition, Version};
use std::sync::Arc;

/// How long an item that failed waits for its next try.
const RETRY_AFTER: Span = Span::seconds(1);

type Fired = (PartitionId, Key, bool);

/// Fires due times while this process is the home of the partitions.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut homes = shared.watch_homes();
    let mut tracker = FailureTracker::new();
    let mut fired: FuturesUnordered<BoxFuture<'static, Fired>> = FuturesUnordered::new();
    let mut before = Homes::Nowhere;
    loop {
        let now = homes.borrow_and_update().clone();
        if now != before {
            shared.timers.reset();
            before = now;
        }
        let pause = if before != Homes::Nowhere { fire(&shared, &mut tracker, &mut fired).await } else { None };
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
                settle(&shared, &mut tracker, item);
                while let Some(Some(item)) = fired.next().now_or_never() {
                    settle(&shared, &mut tracker, item);
                }
            }
            _ = homes.changed() => {}
            () = shared.timers.earlier.notified() => {}
            () = sleep => {}
        }
    }
}

/// Fires what is due; the answer is how long to sleep if nothing else happens.
async fn fire(
    shared: &Arc<Shared>,
    tracker: &mut FailureTracker<Key>,
    fired: &mut FuturesUnordered<BoxFuture<'static, Fired>>,
) -> Option<Span> {
    let now = shared.time.now();
    let due = shared.timers.take_due(now, limits::DUE_FIRED_MAX.saturating_sub(fired.len()));
    if !due.is_empty() {
        tracker.next_cycle();
    }
    for (partition, key) in due {
        if tracker.rests(&key) {
            later(shared, partition, &key);
        } else {
            fired.push(Box::pin(fire_one(shared.clone(), partition, key)));
        }
    }
    match shared.timers.next() {
        // Whatever is fired wakes this job when it is done.
        _ if fired.len() >= limits::DUE_FIRED_MAX => None,
        Next::Sleep => None,
        Next::SleepUntil(time) => Some((time - now).max(Span(1))),
        Next::ReadFrom(from) => Some(read(shared, from, Millis(u64::MAX)).await),
    }
}

fn settle(shared: &Shared, tracker: &mut FailureTracker<Key>, (partition, key, failed): Fired) {
    if !failed {
        return tracker.succeeded(&key);
    }
    shared.metrics.due_errors.add(1);
    if tracker.failed(&key) == Verdict::Rests {
        tracing::error!(%key, "a due time failed three times and rests");
    }
    later(shared, partition, &key);
}

/// Looks at the item again in a while.
fn later(shared: &Shared, partition: PartitionId, key: &Key) {
    shared.timers.remind(partition, key, shared.time.now() + RETRY_AFTER);
}

async fn fire_one(shared: Arc<Shared>, partition: PartitionId, key: Key) -> Fired {
    if let Key::Message(from, to, _) = key {
        office::request(&shared, from, to);
        return (partition, key, false);
    }
    match in_scope(&shared, partition, &key).await {
        Ok(true) => {}
        Ok(false) => return (partition, key, false),
        Err(_) => return (partition, key, true),
    }
    let failed = match shared.call(partition, Command::Due(Due { key: key.clone() })).await {
        Ok(Reply::Due { acted: false, next: Some(next) }) => {
            shared.timers.remind(partition, &key, next);
            false
        }
        Ok(_) | Err(Error::ShuttingDown) => false,
        Err(_) => true,
    };
    (partition, key, failed)
}

/// Whether this process looks after the record. What it cannot understand is outside: the filter fails closed.
pub(crate) async fn in_scope(shared: &Shared, partition: PartitionId, key: &Key) -> Result<bool, Error> {
    let Some(scope) = &shared.options.scope else { return Ok(true) };
    if let Key::Idempotency(namespace, _) | Key::Unique(namespace, _) = key {
        return Ok(scope.covers_namespace(namespace));
    }
    match query::record(shared, partition, key).await? {
        Some(Record::Execution(execution)) => Ok(scope.covers(&execution)),
        _ => Ok(false),
    }
}

/// Reads due times from the store into memory; the answer is how long to wait before asking the timers again.
async fn read(shared: &Shared, from: Millis, until: Millis) -> Span {
    let Some(homes) = shared.homes().partitions() else {
        // Nobody is asked, so there is nothing to wait for but a change of homes.
        return limits::FUTURE_MAX;
    };
    let reading = shared.timers.begin_reading();
    // Housekeeping is another job's.
    let end = until.0.min(index::HOUSEKEEPING);
    match shared.store.due(&homes, from.0, end, limits::DUE_PAGE_MAX).await {
        Ok(found) => {
            let complete = found.len() < limits::DUE_PAGE_MAX;
            let time = |found: Found| {
                let key = found.key.as_str().parse::<Key>().ok()?;
                Some((Millis(found.rank), PartitionId(found.partition.0), key))
            };
            reading.end(found.into_iter().filter_map(time).collect(), from, until, complete);
            Span(0)
        }
        Err(error) => {
            tracing::warn!(%error, "due times could not be read; trying again");
            RETRY_AFTER
        }
    }
}

/// Looks for lost hints. It is slow, because hints are rarely lost, and does not ask whether anything has moved: the
/// answer would be a hint as well.
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
        crate::claims::look_again(&shared, true).await;
    }
}

/// Asks the store for its time. Commits tell it too, but a home that commits nothing would not notice that its own
/// clock was set back, and would be late by as much.
async fn ask_time(shared: &Shared) {
    // A member is told whenever it says that it lives.
    if shared.homes() == Homes::Nowhere || *shared.store.home().borrow() == Home::ByMembership {
        return;
    }
    let sent = shared.time.local();
    let nothing = Batch::new(Partition(0), Version(shared.chance.id()));
    match shared.store.commit(vec![nothing]).await.as_deref() {
        Ok([outcome, ..]) => shared.time.observe(sent, binding::outcome_time(outcome)),
        Ok([]) => {}
        Err(error) => tracing::warn!(%error, "the store did not tell its time"),
    }
}

/// Reads the due times of the next two sweeps, where a hint may have been lost or another process may have written.
pub(crate) async fn read_near(shared: &Shared) {
    if shared.homes() != Homes::Nowhere {
        let horizon = shared.time.now() + Span(2 * shared.options.sweep_every.0);
        read(shared, Millis(0), horizon).await;
    }
}
