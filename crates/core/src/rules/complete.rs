//! Ending an execution well.

use crate::record::{AttemptEnd, Finished, Outcome, State};
use crate::rules::fence::{self, Owner};
use crate::rules::submit;
use crate::{Complete, Key, Millis, PayloadSlot, Rejection, Reply, Stop, View, What};

pub(crate) fn complete(view: &mut View, complete: &Complete, now: Millis) -> Result<Reply, Stop> {
    let (mut execution, active, now) = match fence::owner(view, &complete.fence, Some(complete.command), now)? {
        Owner::Holds(execution, active, now) => (execution, active, now),
        Owner::Repeats(ended) if ended.end == AttemptEnd::Succeeded => return Ok(Reply::Completed),
        Owner::Repeats(_) => {
            return Err(Rejection::invalid("command", "this id ended the attempt in another way").into());
        }
    };
    let key = Key::Payload(execution.id, PayloadSlot::Result);
    execution.result = Some(submit::hold(view, key, &complete.result)?);
    execution.reclaims_in_a_row = 0;
    fence::end_attempt(&mut execution, &active, AttemptEnd::Succeeded, Some(complete.command), now);
    execution.state = State::Finished(Finished { outcome: Outcome::Success, at: now, failure: None });
    view.put_execution(*execution, What::Completed { attempt: active.attempt.index })?;
    Ok(Reply::Completed)
}
