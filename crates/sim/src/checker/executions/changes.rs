//! What may change in an execution's record besides its stage, and with which event.

use super::Stage;
use onward_core::record::{Active, EndedAttempt, Execution, Finished, Readiness, State, StoredPayload, Waiting};
use onward_core::{Event, Json, Millis, Span, What, limits};

/// What never changes did not, what changes by a call alone changed with its event, and time did not go back.
pub(super) fn unchanged(before: &Execution, after: &Execution, events: &[&Event]) -> Result<(), String> {
    let stripped = is_stub(after).then(|| emptied(before.clone()));
    let before = stripped.as_ref().unwrap_or(before);
    let fixed = |x: &Execution| {
        let place = (x.id, x.namespace.clone(), x.lane.clone(), x.kind.clone(), x.requires.clone());
        let keys = (x.idempotency_key.clone(), x.unique_key.clone());
        (place, keys, x.input.clone(), x.policy.clone(), x.created_at, x.created_by, x.trace)
    };
    if fixed(before) != fixed(after) {
        return Err("something that never changes has changed".to_owned());
    }
    if after.changed_at < before.changed_at {
        return Err(format!("its time went back from {} to {}", before.changed_at, after.changed_at));
    }
    let (mut priority, mut replays, mut tagged) = (before.priority, before.replays, false);
    let mut note = before.note.as_deref();
    for event in events {
        match &event.what {
            What::PriorityChanged { before, after } if *before == priority => priority = *after,
            What::PriorityChanged { before, .. } => return Err(format!("its priority was {priority}, not {before}")),
            What::Replayed { replays: said, .. } if *said == replays + 1 => replays = *said,
            What::Replayed { replays: said, .. } => return Err(format!("replay {said} followed {replays} replays")),
            What::TagsChanged => tagged = true,
            What::Annotated { note: said } => note = Some(&**said).filter(|said| !said.is_empty()),
            _ => {}
        }
    }
    if (priority, replays) != (after.priority, after.replays) || replays > after.policy.max_replays() {
        return Err("its priority or its replays are not what was told".to_owned());
    }
    if note != after.note.as_deref() && !is_stub(after) {
        return Err("its note is not what was told".to_owned());
    }
    if before.tags != after.tags && !tagged {
        return Err("its tags changed and nobody was told".to_owned());
    }
    let same_life = before.replays == replays;
    if same_life && before.deadline != after.deadline {
        return Err("its deadline changed without a replay".to_owned());
    }
    if same_life && before.place.is_some() && before.place != after.place {
        return Err("it lost its place in the queue".to_owned());
    }
    Ok(())
}

/// Without an event nothing may have moved but the end of a live lease, forward, what its holder says about itself, and
/// how long the record of something that is being removed stays.
pub(super) fn silent(before: &Execution, after: &Execution, now: Millis) -> Result<(), String> {
    let mut expected = if is_stub(after) { emptied(before.clone()) } else { before.clone() };
    expected.changed_at = after.changed_at;
    // What may change about waits without an event is for `waits`.
    expected.waits.clone_from(&after.waits);
    match (&mut expected.state, &after.state) {
        (
            State::Waiting(Waiting { readiness: Readiness::Suspended(old), .. }),
            State::Waiting(Waiting { readiness: Readiness::Suspended(new), .. }),
        ) => old.over.clone_from(&new.over),
        (State::Active(old), State::Active(new)) => {
            set_back(old, new, now)?;
            if let Stage::Active(holding) = Stage::of(before)
                && let Some(until) = holding.acts_until().filter(|until| now >= *until)
            {
                return Err(format!("its holder renewed it or spoke at {now}, after its time had ended at {until}"));
            }
            (old.lease.expires_at, old.lease.ttl) = (new.lease.expires_at, new.lease.ttl);
            old.attempt.since = new.attempt.since;
            if let (Some(old), Some(new)) = (&mut old.stop, &new.stop) {
                old.until = new.until;
            }
            expected.progress.clone_from(&after.progress);
        }
        (
            State::Finished(Finished { purging: Some(old), .. }),
            State::Finished(Finished { purging: Some(new), .. }),
        ) if new.until > old.until => *old = *new,
        _ => {}
    }
    if expected == *after { Ok(()) } else { Err("it changed without an event".to_owned()) }
}

/// What time decides about a running attempt comes nearer only if it lay further ahead than it can, because it was
/// computed by a clock that ran ahead; and what is left is never less than what was given.
fn set_back(old: &Active, new: &Active, now: Millis) -> Result<(), String> {
    let shorter = |what: &str, (from, to): (Millis, Millis), given: Span| {
        let right = to >= from || (from > now + given && to + limits::CLOCK_SLACK >= now + given);
        right.then_some(()).ok_or_else(|| format!("its {what} was moved from {from} to {to} at {now}"))
    };
    shorter("lease", (old.lease.expires_at, new.lease.expires_at), old.lease.ttl)?;
    if let (Some(old), Some(new)) = (&old.stop, &new.stop) {
        shorter("time to stop", (old.until, new.until), old.grace)?;
    }
    let (from, to) = (old.attempt.running_since(), new.attempt.running_since());
    if to != from && (to > from || from <= now) {
        return Err(format!("its run was begun again from {from} to {to} at {now}"));
    }
    Ok(())
}

/// Whether a commit kept a record's own time, because the clock of its writer shows less.
pub(super) fn clamped(before: Option<&Execution>, after: &Execution) -> bool {
    before.is_some_and(|before| before.changed_at == after.changed_at)
}

/// The attempt that a commit ended is the one that was begun, and ran for as long as its events say.
pub(super) fn ended(before: &Execution, after: &Execution) -> Result<(), String> {
    let Some(last) = after.last.as_ref().filter(|last| before.last.as_ref() != Some(*last)) else { return Ok(()) };
    let EndedAttempt { number, started_at, ended_at, ran, .. } = *last;
    let (run, ran_for) = match Stage::of(before) {
        Stage::Active(holding) => (holding.run.clone(), holding.ran_until(ended_at)),
        // Paused before, or paused and ended by the same call, or begun and ended within one commit.
        stage => match stage.paused() {
            Some(run) => (run.clone(), run.ran),
            None => return Ok(()),
        },
    };
    let right = ran == ran_for || (clamped(Some(before), after) && ran <= ran_for);
    if run.attempt == number && (run.started_at != started_at || !right) {
        return Err(format!("attempt {number} from {started_at} ran for {ran}; it was {run:?} and ran for {ran_for}"));
    }
    Ok(())
}

/// Whether only the record itself is left of a removed execution.
fn is_stub(execution: &Execution) -> bool {
    execution.is_purging()
}

/// An execution without what its submitter and its workers gave.
fn emptied(mut execution: Execution) -> Execution {
    let nothing = StoredPayload::Json(Json::null());
    execution.result = execution.result.is_some().then(|| nothing.clone());
    execution.input = nothing;
    execution.progress = None;
    execution.note = None;
    execution.trace = None;
    execution.history.clear();
    execution
}
