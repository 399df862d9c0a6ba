//! Whether a caller still owns an execution, and how an attempt ends.

use crate::record::{Active, AttemptEnd, EndedAttempt, Execution, Format, Lease, Record, State};
use crate::view::unreadable;
use crate::{CommandId, Fence, Key, Millis, Rejection, Stop, View};

/// What a fenced call finds.
pub(crate) enum Owner {
    /// The caller owns the execution; this is the state to work on and the time to use.
    Holds(Box<Execution>, Active, Millis),
    /// The very same call ended this attempt before; answer as then.
    Repeats(EndedAttempt),
}

/// Checks a fence. The order is part of the contract: existence, repeat, state, identity, time.
///
/// A live lease bounds the batch's window, so that a process that was stopped cannot commit under a dead lease; a
/// dead one bounds it from below, so that a clock that runs ahead cannot refuse a live lease.
pub(crate) fn owner(view: &mut View, fence: &Fence, command: Option<CommandId>, now: Millis) -> Result<Owner, Stop> {
    let Some(execution) = view.execution(fence.execution)? else {
        return Err(Rejection::ExecutionNotFound(fence.execution).into());
    };
    if command.is_some()
        && let Some(ended) = ended_attempt(view, &execution, fence.attempt)?
        && ended.ended_by == command
    {
        return Ok(Owner::Repeats(ended));
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
    let now = now.max(execution.changed_at);
    alive(view, lease, now)?;
    Ok(Owner::Holds(Box::new(execution), active, now))
}

/// Checks that a lease lives, and makes the commit depend on it either way.
pub(crate) fn alive(view: &mut View, lease: &Lease, now: Millis) -> Result<(), Stop> {
    if now >= lease.expires_at {
        view.not_before(lease.expires_at);
        return Err(Rejection::LeaseExpired { expired_at: lease.expires_at }.into());
    }
    view.not_after(lease.expires_at);
    Ok(())
}

/// The ended attempt of this index, whether it is still part of the execution or a record of its own.
fn ended_attempt(view: &mut View, execution: &Execution, index: u32) -> Result<Option<EndedAttempt>, Stop> {
    if let Some(last) = &execution.last
        && last.index == index
    {
        return Ok(Some(last.clone()));
    }
    let is_current = matches!(&execution.state, State::Active(active) if active.attempt.index == index);
    if is_current || index >= execution.attempts {
        return Ok(None);
    }
    let key = Key::Attempt(execution.id, index);
    match view.get(&key)?.as_deref() {
        None => Ok(None),
        Some(Record::Attempt(attempt)) => Ok(Some(attempt.clone())),
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
    execution.changed_at = now;
    execution.last = Some(EndedAttempt {
        format: Format,
        index: active.attempt.index,
        kind: active.attempt.kind,
        started_at: active.attempt.started_at,
        ended_at: now,
        lease: active.lease.id,
        worker: active.lease.worker.clone(),
        end,
        ended_by,
    });
}
