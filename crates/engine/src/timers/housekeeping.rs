//! Removes records past their retention in the background, at a pace that leaves the store to the work.
//!
//! No caller waits for it, so it takes little of the time: after each step it rests several times as long as the step
//! took. Only when it falls behind does it take more, up to all of it, since what is removed late fills the disk.

use crate::Error;
use crate::shared::Shared;
use crate::timers::due;
use crate::timers::failures::{FailureTracker, Verdict};
use crate::work::registry;
use futures_util::future::join_all;
use onward_core::index::DueKind;
use onward_core::{Due, Key, Looked, Millis, PartitionId, Span, limits};
use onward_store::{Found, Range};
use std::sync::Arc;

/// Records removed in one step: few enough that no other commit waits long behind it.
const STEP: usize = 64;
/// How many times as long as a step it rests while it is on time.
const REST: u64 = 4;
/// The longest rest: a step that waited for an unavailable store has not used it.
const REST_MAX: Span = Span::seconds(10);
/// How late the oldest record may be before there is no rest at all; half the shortest retention.
const LATE_MAX: Span = Span(limits::RETENTION_MIN.0 / 2);
/// Maximum pieces of one record that are removed in one step.
const PIECES_MAX: usize = 16;
/// Pause after a failed read.
const RETRY_AFTER: Span = Span::seconds(1);

/// Removes what is due in the partitions whose home this process is.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut tracker = FailureTracker::new();
    loop {
        let more = shared.housework.notified();
        let pause = round(&shared, &mut tracker).await;
        tokio::select! {
            biased;
            () = shared.stopped() => return,
            () = more => {}
            () = shared.clock.sleep(pause) => {}
        }
    }
}

/// Goes once over all that is due now; returns how long to rest. A record that fails is skipped, so that nothing behind
/// it starves.
async fn round(shared: &Arc<Shared>, tracker: &mut FailureTracker<Key>) -> Span {
    let usual = Span(2 * shared.options.sweep_every.0);
    let mut range = Range { from: Some(DueKind::Housekeeping.first()), ..Range::default() };
    tracker.next_cycle();
    while let Some(homes) = shared.homes().partitions().filter(|_| !shared.is_stopping()) {
        let found = match shared.store.due(&homes, range.clone(), STEP).await {
            Ok(page) => page.items,
            Err(error) => {
                tracing::warn!(%error, "records past their retention could not be read; trying again");
                return RETRY_AFTER;
            }
        };
        let now = shared.time.now();
        let Some(first) = found.first().map(time) else { return usual };
        if first > now {
            return usual.min(first - now).max(Span(1));
        }
        range.after = found.last().map(|last| (last.rank, last.key.clone()));
        let began = shared.clock.now();
        step(shared, tracker, found.into_iter().filter(|found| time(found) <= now)).await;
        let rest = shared.clock.sleep(rest(shared.clock.now() - began, now - first));
        tokio::select! { biased; () = shared.stopped() => {}, () = rest => {} }
    }
    usual
}

/// The time at which a record is due, from its rank.
fn time(found: &Found) -> Millis {
    DueKind::Housekeeping.time(found.rank)
}

/// How long to rest after a step that took `took`, when the oldest record is `late`.
fn rest(took: Span, late: Span) -> Span {
    let left = LATE_MAX.0.saturating_sub(late.0);
    Span(took.0.max(1) * REST * left / LATE_MAX.0).min(REST_MAX)
}

async fn step(shared: &Arc<Shared>, tracker: &mut FailureTracker<Key>, found: impl Iterator<Item = Found>) {
    let due: Vec<(PartitionId, Key)> = found
        .filter_map(|found| Some((PartitionId(found.partition.0), found.key.as_str().parse().ok()?)))
        .filter(|(_, key)| !tracker.rests(key))
        .collect();
    let removing = due.iter().map(|(partition, key)| remove(shared, *partition, key));
    for ((_, key), removed) in due.iter().zip(join_all(removing).await) {
        match removed {
            Ok(()) => tracker.succeeded(key),
            // That the store is unavailable says nothing about the record.
            Err(error) if error.is_temporary() => shared.metrics.due_errors.add(1),
            Err(error) => {
                shared.metrics.due_errors.add(1);
                if tracker.failed(key) == Verdict::Rests {
                    tracing::error!(%key, %error, "a record could not be removed three times in a row and is paused");
                }
            }
        }
    }
}

/// Removes one record, or as many pieces of it as fit one step.
async fn remove(shared: &Shared, partition: PartitionId, key: &Key) -> Result<(), Error> {
    for _ in 0..PIECES_MAX {
        if !due::in_scope(shared, partition, key).await? {
            return Ok(());
        }
        if let Key::Queues(..) = key {
            return registry::prune(shared, partition, key).await;
        }
        match shared.call(partition, Due { key: key.clone() }).await {
            Ok(Looked { acted: true, next: Some(next) }) if next <= shared.time.now() => {}
            Ok(_) | Err(Error::ShuttingDown) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rests_less_the_later_it_is() {
        assert_eq!(rest(Span(10), Span(0)), Span(10 * REST));
        assert_eq!(rest(Span(0), Span(0)), Span(REST), "it always rests while it is in time");
        assert_eq!(rest(Span(10), Span(LATE_MAX.0 / 2)), Span(5 * REST));
        assert_eq!(rest(Span(10), LATE_MAX), Span(0));
        assert_eq!(rest(Span(10), Span(LATE_MAX.0 * 9)), Span(0));
    }
}
