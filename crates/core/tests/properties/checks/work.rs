//! The invariants of leases, attempts, retries, ends and payloads.

use super::Change;
use onward_core::record::{AttemptEnd, AttemptKind, EndedAttempt, Held, Record, State};
use onward_core::{AfterFailure, Command, Key, Payload, PayloadSlot, Rejection, Reply, index, limits};

pub(super) fn leases(change: &Change<'_>) {
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

pub(super) fn fences(change: &Change<'_>) {
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

/// What was decided by the clock is bound to the store's clock.
pub(super) fn windows(change: &Change<'_>) {
    let window = change.done.window;
    match (change.command, &change.done.result) {
        (Command::Claim(_), Ok(Reply::Claimed(claimed))) => assert_eq!(window.not_after, Some(claimed.expires_at)),
        (Command::Due(due), Ok(Reply::Due { acted: true, .. })) => {
            assert_eq!(window.not_before, change.before.record(&due.key).and_then(index::due));
        }
        (Command::Claim(claim), Err(Rejection::LeaseExpired { expired_at })) => {
            let active = matches!(change.before.find(claim.execution).unwrap().state, State::Active(_));
            assert_eq!(window.not_before, active.then_some(*expired_at));
        }
        (_, Err(Rejection::LeaseExpired { expired_at })) => assert_eq!(window.not_before, Some(*expired_at)),
        _ => {}
    }
}

pub(super) fn renewals(change: &Change<'_>) {
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

pub(super) fn attempts(change: &Change<'_>) {
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

pub(super) fn ended_attempts(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        let story = change.story(execution.id);
        for attempt in change.ended(execution) {
            assert_eq!(Some(attempt), story.ended.get(&attempt.index), "an ended attempt never changes");
            assert!(attempt.started_at <= attempt.ended_at);
        }
    }
}

pub(super) fn attempt_kinds(change: &Change<'_>) {
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

pub(super) fn counters(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        let ended = change.ended(execution);
        let finished = matches!(execution.state, State::Finished(_));
        let followed = if finished { &ended[..ended.len() - 1] } else { &ended[..] };
        let retried = followed.iter().filter(|attempt| matches!(attempt.end, AttemptEnd::Failed { .. })).count();
        let lost = followed.iter().filter(|attempt| attempt.end == AttemptEnd::Interrupted).count();
        assert_eq!((retried, lost), (execution.retries as usize, execution.reclaims as usize));
        assert!(execution.retries <= execution.policy.retry.max_retries);
        assert!(execution.reclaims <= limits::RECLAIMS_MAX);
        let by_itself =
            |attempt: &&&EndedAttempt| !matches!(attempt.end, AttemptEnd::Succeeded | AttemptEnd::Failed { .. });
        let row = ended.iter().rev().take_while(by_itself).filter(|attempt| attempt.end == AttemptEnd::Interrupted);
        let the_last =
            usize::from(finished && execution.last.as_ref().is_some_and(|last| last.end == AttemptEnd::Interrupted));
        assert_eq!(row.count() - the_last, execution.reclaims_in_a_row as usize);
    }
}

pub(super) fn retries(change: &Change<'_>) {
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

pub(super) fn ends(change: &Change<'_>) {
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

pub(super) fn payloads(change: &Change<'_>) {
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
