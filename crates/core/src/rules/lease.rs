//! Every begin and every end of a lease, and with it of the attempt that runs under it.

use crate::record::{
    Active, Attempt, AttemptEnd, EndedAttempt, Execution, Format, Lease, Next, Pause, Paused, Record, State, Waiting,
};
use crate::rules::times::Moment;
use crate::rules::waits;
use crate::{Claim, CommandId, Key, LeaseId, Millis, Stop, View, WorkerName, limits};
use std::collections::BTreeSet;

/// Starts the next attempt under a new lease, or goes on with a paused one.
pub(crate) fn begin(
    view: &mut View,
    execution: &mut Execution,
    claim: &Claim,
    next: Next,
    now: Millis,
) -> Result<Active, Stop> {
    let at = execution.moment(now);
    let attempt = match next {
        Next::Resume(paused) => Attempt { resumed: true, since: Some(now), ..paused.attempt },
        fresh => {
            execution.progress = None;
            execution.attempts += 1;
            Attempt::start(execution.attempts, fresh.kind(), at)
        }
    };
    let attempt = Attempt { build: claim.build.clone(), ..attempt };
    // The attempt before becomes a record of its own.
    if !attempt.resumed
        && let Some(last) = execution.last.take()
    {
        view.put_new(Key::Attempt(execution.id, last.number), Record::Attempt(last))?;
    }
    execution.epoch += 1;
    let (worker, ttl) = (claim.worker.clone(), claim.ttl);
    let lease = Lease { id: claim.lease, epoch: execution.epoch, worker, expires_at: now + ttl, ttl };
    let active = Active { lease, attempt, stop: None };
    // A lease that would be dead when it is written is not given out at all.
    view.not_after(active.lease.expires_at);
    execution.started_at.get_or_insert(at.stamp);
    execution.changed_at = at.stamp;
    execution.state = State::Active(active.clone());
    Ok(active)
}

/// Ends the running attempt; the execution's next state is the caller's business.
pub(crate) fn end(
    execution: &mut Execution,
    active: &Active,
    end: AttemptEnd,
    ended_by: Option<CommandId>,
    at: Moment,
) {
    let attempt = Attempt { ran: active.attempt.run_time(at.now), ..active.attempt.clone() };
    end_as(execution, attempt, (active.lease.id, &active.lease.worker), (end, ended_by), at.stamp);
}

/// Ends whatever attempt has begun and not ended; answers which, and whether it was paused. A suspension that ends with it gives
/// back what it took: a replay comes to the same waits again.
pub(crate) fn end_any(
    view: &mut View,
    execution: &mut Execution,
    how: AttemptEnd,
    at: Moment,
) -> Result<(Option<u32>, bool), Stop> {
    if let Some((suspension, _)) = waits::suspended(execution) {
        waits::give_back(view, execution, &suspension, &BTreeSet::new())?;
    }
    Ok(match execution.state.clone() {
        State::Active(active) => {
            end(execution, &active, how, None, at);
            (Some(active.attempt.number), false)
        }
        State::Waiting(Waiting { next: Next::Resume(paused), .. }) => {
            let Paused { attempt, lease, worker } = *paused;
            let number = attempt.number;
            end_as(execution, attempt, (lease, &worker), (how, None), at.stamp);
            (Some(number), true)
        }
        State::Waiting(_) | State::Finished(_) => (None, false),
    })
}

fn end_as(
    execution: &mut Execution,
    attempt: Attempt,
    (lease, worker): (LeaseId, &WorkerName),
    (end, ended_by): (AttemptEnd, Option<CommandId>),
    stamp: Millis,
) {
    execution.changed_at = stamp;
    execution.last = Some(EndedAttempt {
        format: Format,
        number: attempt.number,
        kind: attempt.kind,
        started_at: attempt.started_at,
        ran: attempt.ran,
        ended_at: stamp,
        lease,
        worker: worker.clone(),
        build: attempt.build,
        end,
        details: None,
        ended_by,
        pauses: attempt.pauses,
    });
}

/// Ends the lease and keeps the attempt, which goes on with the next lease.
pub(crate) fn pause(execution: &mut Execution, active: &Active, by: CommandId, pause: Pause, now: Millis) -> Next {
    let mut attempt = active.attempt.clone();
    attempt.pause(by, pause, now);
    execution.changed_at = execution.stamp(now);
    Next::Resume(Box::new(Paused { attempt, lease: active.lease.id, worker: active.lease.worker.clone() }))
}

/// Takes the lease away and keeps the attempt, which goes on with the next lease.
pub(crate) fn take(active: &Active, now: Millis) -> Next {
    let mut attempt = active.attempt.clone();
    attempt.stop(now);
    Next::Resume(Box::new(Paused { attempt, lease: active.lease.id, worker: active.lease.worker.clone() }))
}

/// Brings the times of a running attempt back to what they can be by this clock. After the time was set back they lie
/// further ahead than they were ever meant to; counted from now, the attempt has more time than it was given, never less,
/// and a worker that is lost is noticed. Answers whether anything changed.
pub(crate) fn set_back(view: &mut View, active: &mut Active, now: Millis) -> bool {
    let (mut changed, latest) = (false, now + limits::CLOCK_SLACK);
    let lease = &mut active.lease;
    if lease.expires_at > latest + lease.ttl {
        // By a clock that is behind the store's every lease looks like this: the store decides.
        view.not_after(latest);
        lease.expires_at = now + lease.ttl;
        changed = true;
    }
    if active.attempt.running_since() > latest {
        view.not_after(latest);
        active.attempt.since = Some(now);
        changed = true;
    }
    if let Some(stop) = active.stop.as_mut().filter(|stop| stop.until > latest + stop.grace) {
        view.not_after(latest);
        stop.until = now + stop.grace;
        changed = true;
    }
    changed
}
