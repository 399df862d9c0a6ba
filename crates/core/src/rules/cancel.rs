//! Ending an execution that nobody wants any more, from any state that is not an end.

use crate::record::{
    Active, AttemptEnd, Cancellation, Canceller, Did, Execution, Finished, Outcome, State, StopRequest,
};
use crate::rules::fence::{self, Earlier, Owner};
use crate::rules::finish;
use crate::{Cancel, Millis, Reason, Rejection, Reply, Span, Stop, View, What, limits};

/// Its own worker wants it no more.
pub(crate) fn by_owner(view: &mut View, cancel: &Cancel, now: Millis) -> Result<Reply, Stop> {
    let (mut execution, active, now) = match fence::owner(view, &cancel.fence, Some(cancel.command), now)? {
        Owner::Holds(execution, active, now) => (execution, active, now),
        Owner::Repeats(Earlier::Ended(AttemptEnd::Cancelled)) => return Ok(Reply::Cancelled),
        Owner::Repeats(_) => return Err(fence::other_use()),
    };
    fence::end_attempt(&mut execution, &active, AttemptEnd::Cancelled, Some(cancel.command), now);
    let by = Cancellation { by: Canceller::Owner, reason: cancel.reason.clone() };
    let ended = (Some(active.attempt.index), false);
    let what = end(view, &mut execution, by, ended, now)?;
    view.put_execution(*execution, what)?;
    Ok(Reply::Cancelled)
}

/// When the time is up that a running attempt gets to stop by itself.
pub(crate) fn until(grace: Span, now: Millis) -> Result<Millis, Rejection> {
    if grace > limits::STOP_GRACE_MAX {
        return Err(Rejection::invalid("grace", format!("is at most {}, not {grace}", limits::STOP_GRACE_MAX)));
    }
    Ok(now + grace)
}

/// An operator wants it no more: at once, or after a running attempt had time to stop by itself.
pub(crate) fn by_operator(
    view: &mut View,
    execution: &mut Execution,
    reason: &Reason,
    until: Option<Millis>,
    now: Millis,
) -> Result<(What, Did), Stop> {
    let cancellation = Cancellation { by: Canceller::Operator, reason: reason.clone() };
    match (execution.state.clone(), until) {
        (State::Finished(finished), _) => {
            let state = finished.outcome.public();
            Err(Rejection::Finished { execution: execution.id, state }.into())
        }
        (State::Active(active), Some(until)) => Ok(ask(execution, active, cancellation, until, now)),
        _ => {
            let ended = fence::end_any(execution, AttemptEnd::Cancelled, now);
            Ok((end(view, execution, cancellation, ended, now)?, Did::Cancelled))
        }
    }
}

/// Asks a running attempt to stop. Who asks again may shorten its time, not lengthen it.
fn ask(
    execution: &mut Execution,
    active: Active,
    cancellation: Cancellation,
    until: Millis,
    now: Millis,
) -> (What, Did) {
    let until = active.stop.as_ref().map_or(until, |stop| stop.until.min(until));
    let (attempt, reason) = (active.attempt.index, cancellation.reason.clone());
    execution.changed_at = now;
    execution.state = State::Active(Active { stop: Some(StopRequest { cancellation, until }), ..active });
    (What::StopRequested { attempt, until, reason }, Did::AskedToStop { until })
}

/// The end of an execution whose attempt is over after somebody asked it to stop: no other attempt may follow, however
/// this one ended. Nothing when nobody asked.
pub(crate) fn asked(
    view: &mut View,
    execution: &mut Execution,
    active: &Active,
    now: Millis,
) -> Result<Option<What>, Stop> {
    let Some(stop) = &active.stop else { return Ok(None) };
    let ended = (Some(active.attempt.index), false);
    end(view, execution, stop.cancellation.clone(), ended, now).map(Some)
}

/// The end, once its attempt has ended.
pub(crate) fn end(
    view: &mut View,
    execution: &mut Execution,
    cancellation: Cancellation,
    (attempt, paused): (Option<u32>, bool),
    now: Millis,
) -> Result<What, Stop> {
    let what = What::Cancelled { by: cancellation.by, reason: cancellation.reason.clone(), attempt, paused };
    let finished = Finished { cancelled: Some(cancellation), ..Finished::new(Outcome::Cancelled, now) };
    finish::finish(view, execution, finished)?;
    Ok(what)
}
