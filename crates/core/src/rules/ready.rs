//! Every way in which an execution becomes claimable, now or at a time, and the registry that tells workers where it is.

use crate::record::{Execution, LaneQueues, Next, Readiness, Record, State, Waiting, WhyDelayed};
use crate::view::unreadable;
use crate::{Arrival, Class, Key, Kind, Lane, Millis, Namespace, NewExecution, Rejection, Stop, View, limits};

/// It may run from a time on, which may be now; answers that time if it is yet to come.
pub(crate) fn at(
    view: &mut View,
    execution: &mut Execution,
    until: Millis,
    (why, next): (WhyDelayed, Next),
    now: Millis,
) -> Result<Option<Millis>, Stop> {
    if until > now {
        execution.state = State::Waiting(Waiting { readiness: Readiness::Delayed { until, why }, next });
        return Ok(Some(until));
    }
    self::now(view, execution, next, now)?;
    Ok(None)
}

/// It may run now. The first time that it is ready gives it its place in the queue.
pub(crate) fn now(view: &mut View, execution: &mut Execution, next: Next, since: Millis) -> Result<(), Stop> {
    execution.place.get_or_insert(Arrival::at(since, execution.sequence));
    execution.state = State::Waiting(Waiting { readiness: Readiness::Ready { since }, next });
    let (kind, class) = (&execution.kind, &execution.requires);
    list(view, (&execution.namespace, &execution.lane), (kind, class), usize::MAX, since)
}

/// Makes delayed work ready. Its place in the queue is the time it was due, `at`, even if this runs later.
pub(crate) fn promote(
    view: &mut View,
    execution: &mut Execution,
    next: Next,
    at: Millis,
    now: Millis,
) -> Result<(), Stop> {
    execution.changed_at = execution.stamp(now);
    execution.place.get_or_insert(Arrival::at(at, execution.sequence));
    self::now(view, execution, next, now)
}

/// Makes the queue of new work known, so that workers look into it. A lane may have so many queues and not more; what was
/// accepted before goes back to its own.
pub(crate) fn register(view: &mut View, new: &NewExecution, now: Millis) -> Result<(), Stop> {
    list(view, (&new.namespace, &new.lane), (&new.kind, &new.requires), limits::QUEUES_MAX, now)
}

fn list(
    view: &mut View,
    (namespace, lane): (&Namespace, &Lane),
    (kind, class): (&Kind, &Class),
    max: usize,
    now: Millis,
) -> Result<(), Stop> {
    let key = Key::Queues(namespace.clone(), lane.clone(), view.partition());
    let registry = match view.get(&key)?.as_deref() {
        None => LaneQueues::of(kind, class, now),
        Some(Record::Queues(registry)) if registry.knows(kind, class, now) => return Ok(()),
        Some(Record::Queues(registry)) => {
            if registry.queues.len() >= max && !registry.lists(kind, class) {
                return Err(Rejection::TooManyQueues { lane: lane.clone() }.into());
            }
            let mut registry = registry.clone();
            registry.note(kind, class, now);
            registry
        }
        Some(_) => return Err(unreadable(&key)),
    };
    view.put(key, Record::Queues(registry))
}
