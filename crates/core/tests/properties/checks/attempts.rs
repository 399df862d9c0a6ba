//! The invariants of attempts: numbered without gaps, made for a reason, counted, and never changed once they ended.

use super::{Change, unended};
use onward_core::record::{AttemptEnd, AttemptKind, Outcome, Pause, State};
use onward_core::{Category, Command, End, Reply, Report, RetryPolicy, Span, What};

pub(super) fn attempts(change: &Change<'_>) {
    for (_, execution) in change.whole() {
        let ended = change.ended(execution);
        let going = unended(execution).map(|attempt| attempt.number);
        let numbers: Vec<u32> = ended.iter().map(|attempt| attempt.number).chain(going).collect();
        assert!(numbers.iter().copied().eq(1..=execution.attempts), "attempts without gaps: {numbers:?}");
        assert!(going.is_none() || execution.last.is_none(), "the attempt before has become a record");
        let finished = matches!(execution.state, State::Finished(_));
        let all_ended = going.is_none() && ended.len() == execution.attempts as usize;
        assert!(!finished || all_ended, "no attempt outlives its execution");
    }
}

pub(super) fn ended_attempts(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        let story = change.story(execution.id);
        for attempt in change.ended(execution) {
            assert_eq!(Some(attempt), story.ended.get(&attempt.number), "an ended attempt never changes");
            assert!(attempt.started_at <= attempt.ended_at);
            assert!(story.leases.iter().any(|(_, lease)| *lease == attempt.lease), "its lease was never given out");
        }
    }
}

pub(super) fn attempt_kinds(change: &Change<'_>) {
    for (_, execution) in change.whole() {
        let story = change.story(execution.id);
        let ended = change.ended(execution);
        let next = match &execution.state {
            State::Active(active) => Some(active.attempt.kind),
            State::Waiting(waiting) => Some(waiting.next.kind()),
            State::Finished(_) => None,
        };
        let kinds: Vec<AttemptKind> = ended.iter().map(|attempt| attempt.kind).chain(next).collect();
        let first = if story.lives.contains(&0) { AttemptKind::Replay } else { AttemptKind::Initial };
        assert!(kinds.first().is_none_or(|kind| *kind == first));
        for (attempt, next) in ended.iter().zip(kinds.iter().skip(1)) {
            let expected = match &attempt.end {
                _ if story.lives.contains(&attempt.number) => AttemptKind::Replay,
                AttemptEnd::Failed { retry_at: Some(_), .. } | AttemptEnd::Failed { held: true, .. } => {
                    AttemptKind::Retry
                }
                AttemptEnd::Interrupted | AttemptEnd::Revoked { .. } => AttemptKind::Reclaim,
                AttemptEnd::Returned => attempt.kind,
                AttemptEnd::Succeeded | AttemptEnd::Cancelled | AttemptEnd::Expired | AttemptEnd::Failed { .. } => {
                    panic!("an attempt followed {attempt:?}")
                }
            };
            assert_eq!(*next, expected, "after {attempt:?}");
        }
    }
}

/// Counters count what belongs to the newest life; an end that nothing follows counts for nothing.
pub(super) fn counters(change: &Change<'_>) {
    for (_, execution) in change.whole() {
        let story = change.story(execution.id);
        let ended = change.ended(execution);
        let followed = ended.iter().filter(|attempt| attempt.number >= story.life_began());
        let followed: Vec<_> = followed.filter(|attempt| !story.ended_with_it.contains(&attempt.number)).collect();
        let retried = followed.iter().filter(|attempt| matches!(attempt.end, AttemptEnd::Failed { .. })).count();
        let lost = |end: &AttemptEnd| matches!(end, AttemptEnd::Interrupted | AttemptEnd::Revoked { .. });
        let lost = followed.iter().filter(|attempt| lost(&attempt.end)).count();
        assert_eq!((retried, lost), (execution.retries as usize, execution.reclaims as usize));
        assert!(execution.retries <= execution.policy.retry.as_ref().map_or(20, |retry| retry.max_retries));
        assert!(execution.reclaims <= execution.policy.max_reclaims.unwrap_or(100));
        assert_eq!(execution.replays as usize, story.lives.len());
        assert!(execution.replays <= execution.policy.max_replays.unwrap_or(10));
        let over = matches!(execution.state, State::Finished(_));
        assert!(over || story.row == execution.reclaims_in_a_row, "{} in a row", story.row);
    }
}

/// The same decision after a failure and after a timeout: as the policy says, unless it was asked to stop.
pub(super) fn retries(change: &Change<'_>) {
    let Some((Some(before), _)) = change.changed().next() else { return };
    let State::Active(active) = &before.state else { return };
    let timed_out = change.done.events.iter().find_map(|event| match event.what {
        What::TimedOut { retry_at, .. } => Some(retry_at),
        _ => None,
    });
    let (category, found) = match (change.command, &change.done.result) {
        (Command::Report(Report { end: End::Fail(fail), .. }), Ok(Reply::Report(reported))) => {
            (fail.failure.category.clone(), reported.again_at)
        }
        (Command::Due(_), Ok(_)) if timed_out.is_some() => (Category::timeout(), timed_out.flatten()),
        _ => return,
    };
    let retry = before.policy.retry.clone().unwrap_or_default();
    let left = before.retries < retry.max_retries && retry.covers(&category) && active.stop.is_none();
    assert_eq!(found.is_some(), left, "{:?}", change.command);
    let (Some(at), now) = (found, change.after.now) else { return };
    let longest = now + RetryPolicy { jitter: false, ..retry.clone() }.pause(before.retries, 0);
    assert!(if retry.jitter { (now..=longest).contains(&at) } else { at == longest }, "{now} {at} {longest}");
}

/// Time that an attempt spends paused does not count, and no attempt is ended by its timeout before it has run for it.
pub(super) fn run_time(change: &Change<'_>) {
    for (before, after) in change.changed() {
        let Some(before) = before else { continue };
        let now = change.after.now;
        if let (State::Active(active), State::Waiting(waiting)) = (&before.state, &after.state)
            && let Some(paused) = waiting.next.paused()
        {
            let since = active.attempt.since.unwrap_or(active.attempt.started_at);
            assert_eq!(paused.attempt.ran, Span(active.attempt.ran.0 + (change.after.now - since).0));
            let held = change.act().is_some_and(|act| act.name() == "pause");
            let called = matches!(
                paused.attempt.pauses.back(),
                Some((_, Pause::Delayed { .. } | Pause::Returned | Pause::Suspended))
            );
            assert!(held || called, "{paused:?}");
        }
        if let (State::Waiting(waiting), State::Active(active)) = (&before.state, &after.state)
            && let Some(paused) = waiting.next.paused()
        {
            assert_eq!(active.attempt.number, paused.attempt.number, "the same attempt goes on");
            let attempt = &active.attempt;
            assert!(attempt.resumed && (attempt.ran, attempt.since) == (paused.attempt.ran, Some(now)), "{attempt:?}");
        }
        if let (State::Active(active), Some(last)) = (&before.state, &after.last)
            && last.number == active.attempt.number
        {
            let since = active.attempt.since.unwrap_or(active.attempt.started_at);
            assert_eq!(
                last.ran,
                Span(active.attempt.ran.0 + (now - since).0),
                "by the clock, whatever is written down"
            );
        }
        let timed_out = change.done.events.iter().any(|event| matches!(event.what, What::TimedOut { .. }));
        if let (true, Some(timeout), Some(last)) = (timed_out, after.policy.attempt_timeout, &after.last) {
            assert!(last.ran >= timeout, "it had {timeout} and ran for {}", last.ran);
            let expired = matches!(&after.state, State::Finished(finished) if finished.outcome == Outcome::Expired);
            assert!(expired || matches!(after.state, State::Waiting(_)));
        }
    }
}
