//! The invariants that are checked after every command of a random run, each by a function of its own.

use crate::history::{History, Story};
use crate::world::vector::{derived, legal, vector, violations};
use crate::world::{Done, World};
use onward_core::record::{
    AttemptEnd, AttemptKind, EndedAttempt, Execution, Held, Outcome, Readiness, Record, State, Waiting,
};
use onward_core::{AfterFailure, Command, ExecutionId, Fence, Key, Millis, Payload, PayloadSlot, Reply, index, limits};

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
pub(crate) const CHECKS: [(&str, Check); 17] = [
    ("what_never_changes", what_never_changes),
    ("vectors", vectors),
    ("phases", phases),
    ("times", times),
    ("places", places),
    ("entries", entries),
    ("ranks", ranks),
    ("leases", leases),
    ("fences", fences),
    ("renewals", renewals),
    ("attempts", attempts),
    ("ended_attempts", ended_attempts),
    ("attempt_kinds", attempt_kinds),
    ("counters", counters),
    ("retries", retries),
    ("ends", ends),
    ("payloads", payloads),
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

fn leases(change: &Change<'_>) {
    for (before, execution) in change.executions() {
        let issued = &change.story(execution.id).leases;
        let epochs: Vec<u64> = issued.iter().map(|(epoch, _)| *epoch).collect();
        assert!(epochs.iter().copied().eq(1..=execution.epoch), "epochs are 1, 2, 3, …: {epochs:?}");
        assert!(issued.windows(2).all(|pair| pair[0].1 != pair[1].1), "a lease was given out twice in a row");
        assert!(before.is_none_or(|before| before.epoch <= execution.epoch));
        if let State::Active(active) = &execution.state {
            assert_eq!(active.lease.epoch, execution.epoch);
            assert!(active.lease.expires_at > execution.changed_at);
        }
    }
}

fn fences(change: &Change<'_>) {
    let Some(fence) = change.fence() else { return };
    if change.done.step.writes.is_empty() {
        return;
    }
    let Some(before) = change.before.find(fence.execution) else { panic!("nothing there was changed") };
    let State::Active(active) = &before.state else { panic!("a fenced call changed {before:?}") };
    let shown = (fence.lease, fence.epoch, fence.attempt);
    assert_eq!(shown, (active.lease.id, active.lease.epoch, active.attempt.index), "another lease's call was accepted");
    let now = change.before.now.max(before.changed_at);
    assert!(now < active.lease.expires_at, "accepted under a dead lease");
    assert!(change.done.window.not_after.is_some_and(|end| end <= active.lease.expires_at));
}

fn renewals(change: &Change<'_>) {
    let (Command::Renew(renew), Ok(Reply::Renewed { expires_at })) = (change.command, &change.done.result) else {
        return;
    };
    let before = change.before.find(renew.fence.execution).unwrap();
    let after = change.after.find(renew.fence.execution).unwrap();
    let (State::Active(old), State::Active(new)) = (&before.state, &after.state) else { panic!("{after:?}") };
    assert!(new.lease.expires_at >= old.lease.expires_at && new.lease.expires_at == *expires_at);
    let mut same = before.clone();
    let mut active = old.clone();
    active.lease.expires_at = *expires_at;
    same.state = State::Active(active);
    same.changed_at = after.changed_at;
    assert_eq!(&same, after, "a renewal changes the end of the lease and nothing else");
}

fn attempts(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        let ended = change.ended(execution);
        let running = match &execution.state {
            State::Active(active) => Some(active.attempt.index),
            State::Waiting(_) | State::Finished(_) => None,
        };
        let indexes: Vec<u32> = ended.iter().map(|attempt| attempt.index).chain(running).collect();
        assert!(indexes.iter().copied().eq(0..execution.attempts), "attempts without gaps: {indexes:?}");
        let finished = matches!(execution.state, State::Finished(_));
        assert!(!finished || execution.last.is_some(), "an execution ends with an attempt that has ended");
        assert_eq!(running.is_some(), matches!(execution.state, State::Active(_)));
        assert!(running.is_none() || execution.last.is_none(), "the attempt before has become a record");
    }
}

fn ended_attempts(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        let story = change.story(execution.id);
        for attempt in change.ended(execution) {
            assert_eq!(Some(attempt), story.ended.get(&attempt.index), "an ended attempt never changes");
            assert!(attempt.started_at <= attempt.ended_at);
        }
    }
}

fn attempt_kinds(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        let ended = change.ended(execution);
        let running = match &execution.state {
            State::Active(active) => Some(active.attempt.kind),
            State::Waiting(waiting) => Some(waiting.next),
            State::Finished(_) => None,
        };
        let kinds: Vec<AttemptKind> = ended.iter().map(|attempt| attempt.kind).chain(running).collect();
        assert_eq!(kinds.first(), Some(&AttemptKind::Initial));
        for (attempt, next) in ended.iter().zip(&kinds[1..]) {
            let expected = match &attempt.end {
                AttemptEnd::Failed { retry_at: Some(_), .. } => AttemptKind::Retry,
                AttemptEnd::Interrupted => AttemptKind::Reclaim,
                AttemptEnd::Returned => attempt.kind,
                AttemptEnd::Succeeded | AttemptEnd::Failed { retry_at: None, .. } => {
                    panic!("an attempt followed {attempt:?}")
                }
            };
            assert_eq!(*next, expected, "after {attempt:?}");
        }
    }
}

fn counters(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        let ended = change.ended(execution);
        let finished = matches!(execution.state, State::Finished(_));
        let followed = if finished { &ended[..ended.len() - 1] } else { &ended[..] };
        let retried = followed.iter().filter(|attempt| matches!(attempt.end, AttemptEnd::Failed { .. })).count();
        let lost = followed.iter().filter(|attempt| attempt.end == AttemptEnd::Interrupted).count();
        assert_eq!((retried, lost), (execution.retries as usize, execution.reclaims as usize));
        assert!(execution.retries <= execution.policy.retry.max_retries);
        assert!(execution.reclaims <= limits::RECLAIMS_MAX && execution.reclaims_in_a_row <= execution.reclaims);
    }
}

fn retries(change: &Change<'_>) {
    let (Command::Fail(fail), Ok(Reply::Failed(after))) = (change.command, &change.done.result) else { return };
    let before = change.before.find(fail.fence.execution).unwrap();
    if change.done.step.writes.is_empty() {
        return;
    }
    let retry = &before.policy.retry;
    let now = change.before.now.max(before.changed_at);
    let left = before.retries < retry.max_retries && retry.covers(&fail.failure.category);
    let expected = match left {
        true => AfterFailure::RetryAt(now + retry.backoff.pause(before.retries, fail.seed)),
        false => AfterFailure::Finished,
    };
    assert_eq!(*after, expected);
}

fn ends(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        let told = change.story(execution.id).ends_told;
        let finished = matches!(execution.state, State::Finished(_));
        assert_eq!(told, usize::from(finished), "one end, told once");
    }
    let written = change.changed().count();
    let told = change.done.events.iter().filter(|event| event.execution.is_some()).count();
    let silent = matches!(change.command, Command::Renew(_));
    assert_eq!(told, if silent { 0 } else { written }, "one event per transition");
}

fn payloads(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        let story = change.story(execution.id);
        let input = Some(&execution.input);
        let slots = [
            (PayloadSlot::Input, input, &story.input),
            (PayloadSlot::Result, execution.result.as_ref(), &story.result),
        ];
        for (slot, held, given) in slots {
            let stored = change.after.record(&Key::Payload(execution.id, slot));
            assert_eq!(held.map(|held| read(held, stored)), *given, "{slot:?} of {}", execution.id);
        }
    }
}

fn read(held: &Held, stored: Option<&Record>) -> Payload {
    match (held, stored) {
        (Held::Json(json), None) => Payload::json(json.as_str()).unwrap(),
        (Held::Beside { content_type, bytes }, Some(Record::Payload(stored))) => {
            assert_eq!(*bytes, stored.len() as u64);
            Payload::bytes(content_type, stored.clone()).unwrap()
        }
        other => panic!("{other:?}"),
    }
}
