//! Every end of an execution: its state, what happened, and the unique key that is free again.

use crate::record::{Active, Cancellation, Execution, Finished, Held, Next, Outcome, State, WhyHeld};
use crate::rules::times::Moment;
use crate::rules::{ready, unique};
use crate::{Millis, Reason, Stop, View, What};

/// Makes this the end of an execution; answers what happened.
pub(crate) fn finish(
    view: &mut View,
    execution: &mut Execution,
    finished: Finished,
    event: What,
) -> Result<What, Stop> {
    execution.changed_at = finished.at;
    execution.held = None;
    execution.state = State::Finished(finished);
    unique::free(view, execution)?;
    Ok(event)
}

/// Holds an execution for an operator instead of ending it, if its policy says so; its next attempt waits for that.
/// Returns whether it did.
pub(crate) fn hold_instead(
    view: &mut View,
    execution: &mut Execution,
    (next, why): (Next, &str),
    at: Moment,
) -> Result<bool, Stop> {
    if !execution.policy.pauses_when_exhausted() {
        return Ok(false);
    }
    execution.held = Some(Held { why: WhyHeld::Exhausted, at: at.stamp, reason: Reason::new(why) });
    ready::now(view, execution, next, at.now)?;
    Ok(true)
}

/// Cancels an execution whose attempt has ended, if it had one.
pub(crate) fn cancelled(
    view: &mut View,
    execution: &mut Execution,
    cancellation: Cancellation,
    (attempt, paused): (Option<u32>, bool),
    now: Millis,
) -> Result<What, Stop> {
    let event = What::Cancelled { cancelled_by: cancellation.by, reason: cancellation.reason.clone(), attempt, paused };
    let finished = Finished { cancelled: Some(cancellation), ..Finished::new(Outcome::Cancelled, now) };
    finish(view, execution, finished, event)
}

/// Cancels an execution whose attempt is over after it was asked to stop: no other attempt may follow, however this one
/// ended. `None` when it was not asked.
pub(crate) fn if_asked(
    view: &mut View,
    execution: &mut Execution,
    active: &Active,
    now: Millis,
) -> Result<Option<What>, Stop> {
    let Some(stop) = &active.stop else { return Ok(None) };
    let ended = (Some(active.attempt.number), false);
    cancelled(view, execution, stop.cancellation.clone(), ended, now).map(Some)
}
