//! A lease that is gone, by time or by an operator: the attempt is interrupted and the execution ready again at once.

use crate::record::{Active, AttemptEnd, Execution, Finished, Next, Outcome, WhyDelayed};
use crate::rules::times::Moment;
use crate::rules::{finish, lease, ready};
use crate::{Category, Failure, Millis, Span, Stop, View, What, limits};

/// A lapsed lease.
pub(crate) fn expire(view: &mut View, execution: &mut Execution, active: &Active, at: Moment) -> Result<What, Stop> {
    let attempt = active.attempt.number;
    let event = |again_at, held| What::LeaseExpired { attempt, again_at, held };
    interrupt(view, execution, active, (AttemptEnd::Interrupted, event), at)
}

/// Ends the attempt and says so with the time at which the next one may start, or without one when too many were lost.
pub(crate) fn interrupt(
    view: &mut View,
    execution: &mut Execution,
    active: &Active,
    (end, event): (AttemptEnd, impl FnOnce(Option<Millis>, bool) -> What),
    at: Moment,
) -> Result<What, Stop> {
    lease::end(execution, active, end, None, at);
    if let Some(cancelled) = finish::if_asked(view, execution, active, at.stamp)? {
        return Ok(cancelled);
    }
    if execution.reclaims >= execution.policy.max_reclaims() {
        if finish::hold_instead(view, execution, (Next::Reclaim, "it lost too many workers"), at)? {
            return Ok(event(None, true));
        }
        let failure = Failure::new(Category::engine(), "max_reclaims_exceeded");
        let finished = Finished { failure: Some(failure), ..Finished::new(Outcome::Failed, at.stamp) };
        return finish::finish(view, execution, finished, event(None, false));
    }
    execution.reclaims += 1;
    execution.reclaims_in_a_row += 1;
    let again_at = at.now + pause(execution.reclaims_in_a_row);
    let delayed = ready::at(view, execution, again_at, (WhyDelayed::Reclaim, Next::Reclaim), at.now)?;
    Ok(event(Some(delayed.unwrap_or(again_at)), false))
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
