//! Every begin and every end of a lease, and with it of the attempt that runs under it.

use crate::record::{
    Active, Attempt, AttemptEnd, EndedAttempt, Execution, Format, Lease, Next, Pause, Paused, Record, State, Waiting,
};
use crate::{Claim, CommandId, Key, LeaseId, Millis, Span, Stop, View, WorkerName};

/// Starts the next attempt under a new lease, or goes on with a paused one.
pub(crate) fn begin(
    view: &mut View,
    execution: &mut Execution,
    claim: &Claim,
    next: Next,
    now: Millis,
) -> Result<Active, Stop> {
    let stamp = execution.stamp(now);
    let attempt = match next {
        Next::Resume(paused) => Attempt { resumed_at: Some(stamp), ..paused.attempt },
        fresh => {
            execution.progress = None;
            execution.attempts += 1;
            Attempt::start(execution.attempts, fresh.kind(), stamp)
        }
    };
    let attempt = Attempt { build: claim.build.clone(), ..attempt };
    // The attempt before becomes a record of its own.
    if attempt.resumed_at.is_none()
        && let Some(last) = execution.last.take()
    {
        view.put_new(Key::Attempt(execution.id, last.number), Record::Attempt(last))?;
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

/// Ends the running attempt; the execution's next state is the caller's business.
pub(crate) fn end(
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
pub(crate) fn end_any(execution: &mut Execution, how: AttemptEnd, now: Millis) -> (Option<u32>, bool) {
    match execution.state.clone() {
        State::Active(active) => {
            end(execution, &active, how, None, now);
            (Some(active.attempt.number), false)
        }
        State::Waiting(Waiting { next: Next::Resume(paused), .. }) => {
            let Paused { attempt, lease, worker } = *paused;
            let number = attempt.number;
            end_as(execution, attempt, (lease, &worker), (how, None), now);
            (Some(number), true)
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
        number: attempt.number,
        kind: attempt.kind,
        started_at: attempt.started_at,
        ran: attempt.ran,
        ended_at: now,
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
