//! Giving back a lease that nobody received: the execution is ready again at once and nothing counts as lost.

use crate::record::{AttemptEnd, Readiness, Waiting};
use crate::rules::fence::{self, Owner};
use crate::{Millis, Rejection, Reply, Stop, Unclaim, View, What};

pub(crate) fn unclaim(view: &mut View, unclaim: &Unclaim, now: Millis) -> Result<Reply, Stop> {
    let (mut execution, active, now) = match fence::owner(view, &unclaim.fence, Some(unclaim.command), now)? {
        Owner::Holds(execution, active, now) => (execution, active, now),
        Owner::Repeats(ended) if ended.end == AttemptEnd::Returned => return Ok(Reply::Returned),
        Owner::Repeats(_) => {
            return Err(Rejection::invalid("command", "this id ended the attempt in another way").into());
        }
    };
    fence::end_attempt(&mut execution, &active, AttemptEnd::Returned, Some(unclaim.command), now);
    execution.wait(Waiting { readiness: Readiness::Ready { since: now }, next: active.attempt.kind });
    view.put_execution(*execution, What::Returned { attempt: active.attempt.index })?;
    Ok(Reply::Returned)
}
