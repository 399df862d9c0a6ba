//! Whether a caller still owns an execution.

use crate::record::{Active, AttemptEnd, EndedAttempt, Execution, Next, Pause, Record, State, Waiting};
use crate::view::unreadable;
use crate::{CommandId, ExecutionId, Key, LeaseId, Millis, Rejection, Stop, View};
use std::collections::VecDeque;
use std::sync::Arc;

/// Proves that a caller holds an execution's current lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fence {
    /// Which execution.
    pub execution: ExecutionId,
    /// The lease.
    pub lease: LeaseId,
    /// Its epoch.
    pub epoch: u64,
    /// The attempt it runs.
    pub attempt: u32,
}

/// What all verbs of a lease's holder share: they run where their execution lives, and read it first.
macro_rules! fenced {
    (keys) => {
        fn keys(&self, _: crate::PartitionId) -> Vec<crate::Key> {
            vec![crate::Key::Execution(self.fence.execution)]
        }
    };
    ($verb:ident) => {
        impl crate::Addressed for $verb {
            fn home(&self, _: u16) -> crate::PartitionId {
                self.fence.execution.partition()
            }
        }
    };
}

pub(crate) use fenced;

/// What a fenced call finds.
pub(crate) enum Owner {
    /// The caller owns the execution; this is the state to work on.
    Holds(Arc<Execution>, Active),
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
/// The times in which an attempt may act bound the batch's window, so that a process that was stopped cannot commit
/// behind them; times that are over bound it from below, so that a clock that runs ahead refuses no live attempt.
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
    if (lease.id, lease.epoch, active.attempt.number) != (fence.lease, fence.epoch, fence.attempt) {
        return Err(Rejection::StaleLease { current: lease.epoch, given: fence.epoch }.into());
    }
    alive(view, &execution, &active, now)?;
    Ok(Owner::Holds(execution, active))
}

/// Checks that an attempt may still act, and makes the commit depend on it either way. Two clocks decide: the timeout
/// whether it is too slow, the deadline whether anybody still cares. A lease is over once its end is committed, and then
/// the record shows it: after a machine slept or its time was set, a worker keeps the work that no other worker has taken.
pub(crate) fn alive(view: &mut View, execution: &Execution, active: &Active, now: Millis) -> Result<(), Stop> {
    let Some(until) = execution.acts_until(active) else { return Ok(()) };
    if now < until {
        view.not_after(until);
        return Ok(());
    }
    view.not_before(until);
    Err(match execution.deadline {
        Some(deadline) if deadline == until => Rejection::DeadlinePassed { deadline },
        _ => Rejection::AttemptTimedOut { timed_out_at: until },
    }
    .into())
}

/// What this call did to the attempt of this number before, wherever that is kept by now.
fn earlier(view: &mut View, execution: &Execution, number: u32, command: CommandId) -> Result<Option<Earlier>, Stop> {
    let of_pauses = |pauses: &VecDeque<(CommandId, Pause)>| {
        pauses.iter().find(|(by, _)| *by == command).map(|(_, pause)| Earlier::Paused(*pause))
    };
    let of_ended = |ended: &EndedAttempt| {
        let ends = (ended.ended_by == Some(command)).then(|| Earlier::Ended(ended.end.clone()));
        ends.or_else(|| of_pauses(&ended.pauses))
    };
    match &execution.state {
        State::Active(Active { attempt, .. }) if attempt.number == number => return Ok(of_pauses(&attempt.pauses)),
        State::Waiting(Waiting { next: Next::Resume(paused), .. }) if paused.attempt.number == number => {
            return Ok(of_pauses(&paused.attempt.pauses));
        }
        _ => {}
    }
    match &execution.last {
        Some(last) if last.number == number => return Ok(of_ended(last)),
        _ if number == 0 || number >= execution.attempts => return Ok(None),
        _ => {}
    }
    let key = Key::Attempt(execution.id, number);
    match view.get(&key)?.as_deref() {
        None => Ok(None),
        Some(Record::Attempt(attempt)) => Ok(of_ended(attempt)),
        Some(_) => Err(unreadable(&key)),
    }
}
