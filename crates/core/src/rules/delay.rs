//! Going on with an attempt later: the lease is released, and the same attempt is taken up again when its time comes.

use crate::record::{Pause, Readiness, Waiting, WhyDelayed};
use crate::rules::fence::{self, Earlier, Owner};
use crate::rules::submit;
use crate::{Delay, Millis, Reply, Stop, View, What};

pub(crate) fn delay(view: &mut View, delay: &Delay, now: Millis) -> Result<Reply, Stop> {
    let (mut execution, active, now) = match fence::owner(view, &delay.fence, Some(delay.command), now)? {
        Owner::Holds(execution, active, now) => (execution, active, now),
        Owner::Repeats(Earlier::Paused(Pause::Delayed { until })) => return Ok(Reply::Delayed { until }),
        Owner::Repeats(_) => return Err(fence::other_use()),
    };
    let until = submit::time(view, "until", delay.when, now)?.max(now);
    let next = fence::pause_attempt(&active, delay.command, Pause::Delayed { until }, now);
    execution.changed_at = now;
    execution.reclaims_in_a_row = 0;
    execution.wait(Waiting { readiness: Readiness::at(until, WhyDelayed::Worker, now), next });
    view.put_execution(*execution, What::Delayed { attempt: active.attempt.index, until })?;
    Ok(Reply::Delayed { until })
}
