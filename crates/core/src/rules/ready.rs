//! Every way in which an execution becomes claimable, now or at a time.

use crate::record::{Execution, Next, Readiness, State, Waiting, WhyDelayed};
use crate::{Arrival, Millis};

/// It may run from a time on, which may be now; answers that time if it is yet to come.
pub(crate) fn at(execution: &mut Execution, until: Millis, why: WhyDelayed, next: Next, now: Millis) -> Option<Millis> {
    if until > now {
        execution.state = State::Waiting(Waiting { readiness: Readiness::Delayed { until, why }, next });
        return Some(until);
    }
    self::now(execution, next, now);
    None
}

/// It may run now. The first time that it is ready gives it its place in the queue.
pub(crate) fn now(execution: &mut Execution, next: Next, since: Millis) {
    execution.place.get_or_insert(Arrival::at(since, execution.sequence));
    execution.state = State::Waiting(Waiting { readiness: Readiness::Ready { since }, next });
}

/// Makes delayed work ready. Its place in the queue is the time it was due, `at`, even if this runs later.
pub(crate) fn promote(execution: &mut Execution, next: Next, at: Millis, now: Millis) {
    execution.changed_at = execution.stamp(now);
    execution.place.get_or_insert(Arrival::at(at, execution.sequence));
    self::now(execution, next, now);
}
