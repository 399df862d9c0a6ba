//! A lease that is gone, by time or by an operator: the attempt is interrupted and the execution ready again at once.

use crate::record::{
    Active, AttemptEnd, Did, Execution, Finished, Next, Outcome, Readiness, State, Waiting, WhyDelayed,
};
use crate::rules::{cancel, fence, finish};
use crate::{Category, Failure, LeaseId, Millis, Reason, Rejection, Span, Stop, View, What, limits};

/// A lapsed lease.
pub(crate) fn expire(view: &mut View, execution: &mut Execution, active: &Active, now: Millis) -> Result<What, Stop> {
    let attempt = active.attempt.index;
    let what = |again_at| What::LeaseExpired { attempt, again_at };
    interrupt(view, execution, active, (AttemptEnd::Interrupted, what), now)
}

/// A lease that an operator takes away.
pub(crate) fn revoke(
    view: &mut View,
    execution: &mut Execution,
    lease: Option<LeaseId>,
    reason: &Reason,
    now: Millis,
) -> Result<(What, Did), Stop> {
    let State::Active(active) = execution.state.clone() else {
        let state = execution.public_state();
        return Err(Rejection::NotActive { execution: execution.id, state }.into());
    };
    if lease.is_some_and(|lease| lease != active.lease.id) {
        return Err(Rejection::StaleLease { current: active.lease.epoch, given: 0 }.into());
    }
    let end = AttemptEnd::Revoked { reason: reason.clone() };
    let attempt = active.attempt.index;
    let what = |again_at| What::LeaseRevoked { attempt, reason: reason.clone(), again_at };
    let what = interrupt(view, execution, &active, (end, what), now)?;
    Ok((what, Did::Revoked { lease: active.lease.id, epoch: active.lease.epoch }))
}

/// Ends the attempt and says so with the time at which the next one may start, or without one when too many were lost.
fn interrupt(
    view: &mut View,
    execution: &mut Execution,
    active: &Active,
    (end, what): (AttemptEnd, impl FnOnce(Option<Millis>) -> What),
    now: Millis,
) -> Result<What, Stop> {
    fence::end_attempt(execution, active, end, None, now);
    if let Some(cancelled) = cancel::asked(view, execution, active, now)? {
        return Ok(cancelled);
    }
    if execution.reclaims >= execution.policy.max_reclaims() {
        let failure = Failure::new(Category::engine(), "max_reclaims_exceeded");
        let finished = Finished { failure: Some(failure), ..Finished::new(Outcome::Failed, now) };
        finish::finish(view, execution, finished)?;
        return Ok(what(None));
    }
    execution.reclaims += 1;
    execution.reclaims_in_a_row += 1;
    let again_at = now + pause(execution.reclaims_in_a_row);
    execution.wait(Waiting { readiness: Readiness::at(again_at, WhyDelayed::Reclaim, now), next: Next::Reclaim });
    Ok(what(Some(again_at)))
}

/// The pause after this many lost leases in a row.
fn pause(in_a_row: u32) -> Span {
    match in_a_row.checked_sub(limits::RECLAIMS_BEFORE_BACKOFF) {
        None => Span(0),
        Some(doublings) => {
            let pause = limits::RECLAIM_BACKOFF_FIRST.0.saturating_mul(1 << doublings.min(20));
            Span(pause.min(limits::RECLAIM_BACKOFF_MAX.0))
        }
    }
}
