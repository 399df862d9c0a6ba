//! Whether a caller still owns an execution, and how an attempt ends.

use crate::record::{
    Active, Attempt, AttemptEnd, EndedAttempt, Execution, Format, Next, Pause, Paused, Record, State, Waiting,
};
use crate::view::unreadable;
use crate::{CommandId, Fence, Key, LeaseId, Millis, Rejection, Span, Stop, View, WorkerName};
use std::collections::VecDeque;

/// What a fenced call finds.
pub(crate) enum Owner {
    /// The caller owns the execution; this is the state to work on and the time to write down.
    Holds(Box<Execution>, Active, Millis),
    /// The very same call did its work before; answer as then.
    Repeats(Earlier),
}

/// What a call did to an attempt before.
pub(crate) enum Earlier {
    /// It ended it so.
    Ended(AttemptEnd),
    /// It paused it.
    Paused(Pause),
}

/// The refusal of a call whose id did something else before.
pub(crate) fn other_use() -> Stop {
    Rejection::invalid("command", "this id did something else to the attempt before").into()
}

/// Checks a fence. The order is part of the contract: existence, repeat, state, identity, time.
///
/// A live lease bounds the batch's window, so that a process that was stopped cannot commit under a dead lease; a
/// dead one bounds it from below, so that a clock that runs ahead cannot refuse a live lease.
pub(crate) fn owner(view: &mut View, fence: &Fence, command: Option<CommandId>, now: Millis) -> Result<Owner, Stop> {
    let Some(execution) = view.execution(fence.execution)? else {
        return Err(Rejection::ExecutionNotFound(fence.execution).into());
    };
    if let Some(command) = command
        && let Some(earlier) = earlier(view, &execution, fence.attempt, command)?
    {
        return Ok(Owner::Repeats(earlier));
    }
    if execution.is_purging() {
        // The attempt that remembers this call may be gone already, so whether it happened cannot be told.
        return Err(Rejection::Purged(fence.execution).into());
    }
    let State::Active(active) = &execution.state else {
        let state = execution.public_state();
        return Err(Rejection::NotActive { execution: fence.execution, state }.into());
    };
    let active = active.clone();
    let lease = &active.lease;
    if (lease.id, lease.epoch, active.attempt.index) != (fence.lease, fence.epoch, fence.attempt) {
        return Err(Rejection::StaleLease { current: lease.epoch, given: fence.epoch }.into());
    }
    alive(view, &execution, &active, now)?;
    let stamp = execution.stamp(now);
    Ok(Owner::Holds(Box::new(execution), active, stamp))
}

/// Checks that an attempt may still act, and makes the commit depend on it either way. Three clocks decide: the lease
/// says whether its worker is alive, the timeout whether it is too slow, the deadline whether anybody still cares.
pub(crate) fn alive(view: &mut View, execution: &Execution, active: &Active, now: Millis) -> Result<(), Stop> {
    let until = execution.alive_until(active);
    if now < until {
        view.not_after(until);
        return Ok(());
    }
    view.not_before(until);
    Err(match execution.deadline {
        Some(deadline) if deadline == until => Rejection::DeadlinePassed { deadline },
        _ if active.lease.expires_at == until => Rejection::LeaseExpired { expired_at: until },
        _ => Rejection::AttemptTimedOut { timed_out_at: until },
    }
    .into())
}

/// What this call did to the attempt of this index before, wherever that is kept by now.
fn earlier(view: &mut View, execution: &Execution, index: u32, command: CommandId) -> Result<Option<Earlier>, Stop> {
    let of_pauses = |pauses: &VecDeque<(CommandId, Pause)>| {
        pauses.iter().find(|(by, _)| *by == command).map(|(_, pause)| Earlier::Paused(*pause))
    };
    let of_ended = |ended: &EndedAttempt| {
        let ends = (ended.ended_by == Some(command)).then(|| Earlier::Ended(ended.end.clone()));
        ends.or_else(|| of_pauses(&ended.pauses))
    };
    match &execution.state {
        State::Active(Active { attempt, .. }) if attempt.index == index => return Ok(of_pauses(&attempt.pauses)),
        State::Waiting(Waiting { next: Next::Resume(paused), .. }) if paused.attempt.index == index => {
            return Ok(of_pauses(&paused.attempt.pauses));
        }
        _ => {}
    }
    match &execution.last {
        Some(last) if last.index == index => return Ok(of_ended(last)),
        _ if index >= execution.attempts => return Ok(None),
        _ => {}
    }
    let key = Key::Attempt(execution.id, index);
    match view.get(&key)?.as_deref() {
        None => Ok(None),
        Some(Record::Attempt(attempt)) => Ok(of_ended(attempt)),
        Some(_) => Err(unreadable(&key)),
    }
}

/// Ends the running attempt; the execution's next state is the caller's business.
pub(crate) fn end_attempt(
    execution: &mut Execution,
    active: &Active,
    end: AttemptEnd,
    ended_by: Option<CommandId>,
    now: Millis,
) {
    let ran = active.attempt.ran.0.saturating_add((now - active.attempt.running_since()).0);
    let attempt = Attempt { ran: Span(ran), ..active.attempt.clone() };
    end_as(execution, attempt, (active.lease.id, &active.lease.worker), (end, ended_by), now);
}

/// Ends whatever attempt has begun and not ended; answers which, and whether it was paused.
pub(crate) fn end_any(execution: &mut Execution, end: AttemptEnd, now: Millis) -> (Option<u32>, bool) {
    match execution.state.clone() {
        State::Active(active) => {
            end_attempt(execution, &active, end, None, now);
            (Some(active.attempt.index), false)
        }
        State::Waiting(Waiting { next: Next::Resume(paused), .. }) => {
            let Paused { attempt, lease, worker } = *paused;
            let index = attempt.index;
            end_as(execution, attempt, (lease, &worker), (end, None), now);
            (Some(index), true)
        }
        State::Waiting(_) | State::Finished(_) => (None, false),
    }
}

fn end_as(
    execution: &mut Execution,
    attempt: Attempt,
    (lease, worker): (LeaseId, &WorkerName),
    (end, ended_by): (AttemptEnd, Option<CommandId>),
    now: Millis,
) {
    execution.changed_at = now;
    execution.last = Some(EndedAttempt {
        format: Format,
        index: attempt.index,
        kind: attempt.kind,
        started_at: attempt.started_at,
        ran: attempt.ran,
        ended_at: now,
        lease,
        worker: worker.clone(),
        end,
        ended_by,
        pauses: attempt.pauses,
    });
}

/// Pauses the running attempt, which goes on with the next lease.
pub(crate) fn pause_attempt(active: &Active, by: CommandId, pause: Pause, now: Millis) -> Next {
    let mut attempt = active.attempt.clone();
    attempt.pause(by, pause, now);
    Next::Resume(Box::new(Paused { attempt, lease: active.lease.id, worker: active.lease.worker.clone() }))
}
