//! Every way in which an execution becomes claimable, now or at a time, and the registry that tells workers where it is.

use crate::record::{Execution, LaneQueues, Next, QueueSeen, Readiness, Record, State, Waiting, WhyDelayed};
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
    self::now(view, execution, next, now)
}

/// It may run now. The first time that it is ready gives it its place in the queue. Workers look only into queues that are
/// listed: while there is no room for its own, it is delayed, and this returns until when.
pub(crate) fn now(
    view: &mut View,
    execution: &mut Execution,
    next: Next,
    since: Millis,
) -> Result<Option<Millis>, Stop> {
    execution.place.get_or_insert(Arrival::at(since, execution.sequence));
    enter(view, execution, next, (since, since))
}

/// It was ready and in no queue, and is offered again: its queue may have been forgotten meanwhile.
pub(crate) fn offer_again(view: &mut View, execution: &mut Execution, now: Millis) -> Result<Option<Millis>, Stop> {
    match execution.state.clone() {
        State::Waiting(Waiting { readiness: Readiness::Ready { since }, next }) => {
            enter(view, execution, next, (since, now))
        }
        _ => Ok(None),
    }
}

fn enter(
    view: &mut View,
    execution: &mut Execution,
    next: Next,
    (since, now): (Millis, Millis),
) -> Result<Option<Millis>, Stop> {
    let (kind, class) = (&execution.kind, &execution.requires);
    let listed = list(view, (&execution.namespace, &execution.lane), (kind, class), AGAIN, now)?;
    let again = (!listed).then(|| now + limits::QUEUES_FULL_PAUSE);
    let readiness = match again {
        None => Readiness::Ready { since },
        Some(until) => Readiness::Delayed { until, why: why(&next) },
    };
    execution.state = State::Waiting(Waiting { readiness, next });
    Ok(again)
}

/// Why an execution is delayed that would be ready if its queue could be listed: for what comes next.
fn why(next: &Next) -> WhyDelayed {
    match next {
        Next::Initial => WhyDelayed::Submitted,
        Next::Retry => WhyDelayed::Retry,
        Next::Reclaim => WhyDelayed::Reclaim,
        Next::Replay => WhyDelayed::Operator,
        Next::Resume(paused) if paused.attempt.woke.is_some() => WhyDelayed::Resumed,
        Next::Resume(_) => WhyDelayed::Worker,
    }
}

/// Makes delayed work ready. Its place in the queue is the time it was due, `at`, even if this runs later.
pub(crate) fn promote(
    view: &mut View,
    execution: &mut Execution,
    next: Next,
    at: Millis,
    now: Millis,
) -> Result<Option<Millis>, Stop> {
    execution.changed_at = execution.stamp(now);
    execution.place.get_or_insert(Arrival::at(at, execution.sequence));
    self::now(view, execution, next, now)
}

/// Makes the queue of new work known, so that workers look into it. A lane may have so many queues and not more; what was
/// accepted before finds room for longer.
pub(crate) fn register(view: &mut View, new: &NewExecution, now: Millis) -> Result<(), Stop> {
    let listed = list(view, (&new.namespace, &new.lane), (&new.kind, &new.requires), NEW, now)?;
    if listed { Ok(()) } else { Err(Rejection::TooManyQueues { lane: new.lane.clone() }.into()) }
}

/// Most queues of a lane, and most bytes of their record.
type Room = (usize, usize);

/// For new work.
const NEW: Room = (limits::QUEUES_MAX, limits::QUEUES_RECORD_BYTES_MAX);
/// For work that was accepted before.
const AGAIN: Room = (usize::MAX, limits::QUEUES_RECORD_BYTES_MAX + limits::QUEUES_RECORD_BYTES_RESERVE);

/// Lists a queue, unless there is no room for it; returns whether workers find it.
fn list(
    view: &mut View,
    (namespace, lane): (&Namespace, &Lane),
    (kind, class): (&Kind, &Class),
    (queues_max, bytes_max): Room,
    now: Millis,
) -> Result<bool, Stop> {
    let key = Key::Queues(namespace.clone(), lane.clone(), view.partition());
    let registry = match view.get(&key)?.as_deref() {
        None => LaneQueues::of(kind, class, now),
        Some(Record::Queues(registry)) if registry.knows(kind, class, now) => return Ok(true),
        Some(Record::Queues(registry)) => {
            let fits = || {
                let bytes = registry.bytes() + QueueSeen::bytes_of(kind, class);
                registry.queues.len() < queues_max && bytes <= bytes_max
            };
            if !registry.lists(kind, class) && !fits() {
                return Ok(false);
            }
            let mut registry = registry.clone();
            registry.note(kind, class, now);
            registry
        }
        Some(_) => return Err(unreadable(&key)),
    };
    view.put(key, Record::Queues(registry))?;
    Ok(true)
}
