//! Ending an execution well.

use crate::record::{AttemptEnd, Finished, Outcome};
use crate::rules::fence::{self, Earlier, Owner};
use crate::rules::{finish, submit};
use crate::{Complete, Key, Millis, PayloadSlot, Reply, Stop, View, What};

pub(crate) fn complete(view: &mut View, complete: &Complete, now: Millis) -> Result<Reply, Stop> {
    let (mut execution, active, now) = match fence::owner(view, &complete.fence, Some(complete.command), now)? {
        Owner::Holds(execution, active, now) => (execution, active, now),
        Owner::Repeats(Earlier::Ended(AttemptEnd::Succeeded)) => return Ok(Reply::Completed),
        Owner::Repeats(_) => return Err(fence::other_use()),
    };
    let key = Key::Payload(execution.id, PayloadSlot::Result);
    execution.result = Some(submit::store_payload(view, key, &complete.result)?);
    execution.reclaims_in_a_row = 0;
    fence::end_attempt(&mut execution, &active, AttemptEnd::Succeeded, Some(complete.command), now);
    finish::finish(view, &mut execution, Finished::new(Outcome::Success, now))?;
    view.put_execution(*execution, What::Completed { attempt: active.attempt.index })?;
    Ok(Reply::Completed)
}
