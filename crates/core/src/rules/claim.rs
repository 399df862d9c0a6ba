//! Giving ready work to a worker: one call for the first attempt, a retry and a reclaim.

use crate::record::{Active, Attempt, AttemptKind, Execution, LaneState, Lease, Readiness, Record, State, Waiting};
use crate::rules::{fence, lane, submit};
use crate::{Claim, Claimed, Fence, Key, Millis, PayloadSlot, Rejection, Reply, Stop, View, What, limits};

pub(crate) fn claim(view: &mut View, claim: &Claim, now: Millis) -> Result<Reply, Stop> {
    let Some(mut execution) = view.execution(claim.execution)? else {
        return Err(Rejection::ExecutionNotFound(claim.execution).into());
    };
    let next = match &execution.state {
        State::Active(active) if active.lease.id == claim.lease => return repeat(view, &execution, active, now),
        State::Waiting(Waiting { readiness: Readiness::Ready { .. }, next }) => *next,
        state => {
            return Err(Rejection::NotReady { execution: claim.execution, state: state.public() }.into());
        }
    };
    // A repeat that comes after its lease has ended: a lease is given out once.
    if let Some(last) = &execution.last
        && last.lease == claim.lease
    {
        return Err(Rejection::LeaseExpired { expired_at: last.ended_at }.into());
    }
    check(view, claim, &execution)?;
    let now = now.max(execution.changed_at);
    let active = begin(view, &mut execution, claim, next, now)?;
    let reply = claimed(view, &execution, &active)?;
    let event =
        What::Claimed { attempt: active.attempt.index, epoch: active.lease.epoch, worker: claim.worker.clone() };
    view.put_execution(execution, event)?;
    Ok(reply)
}

/// The same answer again while the lease lives; afterwards nobody should start to work under it.
fn repeat(view: &mut View, execution: &Execution, active: &Active, now: Millis) -> Result<Reply, Stop> {
    fence::alive(view, &active.lease, now.max(execution.changed_at))?;
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

/// Starts the next attempt under a new lease; the attempt before it becomes a record of its own.
fn begin(
    view: &mut View,
    execution: &mut Execution,
    claim: &Claim,
    kind: AttemptKind,
    now: Millis,
) -> Result<Active, Stop> {
    if let Some(last) = execution.last.take() {
        view.put_new(Key::Attempt(execution.id, last.index), Record::Attempt(last))?;
    }
    execution.epoch += 1;
    let active = Active {
        lease: Lease {
            id: claim.lease,
            epoch: execution.epoch,
            worker: claim.worker.clone(),
            expires_at: now + claim.ttl,
        },
        attempt: Attempt { index: execution.attempts, kind, started_at: now },
    };
    // A lease that would be dead when it is written is not given out at all.
    view.not_after(active.lease.expires_at);
    execution.attempts += 1;
    execution.started_at.get_or_insert(now);
    execution.changed_at = now;
    execution.state = State::Active(active.clone());
    Ok(active)
}

fn claimed(view: &mut View, execution: &Execution, active: &Active) -> Result<Reply, Stop> {
    let input = submit::take(view, &Key::Payload(execution.id, PayloadSlot::Input), &execution.input)?;
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
        retries: execution.retries,
        created_at: execution.created_at,
    })))
}
