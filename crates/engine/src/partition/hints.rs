//! Updates the hints in memory after a commit: board, timers, registries and watches.

use crate::Error;
use crate::messages::delivery;
use crate::metrics::{Counter, Metrics};
use crate::partition::batch::{Change, Step, ready};
use crate::shared::Shared;
use crate::timers::heap::Moved;
use crate::work::board::{Move, Origin, QueueKey};
use crate::work::registry;
use onward_core::index::DueKind;
use onward_core::record::{AttemptEnd, Execution, ExpiredBy, Readiness, Record, State, Waiting};
use onward_core::{Command, Key, LeaseId, Looked, PartitionId, Rejection, Reply, index};
use std::sync::Arc;

/// Applies what a commit changed; called after the commit, never before.
pub(crate) fn learn(shared: &Arc<Shared>, partition: PartitionId, changes: &[Change]) {
    let moves = changes.iter().filter_map(moved).collect();
    shared.claim_matches(shared.board.rearrange(moves));
    // Only the home keeps the due times of a partition; another process that changes them notifies it.
    if shared.is_home(partition) {
        for kind in DueKind::AWAITED {
            let changes = changes.iter().filter(|change| !is_sent(change));
            shared.timers.of(kind).set_all(partition, changes.filter_map(|change| due_again(change, kind)));
        }
        delivery::sent(shared, partition, changes);
    }
    for change in changes {
        registries(shared, change);
        if let Some(Record::LaneMaster(master)) = change.after.as_deref() {
            shared.copies.learn(master);
        }
    }
    shared.watches.learn(changes);
}

/// Whether a change is a new message: it is delivered at once, without waiting for its due time.
fn is_sent(change: &Change) -> bool {
    matches!(change.key, Key::Message(..)) && change.before.is_none()
}

/// Applies what may have changed when a commit's outcome was lost: both the old and the new state are worth checking.
pub(crate) fn suspect(shared: &Shared, partition: PartitionId, changes: &[Change]) {
    shared.watches.suspect(changes);
    for change in changes {
        registries(shared, change);
        for record in [&change.before, &change.after].into_iter().flatten() {
            let to = place(record);
            shared.claim_matches(shared.board.rearrange(vec![Move { from: None, to }]));
        }
        if shared.is_home(partition) {
            let records = [&change.before, &change.after].into_iter().flatten();
            for (kind, due) in records.filter_map(|record| index::due_as(record)) {
                if kind != DueKind::Housekeeping {
                    shared.timers.of(kind).remind(partition, &change.key, due);
                }
            }
        }
    }
}

/// The position of a record in a ready queue, if it has one.
fn place(record: &Record) -> Option<Origin> {
    ready(record).map(|execution| (QueueKey::of(execution), (execution.ready_rank(), execution.id)))
}

/// What a change removes from a ready queue and adds to one. Work that ends where it began is announced as well: a
/// claim in the same commit took it off the board.
fn moved(change: &Change) -> Option<Move> {
    let from = change.before.as_deref().and_then(place);
    let to = change.after.as_deref().and_then(place);
    (from.is_some() || to.is_some()).then_some(Move { from, to })
}

/// The new due time of a record, if it changed among those of this kind.
fn due_again(change: &Change, kind: DueKind) -> Option<Moved<'_>> {
    let time = |record: &Record| index::due_as(record).filter(|(of, _)| *of == kind).map(|(_, due)| due);
    let (before, after) = (change.before.as_deref().and_then(time), change.after.as_deref().and_then(time));
    (before != after).then_some(Moved { key: &change.key, before, after })
}

fn registries(shared: &Shared, change: &Change) {
    match (&change.key, change.after.as_deref()) {
        (Key::Queues(namespace, lane, _), Some(Record::Queues(registry))) => {
            registry::listed(namespace, lane, registry).for_each(|queue| shared.board.register(&queue));
            shared.registry.loaded([(change.key.clone(), registry.grown_at.0)]);
        }
        (Key::LaneCopy(namespace, lane, _), Some(_)) => {
            shared.board.reset_lane(namespace, lane);
            shared.board.unserved.notify_one();
        }
        (_, Some(Record::Execution(execution))) if execution.is_purging() => shared.housework.notify_one(),
        _ => {}
    }
}

/// Counts the background duties that a commit carried out, each under its own name.
pub(crate) fn count_duties(shared: &Shared, steps: &[Step], changes: &[Change]) {
    for step in steps {
        if let Err(Error::Refused(Rejection::MailboxFull(_))) = &step.result {
            shared.metrics.pending_wp_expiry.add(1);
        }
        let (Command::Due(due), Ok(Reply::Due(Looked { acted: true, .. }))) = (&step.task.command, &step.result) else {
            continue;
        };
        // A batch lists its changes in the order of their keys.
        let Ok(at) = changes.binary_search_by(|change| change.key.cmp(&due.key)) else { continue };
        let metrics = &shared.metrics;
        let (before, after) = (changes[at].before.as_deref(), changes[at].after.as_deref());
        if lease(before).is_some() && lease(before) == lease(after) {
            // Its times were brought nearer, after the time was set back.
            continue;
        }
        let duty = match (before, after) {
            // A purge is counted once, when it begins.
            (Some(Record::Execution(before)), _) if before.is_purging() => continue,
            (Some(Record::Execution(before)), after) => duty(metrics, before, after),
            (Some(Record::Unique(_)), _) => &metrics.unique_expiry,
            (Some(Record::Idempotency(_)), _) => &metrics.idempotency_expiry,
            _ => continue,
        };
        duty.add(1);
    }
}

/// The lease under which an execution runs.
fn lease(record: Option<&Record>) -> Option<LeaseId> {
    let Some(Record::Execution(execution)) = record else { return None };
    if let State::Active(active) = &execution.state { Some(active.lease.id) } else { None }
}

/// The counter of the duty that changed an execution.
fn duty<'a>(metrics: &'a Metrics, before: &Execution, after: Option<&Record>) -> &'a Counter {
    let last = match after {
        Some(Record::Execution(after)) => after.last.as_ref().map(|last| &last.end),
        _ => None,
    };
    match (&before.state, last) {
        (State::Finished(_), _) => &metrics.retention_trimmer,
        (State::Waiting(Waiting { readiness: Readiness::Suspended(_), .. }), _) if !is_past_deadline(after) => {
            &metrics.suspension_timeout
        }
        (State::Waiting(_), _) if matches!(after, Some(Record::Execution(after)) if is_finished(after)) => {
            &metrics.execution_deadline
        }
        (State::Waiting(_), _) => &metrics.delayed_promoter,
        (State::Active(_), Some(AttemptEnd::Expired)) => &metrics.execution_deadline,
        (State::Active(_), Some(AttemptEnd::Cancelled)) => &metrics.stop_grace,
        (State::Active(_), Some(AttemptEnd::Failed { .. })) => &metrics.attempt_timeout,
        (State::Active(_), _) => &metrics.lease_expiry,
    }
}

fn is_past_deadline(after: Option<&Record>) -> bool {
    let Some(Record::Execution(after)) = after else { return false };
    matches!(&after.state, State::Finished(finished) if finished.expired_by == Some(ExpiredBy::Deadline))
}

fn is_finished(execution: &Execution) -> bool {
    execution.is_finished()
}
