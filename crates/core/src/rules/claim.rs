//! Giving ready work to a worker: one call for the first attempt, a retry, a reclaim, a replay and a resume.

use crate::record::{Active, Attempt, Execution, LaneState, Lease, Next, Readiness, Record, State, Waiting};
use crate::rules::{fence, lane, submit};
use crate::{Claim, Claimed, Fence, Key, Millis, PayloadSlot, Rejection, Reply, Stop, View, What, limits};

pub(crate) fn claim(view: &mut View, claim: &Claim, now: Millis) -> Result<Reply, Stop> {
    let Some(mut execution) = view.execution(claim.execution)? else {
        return Err(Rejection::ExecutionNotFound(claim.execution).into());
    };
    let next = match &execution.state {
        State::Active(active) if active.lease.id == claim.lease => return repeat(view, &execution, active, now),
        State::Waiting(Waiting { readiness: Readiness::Ready { .. }, next }) => next.clone(),
        state => {
            return Err(Rejection::NotReady { execution: claim.execution, state: state.public() }.into());
        }
    };
    used(&execution, &next, claim)?;
    check(view, claim, &execution)?;
    timely(view, &execution, now)?;
    let active = begin(view, &mut execution, claim, next, now)?;
    let reply = claimed(view, &execution, &active)?;
    let event = What::Claimed {
        attempt: active.attempt.index,
        epoch: active.lease.epoch,
        worker: claim.worker.clone(),
        resumed: active.attempt.resumed_at.is_some(),
    };
    view.put_execution(execution, event)?;
    Ok(reply)
}

/// Refuses a repeat that comes after its lease has ended: a lease is given out once.
fn used(execution: &Execution, next: &Next, claim: &Claim) -> Result<(), Stop> {
    let ended = execution.last.as_ref().filter(|last| last.lease == claim.lease).map(|last| last.ended_at);
    let paused = match next {
        Next::Resume(paused) if paused.lease == claim.lease => Some(execution.changed_at),
        _ => None,
    };
    match ended.or(paused) {
        Some(expired_at) => Err(Rejection::LeaseExpired { expired_at }.into()),
        None => Ok(()),
    }
}

/// Refuses work whose deadline has passed, whether or not anybody noticed.
fn timely(view: &mut View, execution: &Execution, now: Millis) -> Result<(), Stop> {
    match execution.deadline {
        Some(deadline) if deadline <= now => {
            view.not_before(deadline);
            Err(Rejection::DeadlinePassed { deadline }.into())
        }
        Some(deadline) => {
            view.not_after(deadline);
            Ok(())
        }
        None => Ok(()),
    }
}

/// The same answer again while the lease lives; afterwards nobody should start to work under it.
fn repeat(view: &mut View, execution: &Execution, active: &Active, now: Millis) -> Result<Reply, Stop> {
    fence::alive(view, execution, active, now)?;
    claimed(view, execution, active)
}

fn check(view: &mut View, claim: &Claim, execution: &Execution) -> Result<(), Stop> {
    if !(limits::LEASE_MIN..=limits::LEASE_MAX).contains(&claim.ttl) {
        let why = format!("is {} to {}, not {}", limits::LEASE_MIN, limits::LEASE_MAX, claim.ttl);
        return Err(Rejection::invalid("lease", why).into());
    }
    let missing = execution.requires.missing_from(&claim.capabilities);
    if !missing.is_empty() {
        return Err(Rejection::CapabilityMismatch { missing }.into());
    }
    match lane::copy(view, &execution.namespace, &execution.lane)?.state {
        LaneState::Paused => Err(Rejection::LanePaused(execution.lane.clone()).into()),
        LaneState::Open | LaneState::Draining => Ok(()),
    }
}

/// Starts the next attempt under a new lease, or goes on with a paused one.
fn begin(view: &mut View, execution: &mut Execution, claim: &Claim, next: Next, now: Millis) -> Result<Active, Stop> {
    let stamp = execution.stamp(now);
    let attempt = match next {
        Next::Resume(paused) => Attempt { resumed_at: Some(stamp), ..paused.attempt },
        fresh => {
            execution.progress = None;
            execution.attempts += 1;
            Attempt::start(execution.attempts - 1, fresh.kind(), stamp)
        }
    };
    // The attempt before becomes a record of its own.
    if attempt.resumed_at.is_none()
        && let Some(last) = execution.last.take()
    {
        view.put_new(Key::Attempt(execution.id, last.index), Record::Attempt(last))?;
    }
    execution.epoch += 1;
    let lease =
        Lease { id: claim.lease, epoch: execution.epoch, worker: claim.worker.clone(), expires_at: now + claim.ttl };
    let active = Active { lease, attempt, stop: None };
    // A lease that would be dead when it is written is not given out at all.
    view.not_after(active.lease.expires_at);
    execution.started_at.get_or_insert(stamp);
    execution.changed_at = stamp;
    execution.state = State::Active(active.clone());
    Ok(active)
}

fn claimed(view: &mut View, execution: &Execution, active: &Active) -> Result<Reply, Stop> {
    let input = submit::load_payload(view, &Key::Payload(execution.id, PayloadSlot::Input), &execution.input)?;
    Ok(Reply::Claimed(Box::new(Claimed {
        fence: Fence {
            execution: execution.id,
            lease: active.lease.id,
            epoch: active.lease.epoch,
            attempt: active.attempt.index,
        },
        expires_at: active.lease.expires_at,
        namespace: execution.namespace.clone(),
        lane: execution.lane.clone(),
        kind: execution.kind.clone(),
        input,
        tags: execution.tags.clone(),
        attempt_kind: active.attempt.kind,
        resumed: active.attempt.resumed_at.is_some(),
        retries: execution.retries,
        times_out_at: execution.times_out_at(active),
        deadline: execution.deadline,
        created_at: execution.created_at,
        trace: execution.trace,
    })))
}
