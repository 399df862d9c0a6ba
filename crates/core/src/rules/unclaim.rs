//! Giving a lease back: the execution is ready again at once and nothing counts as lost.

use crate::record::{AttemptEnd, Next, Pause, Readiness, Waiting};
use crate::rules::cancel;
use crate::rules::fence::{self, Earlier, Owner};
use crate::{Millis, Reply, Stop, Unclaim, View, What};

pub(crate) fn unclaim(view: &mut View, unclaim: &Unclaim, now: Millis) -> Result<Reply, Stop> {
    let (mut execution, active, stamp) = match fence::owner(view, &unclaim.fence, Some(unclaim.command), now)? {
        Owner::Holds(execution, active, stamp) => (execution, active, stamp),
        Owner::Repeats(Earlier::Ended(AttemptEnd::Returned) | Earlier::Paused(Pause::Returned)) => {
            return Ok(Reply::Returned);
        }
        Owner::Repeats(_) => return Err(fence::other_use()),
    };
    // An attempt that had a pause before goes on after this one too; a fresh one starts over.
    let next = if active.attempt.resumed_at.is_some() && active.stop.is_none() {
        execution.changed_at = stamp;
        fence::pause_attempt(&active, unclaim.command, Pause::Returned, now)
    } else {
        fence::end_attempt(&mut execution, &active, AttemptEnd::Returned, Some(unclaim.command), stamp);
        Next::fresh(active.attempt.kind)
    };
    let what = match cancel::asked(view, &mut execution, &active, stamp)? {
        Some(cancelled) => cancelled,
        None => {
            execution.wait(Waiting { readiness: Readiness::Ready { since: stamp }, next });
            What::Returned { attempt: active.attempt.index }
        }
    };
    view.put_execution(*execution, what)?;
    Ok(Reply::Returned)
}
