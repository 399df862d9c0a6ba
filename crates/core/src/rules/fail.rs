//! Ending an attempt badly: the policy decides whether another follows, and when.

use crate::record::{Active, AttemptEnd, Execution, Finished, Next, Outcome, Readiness, Waiting, WhyDelayed};
use crate::rules::fence::{self, Earlier, Owner};
use crate::rules::{cancel, finish};
use crate::{AfterFailure, Category, Fail, Failure, Millis, Reply, Stop, View, What};

pub(crate) fn fail(view: &mut View, fail: &Fail, now: Millis) -> Result<Reply, Stop> {
    let (mut execution, active, now) = match fence::owner(view, &fail.fence, Some(fail.command), now)? {
        Owner::Holds(execution, active, now) => (execution, active, now),
        Owner::Repeats(Earlier::Ended(AttemptEnd::Failed { retry_at, .. })) => {
            return Ok(Reply::Failed(after(retry_at)));
        }
        Owner::Repeats(_) => return Err(fence::other_use()),
    };
    let failure = fail.failure.cut();
    let retry_at = retry_at(&execution, &active, &failure.category, fail.seed, now);
    let end = AttemptEnd::Failed { failure: failure.clone(), retry_at };
    let (attempt, category) = (active.attempt.index, failure.category.clone());
    execution.reclaims_in_a_row = 0;
    fence::end_attempt(&mut execution, &active, end, Some(fail.command), now);
    let what = match cancel::asked(view, &mut execution, &active, now)? {
        Some(cancelled) => cancelled,
        None => {
            follow(view, &mut execution, retry_at, (Outcome::Failed, failure), now)?;
            What::AttemptFailed { attempt, category, retry_at }
        }
    };
    view.put_execution(*execution, what)?;
    Ok(Reply::Failed(after(retry_at)))
}

/// When the next attempt may start after a failure of this category; nothing when there is none.
pub(crate) fn retry_at(
    execution: &Execution,
    active: &Active,
    category: &Category,
    seed: u64,
    now: Millis,
) -> Option<Millis> {
    let retry = execution.policy.retry();
    let again = active.stop.is_none() && execution.retries < retry.max_retries && retry.covers(category);
    again.then(|| now + retry.backoff.pause(execution.retries, seed))
}

/// What follows an attempt that failed: another one, or the end.
pub(crate) fn follow(
    view: &mut View,
    execution: &mut Execution,
    retry_at: Option<Millis>,
    (outcome, failure): (Outcome, Failure),
    now: Millis,
) -> Result<(), Stop> {
    let Some(until) = retry_at else {
        return finish::finish(view, execution, Finished { failure: Some(failure), ..Finished::new(outcome, now) });
    };
    execution.retries += 1;
    execution.wait(Waiting { readiness: Readiness::at(until, WhyDelayed::Retry, now), next: Next::Retry });
    Ok(())
}

fn after(retry_at: Option<Millis>) -> AfterFailure {
    retry_at.map_or(AfterFailure::Finished, AfterFailure::RetryAt)
}
