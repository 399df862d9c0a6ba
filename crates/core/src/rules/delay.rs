//! Going on with an attempt later: the lease is released, and the same attempt is taken up again when its time comes.

use crate::record::{AttemptEnd, Pause, Readiness, Waiting, WhyDelayed};
use crate::rules::fence::{self, Earlier, Owner};
use crate::rules::{cancel, submit};
use crate::{Delay, Millis, Reply, Stop, View, What};

pub(crate) fn delay(view: &mut View, delay: &Delay, now: Millis) -> Result<Reply, Stop> {
    let (mut execution, active, stamp) = match fence::owner(view, &delay.fence, Some(delay.command), now)? {
        Owner::Holds(execution, active, stamp) => (execution, active, stamp),
        Owner::Repeats(Earlier::Paused(Pause::Delayed { until })) => return Ok(Reply::Delayed { until }),
        Owner::Repeats(_) => return Err(fence::other_use()),
    };
    let until = submit::time(view, "until", delay.when, now)?.max(now);
    let next = fence::pause_attempt(&active, delay.command, Pause::Delayed { until }, now);
    execution.changed_at = stamp;
    execution.reclaims_in_a_row = 0;
    execution.wait(Waiting { readiness: Readiness::at(until, WhyDelayed::Worker, now), next });
    let mut what = What::Delayed { attempt: active.attempt.index, until };
    if active.stop.is_some() {
        // The pause is remembered with the attempt that ends here, so that a repeat gets its answer.
        fence::end_any(&mut execution, AttemptEnd::Cancelled, stamp);
        what = cancel::asked(view, &mut execution, &active, stamp)?.unwrap_or(what);
    }
    view.put_execution(*execution, what)?;
    Ok(Reply::Delayed { until })
}
