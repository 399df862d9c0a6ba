//! The invariants of states: which there are, which follow which, when, and where they are listed.

use crate::checks::Change;
use crate::world::vector::{derived, legal, matching, vector_of, violations};
use onward_core::record::{
    Active, Execution, Finished, Outcome, PublicState, Readiness, Record, State, Suspension, Waiting,
};
use onward_core::{Arrival, Command, Condition, Key, Millis, Span, index};

pub(in crate::checks) fn vectors(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        let vector = vector_of(execution, change.after.now);
        assert_eq!(violations(&vector), [""; 0], "{execution:?}");
        assert!(legal(&vector).is_some(), "{vector:?} is on no list");
        assert!(matching(&execution.state), "{:?} is made of parts that do not belong together", execution.state);
        assert_eq!(execution.public_state(), derived(&vector));
    }
}

/// The edges of the specification's table of phases, each with the commands that may take it.
pub(in crate::checks) fn phases(change: &Change<'_>) {
    let (by, act) = (change.command, change.act().map_or("", |act| act.name()));
    let due = matches!(by, Command::Due(_));
    let fenced = change.fence().is_some();
    let label = matches!(act, "tag" | "annotate" | "prioritise");
    let signalled = matches!(by, Command::Signal(_) | Command::Submit(_));
    // A signal finds over what time has ended, whether or not that was noticed.
    let over = |before: &Execution| signalled && before.due().is_some_and(|due| due <= change.before.now);
    let suspended = |waiting: &Waiting| matches!(waiting.readiness, Readiness::Suspended(_));
    for (before, after) in change.changed() {
        let Some(before) = before else {
            assert!(matches!((by, &after.state), (Command::Submit(_), State::Waiting(_))), "work begins by waiting");
            continue;
        };
        let allowed = match (&before.state, &after.state) {
            (State::Waiting(one), State::Waiting(other)) => {
                let ready = |waiting: &Waiting| matches!(waiting.readiness, Readiness::Ready { .. });
                let promoted = due && !ready(one) && ready(other);
                let resumed = suspended(one) && (signalled || due || matches!(act, "resume" | "close_wait"));
                let held = matches!(act, "pause" | "resume") && one == other && before.held != after.held;
                let kept = one == other && (label || signalled || act == "pause");
                let again = act == "replay" && before.held.is_some() && after.held.is_none();
                let same = one.next == other.next && (promoted || (act == "reschedule" && !suspended(one)));
                same || resumed || held || kept || again
            }
            (State::Waiting(one), State::Active(_)) => {
                let ready = matches!((by, &one.readiness), (Command::Claim(_), Readiness::Ready { .. }));
                ready && before.held.is_none()
            }
            (State::Waiting(_), State::Finished(_)) => due || act == "cancel" || over(before),
            (State::Active(one), State::Active(other)) => {
                let asked = act == "cancel" && other.stop.is_some() && one.lease == other.lease;
                asked
                    || matches!(by, Command::Renew(_))
                    || (due && set_back(one, other))
                    || (one == other && (label || fenced || signalled))
            }
            (State::Active(_), State::Waiting(_)) => due || fenced || matches!(act, "revoke" | "pause"),
            (State::Active(_), State::Finished(_)) => {
                due || fenced || over(before) || matches!(act, "cancel" | "revoke")
            }
            (State::Finished(_), State::Waiting(_)) => act == "replay",
            (State::Finished(one), State::Finished(other)) => {
                let until = |finished: &Finished| finished.purging.map(|purging| purging.until);
                let going = (due || act == "purge") && until(one) < until(other);
                going || (matches!(act, "tag" | "annotate") && one == other && one.purging.is_none())
            }
            (State::Finished(_), State::Active(_)) => false,
        };
        assert!(allowed, "{by:?} made {:?} of {:?}", after.state, before.state);
    }
}

/// Whether what time decides came nearer, and nothing else changed.
fn set_back(before: &Active, after: &Active) -> bool {
    let until = |active: &Active| active.stop.as_ref().map(|stop| stop.until);
    let mut same = before.clone();
    (same.lease.expires_at, same.attempt.since) = (after.lease.expires_at, after.attempt.since);
    if let (Some(stop), Some(until)) = (&mut same.stop, until(after)) {
        stop.until = until;
    }
    let nearer = after.lease.expires_at <= before.lease.expires_at && until(after) <= until(before);
    nearer && same == *after && before != after
}

pub(in crate::checks) fn times(change: &Change<'_>) {
    for (before, after) in change.changed() {
        let floor = before.map_or(Millis(0), |before| before.changed_at);
        assert_eq!(after.changed_at, change.after.now.max(floor), "a change happens now and never goes back");
        if let State::Waiting(Waiting { readiness: Readiness::Delayed { until, .. }, .. }) = &after.state
            && before.is_none_or(|before| before.state != after.state)
        {
            assert!(*until > change.after.now, "work is delayed until a time to come");
        }
    }
    for (before, execution) in change.executions() {
        assert!(execution.created_at <= execution.changed_at);
        assert_eq!(execution.started_at.is_some(), execution.attempts > 0);
        if let Some(started) = before.and_then(|before| before.started_at) {
            assert_eq!(execution.started_at, Some(started), "it starts once");
        }
        let outcome = match &execution.state {
            State::Finished(finished) => {
                assert!(finished.at <= execution.changed_at);
                let blamed = matches!(finished.outcome, Outcome::Failed | Outcome::Expired);
                assert_eq!(blamed, finished.failure.is_some(), "{finished:?}");
                assert_eq!(finished.outcome == Outcome::Cancelled, finished.cancelled.is_some(), "{finished:?}");
                Some(finished.outcome)
            }
            State::Waiting(_) | State::Active(_) => None,
        };
        assert_eq!(execution.result.is_some(), outcome == Some(Outcome::Success));
    }
    for event in &change.done.events {
        let known = event.execution().and_then(|id| change.after.find(id));
        let in_time = known.is_none_or(|execution| execution.changed_at == event.at);
        assert!(in_time, "told at another time than it happened");
    }
}

/// When somebody must look at an execution: the earliest of everything that time alone does to it.
fn due(execution: &Execution) -> Option<Millis> {
    match &execution.state {
        State::Waiting(waiting) => {
            let until = match &waiting.readiness {
                Readiness::Ready { .. } => None,
                Readiness::Delayed { until, .. } => Some(*until),
                Readiness::Suspended(suspension) if suspension.escalated => None,
                Readiness::Suspended(suspension) => {
                    let mut times = Vec::from_iter(suspension.timeout.map(|timeout| timeout.at));
                    open_times(&suspension.condition, suspension, &mut times);
                    times.into_iter().min()
                }
            };
            until.into_iter().chain(execution.deadline).min()
        }
        State::Active(active) => {
            let attempt = &active.attempt;
            let since = attempt.since.unwrap_or(attempt.started_at);
            let timeout =
                execution.policy.attempt_timeout.map(|timeout| since + Span(timeout.0.saturating_sub(attempt.ran.0)));
            let stop = active.stop.as_ref().map(|stop| stop.until);
            [Some(active.lease.expires_at), timeout, stop, execution.deadline].into_iter().flatten().min()
        }
        State::Finished(Finished { purging: Some(purging), .. }) => Some(purging.until),
        State::Finished(finished) => Some(finished.at + execution.policy.retention.unwrap_or(Span::days(7))),
    }
}

/// The times of single waits of a suspension that are not over.
fn open_times(condition: &Condition, of: &Suspension, times: &mut Vec<Millis>) {
    match condition {
        Condition::Wait { wait, until: Some(until), .. } if !of.over.contains_key(wait) => times.push(*until),
        Condition::Count { waits, until: Some(until), .. } => {
            times.extend(waits.iter().filter(|wait| !of.over.contains_key(wait)).map(|_| *until));
        }
        Condition::All { of: parts } | Condition::Any { of: parts } => {
            parts.iter().for_each(|part| open_times(part, of, times));
        }
        _ => {}
    }
}

/// Each execution is in exactly one of: a ready queue, the due index as delayed or as active, the ended, the leaving.
pub(in crate::checks) fn places(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        let record = Record::Execution(execution.clone().into());
        let names: Vec<String> =
            index::entries(&Key::Execution(execution.id), &record).into_iter().map(|entry| entry.name).collect();
        assert_eq!(index::due(&record), due(execution), "{execution:?}");
        if execution.is_purging() {
            assert!(names.is_empty(), "what leaves is found by nobody");
            continue;
        }
        let under = |prefix: &str| names.iter().filter(|name| name.starts_with(prefix)).count();
        let suspended = execution.public_state() == PublicState::Suspended;
        assert_eq!(under(&format!("state/{}/suspended", execution.namespace)), usize::from(suspended), "{names:?}");
        let (ready, ended) = match &execution.state {
            State::Waiting(_) if suspended => (0, 0),
            State::Waiting(Waiting { readiness: Readiness::Ready { .. }, .. }) => (1, 0),
            State::Waiting(_) | State::Active(_) => (0, 0),
            State::Finished(_) => (0, 1),
        };
        assert_eq!((under("ready/"), under("ended/"), under("list/")), (ready, ended, 1), "{names:?}");
        assert_eq!(under("tag/"), execution.tags.len());
        assert!(ready == 1 || suspended || due(execution).is_some(), "nobody would ever look at {execution:?}");
    }
}

pub(in crate::checks) fn ranks(change: &Change<'_>) {
    let replayed = change.act().is_some_and(|act| act.name() == "replay");
    for (before, execution) in change.executions() {
        let ready = matches!(execution.state, State::Waiting(Waiting { readiness: Readiness::Ready { .. }, .. }));
        assert!(!ready || execution.place.is_some(), "ready work has its place");
        if let Some(before) = before.filter(|before| before.place.is_some() && !replayed) {
            assert_eq!(execution.place, before.place, "a place once taken is kept for life");
        }
        let time = execution.place.map_or(execution.created_at, Arrival::time).0;
        let sequence = execution.place.map_or(execution.sequence, Arrival::sequence);
        let rank = (u64::from(9_000 - execution.priority) << 50) | (time << 8) | u64::from(sequence);
        assert_eq!(execution.ready_rank(), rank);
    }
}
