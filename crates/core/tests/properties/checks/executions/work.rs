//! The invariants of leases: who holds them, until when, and what their holders may do.

use crate::checks::Change;
use onward_core::record::{Canceller, Outcome, State};
use onward_core::{Command, End, Looked, Rejection, Renewed, Reply, Report, index, limits};

pub(in crate::checks) fn leases(change: &Change<'_>) {
    for (before, execution) in change.executions() {
        let issued = &change.story(execution.id).leases;
        let epochs: Vec<u64> = issued.iter().map(|(epoch, _)| *epoch).collect();
        assert!(epochs.iter().copied().eq(1..=execution.epoch), "epochs are 1, 2, 3, …: {epochs:?}");
        assert!(issued.windows(2).all(|pair| pair[0].1 != pair[1].1), "a lease was given out twice in a row");
        assert!(before.is_none_or(|before| before.epoch <= execution.epoch));
        if let State::Active(active) = &execution.state {
            assert_eq!(active.lease.epoch, execution.epoch);
        }
    }
    let fresh = !change.done.step.writes.is_empty();
    if let (Command::Claim(claim), Ok(_), true) = (change.command, &change.done.result, fresh) {
        let execution = change.after.find(claim.execution).unwrap();
        let State::Active(active) = &execution.state else { panic!("{execution:?}") };
        assert!(active.lease.expires_at > change.after.now, "given out dead");
    }
}

pub(in crate::checks) fn fences(change: &Change<'_>) {
    let Some(fence) = change.fence() else { return };
    if change.done.step.writes.is_empty() {
        return;
    }
    let Some(before) = change.before.find(fence.execution) else { panic!("nothing there was changed") };
    let State::Active(active) = &before.state else { panic!("a fenced call changed {before:?}") };
    let shown = (fence.lease, fence.epoch, fence.attempt);
    let held = (active.lease.id, active.lease.epoch, active.attempt.number);
    assert_eq!(shown, held, "another lease's call was accepted");
    let now = change.before.now;
    let ends = [before.times_out_at(active), before.deadline];
    let Some(end) = ends.into_iter().flatten().min() else { return };
    assert!(now < end, "accepted after a spent timeout or a passed deadline");
    assert!(change.done.window.not_after.is_some_and(|bound| bound <= end));
}

/// What was decided by the clock is bound to the store's clock.
pub(in crate::checks) fn windows(change: &Change<'_>) {
    let window = change.done.window;
    match (change.command, &change.done.result) {
        (Command::Claim(claim), Ok(Reply::Claim(claimed))) => {
            let execution = change.after.find(claim.execution).unwrap();
            let State::Active(active) = &execution.state else { panic!("{execution:?}") };
            let bounds = claimed.deadline.into_iter().chain([claimed.expires_at]);
            let fresh = !change.done.step.writes.is_empty();
            let end = if fresh { bounds.min() } else { execution.acts_until(active) };
            assert_eq!(window.not_after, end);
        }
        (Command::Due(due), Ok(Reply::Due(Looked { acted: true, .. }))) => {
            let (at, now) = (change.before.record(&due.key).and_then(index::due), change.after.now);
            if at > Some(now) {
                // What lies too far ahead is brought nearer only if the store's clock shows the same time.
                assert!(window.not_after.is_some_and(|bound| bound <= now + limits::CLOCK_SLACK), "{window:?}");
                return;
            }
            // The last piece and the record itself may go together, and the record not before its own time.
            let leaves = window.not_before > at && change.after.record(&due.key).is_none();
            assert!(window.not_before == at || leaves, "{window:?} for what is due at {at:?}");
        }
        (Command::Claim(claim), Err(Rejection::LeaseExpired { .. })) => {
            assert!(!matches!(change.before.find(claim.execution).unwrap().state, State::Active(_)));
            assert_eq!(window.not_before, None);
        }
        (_, Err(Rejection::AttemptTimedOut { timed_out_at: over } | Rejection::DeadlinePassed { deadline: over })) => {
            assert_eq!(window.not_before, Some(*over));
        }
        _ => {}
    }
}

pub(in crate::checks) fn renewals(change: &Change<'_>) {
    let (Command::Renew(renew), Ok(Reply::Renew(Renewed { expires_at, stop }))) = (change.command, &change.done.result)
    else {
        return;
    };
    let before = change.before.find(renew.fence.execution).unwrap();
    let after = change.after.find(renew.fence.execution).unwrap();
    let (State::Active(old), State::Active(new)) = (&before.state, &after.state) else { panic!("{after:?}") };
    let now = change.after.now;
    let longest = now + old.lease.ttl.max(renew.ttl) + limits::CLOCK_SLACK;
    assert!(new.lease.expires_at >= old.lease.expires_at.min(now + old.lease.ttl), "never less than it was given");
    assert!(new.lease.expires_at <= longest && new.lease.expires_at == *expires_at);
    assert_eq!(*stop, new.stop, "the holder learns that somebody wants it to stop");
    let mut same = before.clone();
    let mut active = old.clone();
    (active.lease.expires_at, active.lease.ttl) = (*expires_at, new.lease.ttl);
    if old.attempt.running_since() > now {
        active.attempt.since = new.attempt.since;
    }
    if let (Some(old), Some(new)) = (&mut active.stop, &new.stop) {
        old.until = new.until;
    }
    same.state = State::Active(active);
    same.changed_at = after.changed_at;
    assert_eq!(&same, after, "a renewal changes the end of the lease and nothing else");
}

/// What an attempt says about itself changes nothing else, and a fresh attempt has said nothing.
pub(in crate::checks) fn progress(change: &Change<'_>) {
    for (before, after) in change.changed() {
        let fresh = after.attempts > before.map_or(0, |before| before.attempts);
        let again = after.replays > before.map_or(0, |before| before.replays);
        assert!(!(fresh || again) || after.progress.is_none(), "a fresh attempt has said nothing");
        let Some(before) = before else { continue };
        if let Command::Progress(_) = change.command {
            let mut same = before.clone();
            (same.progress, same.changed_at) = (after.progress.clone(), after.changed_at);
            assert_eq!(&same, after);
        } else if !fresh && !again && !after.is_purging() {
            assert_eq!(before.progress, after.progress, "only the attempt speaks for itself");
        }
    }
}

/// What was asked to stop never runs again, and its time is never lengthened.
pub(in crate::checks) fn stops(change: &Change<'_>) {
    for (before, after) in change.changed() {
        let Some(State::Active(was)) = before.map(|before| &before.state) else { continue };
        let Some(stop) = &was.stop else { continue };
        match &after.state {
            State::Active(active) => {
                assert!(active.stop.as_ref().is_some_and(|now| now.until <= stop.until), "a request was forgotten");
            }
            State::Waiting(_) => panic!("{:?} puts off what was asked to stop", change.command),
            State::Finished(finished) => {
                let by = finished.cancelled.as_ref().map(|cancelled| cancelled.by);
                let fits = match change.command {
                    Command::Report(Report { end: End::Complete(_), .. }) => finished.outcome == Outcome::Success,
                    Command::Report(Report { end: End::Cancel(_), .. }) => by == Some(Canceller::Owner),
                    Command::Due(_) => {
                        by == Some(Canceller::Operator)
                            || (finished.outcome == Outcome::Expired && after.deadline <= Some(finished.at))
                    }
                    _ => by == Some(Canceller::Operator),
                };
                assert!(fits, "{:?} ended it as {finished:?}", change.command);
                // The clock ends an attempt at the earliest of its times, and the end of a stop request is only one of them.
                let first = before.and_then(|before| before.due()).map_or(stop.until, |due| due.min(stop.until));
                let in_time = !matches!(change.command, Command::Due(_)) || finished.at >= first;
                assert!(in_time, "it was cancelled before its time was up");
            }
        }
    }
}
