//! Ending an attempt badly: the policy decides whether another follows, and when.

use crate::record::{AttemptEnd, AttemptKind, Finished, Outcome, Readiness, State, Waiting, WhyDelayed};
use crate::rules::fence::{self, Owner};
use crate::{AfterFailure, Fail, Millis, Rejection, Reply, Stop, View, What};

pub(crate) fn fail(view: &mut View, fail: &Fail, now: Millis) -> Result<Reply, Stop> {
    let (mut execution, active, now) = match fence::owner(view, &fail.fence, Some(fail.command), now)? {
        Owner::Holds(execution, active, now) => (execution, active, now),
        Owner::Repeats(ended) => {
            return match ended.end {
                AttemptEnd::Failed { retry_at, .. } => Ok(Reply::Failed(after(retry_at))),
                _ => Err(Rejection::invalid("command", "this id ended the attempt in another way").into()),
            };
        }
    };
    let failure = fail.failure.cut();
    let retry = &execution.policy.retry;
    let again = execution.retries < retry.max_retries && retry.covers(&failure.category);
    let retry_at = again.then(|| now + retry.backoff.pause(execution.retries, fail.seed));
    let category = failure.category.clone();
    let end = AttemptEnd::Failed { failure: failure.clone(), retry_at };
    execution.reclaims_in_a_row = 0;
    fence::end_attempt(&mut execution, &active, end, Some(fail.command), now);
    match retry_at {
        Some(until) => {
            execution.retries += 1;
            let readiness = Readiness::at(until, WhyDelayed::Retry, now);
            execution.wait(Waiting { readiness, next: AttemptKind::Retry });
        }
        None => {
            execution.state = State::Finished(Finished { outcome: Outcome::Failed, at: now, failure: Some(failure) });
        }
    }
    let attempt = active.attempt.index;
    view.put_execution(*execution, What::AttemptFailed { attempt, category, retry_at })?;
    Ok(Reply::Failed(after(retry_at)))
}

fn after(retry_at: Option<Millis>) -> AfterFailure {
    retry_at.map_or(AfterFailure::Finished, AfterFailure::RetryAt)
}
