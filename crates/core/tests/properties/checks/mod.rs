//! The invariants that are checked after every command of a random run, each by a function of its own.

mod work;

use crate::history::{History, Story};
use crate::world::vector::{derived, legal, vector, violations};
use crate::world::{Done, World};
use onward_core::record::{EndedAttempt, Execution, Outcome, Readiness, Record, State, Waiting};
use onward_core::{Command, ExecutionId, Fence, Key, Millis, index};

/// One command and what it did.
pub(crate) struct Change<'a> {
    pub(crate) before: &'a World,
    pub(crate) after: &'a World,
    pub(crate) command: &'a Command,
    pub(crate) done: &'a Done,
    pub(crate) history: &'a History,
}

type Check = fn(&Change<'_>);

/// All of them by name; `coverage` says which invariant each one guards.
pub(crate) const CHECKS: [(&str, Check); 18] = [
    ("what_never_changes", what_never_changes),
    ("vectors", vectors),
    ("phases", phases),
    ("times", times),
    ("places", places),
    ("entries", entries),
    ("ranks", ranks),
    ("leases", work::leases),
    ("fences", work::fences),
    ("windows", work::windows),
    ("renewals", work::renewals),
    ("attempts", work::attempts),
    ("ended_attempts", work::ended_attempts),
    ("attempt_kinds", work::attempt_kinds),
    ("counters", work::counters),
    ("retries", work::retries),
    ("ends", work::ends),
    ("payloads", work::payloads),
];

impl<'a> Change<'a> {
    /// Every execution with what it was before, if it was.
    fn executions(&self) -> impl Iterator<Item = (Option<&'a Execution>, &'a Execution)> {
        let before = self.before;
        self.after.executions().map(move |execution| (before.find(execution.id), execution))
    }

    /// Those that this command wrote.
    fn changed(&self) -> impl Iterator<Item = (Option<&'a Execution>, &'a Execution)> {
        let writes = &self.done.step.writes;
        let changed = move |execution: &Execution| writes.contains(&Key::Execution(execution.id));
        self.executions().filter(move |(_, execution)| changed(execution)).collect::<Vec<_>>().into_iter()
    }

    fn story(&self, id: ExecutionId) -> &'a Story {
        &self.history.stories[&id]
    }

    /// All attempts of an execution that have ended, in order.
    fn ended(&self, execution: &'a Execution) -> Vec<&'a EndedAttempt> {
        let between = Key::Attempt(execution.id, 0)..=Key::Attempt(execution.id, u32::MAX);
        let stored = self.after.records.range(between).map(|(key, record)| match &**record {
            Record::Attempt(attempt) => attempt,
            other => panic!("{key} is {other:?}"),
        });
        stored.chain(&execution.last).collect()
    }

    fn fence(&self) -> Option<&'a Fence> {
        match self.command {
            Command::Renew(renew) => Some(&renew.fence),
            Command::Complete(complete) => Some(&complete.fence),
            Command::Fail(fail) => Some(&fail.fence),
            Command::Unclaim(unclaim) => Some(&unclaim.fence),
            Command::Submit(_)
            | Command::Claim(_)
            | Command::Due(_)
            | Command::Deliver(_)
            | Command::Forget(_)
            | Command::Bury(_)
            | Command::SetLane(_) => None,
        }
    }
}

fn what_never_changes(change: &Change<'_>) {
    for (before, after) in change.executions() {
        let Some(before) = before else { continue };
        let frozen = Execution {
            state: after.state.clone(),
            changed_at: after.changed_at,
            queued_at: after.queued_at,
            started_at: after.started_at,
            attempts: after.attempts,
            retries: after.retries,
            reclaims: after.reclaims,
            reclaims_in_a_row: after.reclaims_in_a_row,
            epoch: after.epoch,
            last: after.last.clone(),
            result: after.result.clone(),
            ..before.clone()
        };
        assert_eq!(&frozen, after, "only the state and what follows from it may change");
    }
}

fn vectors(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        let vector = vector(&execution.state, change.after.now);
        assert_eq!(violations(&vector), [""; 0], "{execution:?}");
        assert!(legal(&vector).is_some(), "{vector:?} is on no list");
        assert_eq!(execution.public_state(), derived(&vector));
    }
}

fn phases(change: &Change<'_>) {
    for (before, after) in change.changed() {
        let Some(before) = before else {
            assert!(matches!(after.state, State::Waiting(_)), "work begins by waiting");
            continue;
        };
        let allowed = match (&before.state, &after.state) {
            (State::Waiting(one), State::Waiting(other)) => {
                let woke = matches!(one.readiness, Readiness::Delayed { .. });
                woke && matches!(other.readiness, Readiness::Ready { .. }) && one.next == other.next
            }
            (State::Waiting(one), State::Active(_)) => matches!(one.readiness, Readiness::Ready { .. }),
            (State::Active(_), _) => true,
            (State::Waiting(_), State::Finished(_)) | (State::Finished(_), _) => false,
        };
        assert!(allowed, "{:?} became {:?}", before.state, after.state);
    }
}

fn times(change: &Change<'_>) {
    for (before, after) in change.changed() {
        let floor = before.map_or(Millis(0), |before| before.changed_at);
        assert_eq!(after.changed_at, change.after.now.max(floor), "a change happens now and never goes back");
    }
    for (before, execution) in change.executions() {
        assert!(execution.created_at <= execution.changed_at);
        assert_eq!(execution.started_at.is_some(), execution.attempts > 0);
        if let Some(started) = before.and_then(|before| before.started_at) {
            assert_eq!(execution.started_at, Some(started), "it starts once");
        }
        match &execution.state {
            State::Finished(finished) => {
                assert_eq!(finished.at, execution.changed_at);
                assert_eq!(finished.outcome == Outcome::Failed, finished.failure.is_some());
            }
            State::Waiting(Waiting { readiness: Readiness::Delayed { until, .. }, .. }) => {
                assert!(*until > execution.changed_at);
            }
            State::Waiting(_) | State::Active(_) => {}
        }
        assert_eq!(
            execution.result.is_some(),
            matches!(&execution.state, State::Finished(finished) if finished.outcome == Outcome::Success)
        );
    }
    for event in &change.done.events {
        let known = event.execution.and_then(|id| change.after.find(id));
        assert!(
            known.is_none_or(|execution| execution.changed_at == event.at),
            "told at another time than it happened"
        );
    }
}

/// Each execution is in exactly one of: a ready queue, the due index as delayed or as active, the ended.
fn places(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        let record = Record::Execution(execution.clone());
        let names: Vec<String> = index::entries(&record).into_iter().map(|entry| entry.name).collect();
        let due = index::due(&record);
        let under = |prefix: &str| names.iter().filter(|name| name.starts_with(prefix)).count();
        let delayed = matches!(execution.state, State::Waiting(_)) && due.is_some();
        let active = matches!(execution.state, State::Active(_)) && due.is_some();
        let places = under("ready/") + under("ended/") + usize::from(delayed) + usize::from(active);
        assert_eq!(places, 1, "{execution:?} is listed under {names:?}, due {due:?}");
        assert_eq!(under("list/"), 1);
        match &execution.state {
            State::Active(active) => assert_eq!(due, Some(active.lease.expires_at)),
            State::Waiting(Waiting { readiness: Readiness::Delayed { until, .. }, .. }) => {
                assert_eq!(due, Some(*until));
            }
            State::Waiting(_) | State::Finished(_) => assert_eq!(due, None),
        }
    }
}

fn entries(change: &Change<'_>) {
    for key in &change.done.step.writes {
        let Some(record) = change.after.record(key) else { continue };
        let mut names: Vec<String> = index::entries(record).into_iter().map(|entry| entry.name).collect();
        assert!(names.iter().all(|name| !name.is_empty() && name.len() <= 200), "{names:?}");
        names.sort();
        let listed = names.len();
        names.dedup();
        assert_eq!(names.len(), listed, "{key} is listed twice in one index");
    }
}

fn ranks(change: &Change<'_>) {
    for (before, execution) in change.executions() {
        let ready =
            matches!(&execution.state, State::Waiting(waiting) if matches!(waiting.readiness, Readiness::Ready { .. }));
        assert!(!ready || execution.queued_at.is_some(), "ready work has its place");
        if let Some(before) = before.filter(|before| before.queued_at.is_some()) {
            assert_eq!(execution.ready_rank(), before.ready_rank(), "a place once taken is kept");
        }
    }
}
