//! A due time passed: look at the record, and only at the record, to decide what is really due.

use crate::record::{
    Active, AttemptEnd, Cancellation, Execution, ExpiredBy, Finished, Outcome, Readiness, Record, State, Waiting,
};
use crate::rules::end::fail::Failed;
use crate::rules::times::Moment;
use crate::rules::{errand, finish, lease, lost, purge, ready, timed_out};
use crate::view::unreadable;
use crate::{Category, ExecutionId, Failure, Key, Millis, PartitionId, Stop, Urgency, Verb, View, What, index};
use std::sync::Arc;

/// Looks at a record whose due time passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// The record whose due time passed, as far as the caller knows.
    pub key: Key,
}

/// Whether there was anything to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looked {
    /// Whether the record changed.
    pub acted: bool,
    /// When to look again; absent when there is nothing to wait for.
    pub next: Option<Millis>,
}

impl Verb for Due {
    const URGENCY: Urgency = Urgency::Background;
    type Reply = Looked;

    fn keys(&self, _: PartitionId) -> Vec<Key> {
        let mut keys = vec![self.key.clone()];
        if let Key::Errand(id, _) = self.key {
            keys.push(Key::Execution(id));
        }
        keys
    }

    fn run(&self, view: &mut View, now: Millis) -> Result<Looked, Stop> {
        let Some(record) = view.get(&self.key)? else { return Ok(nothing(None)) };
        if let Record::Unreadable(_) = &*record {
            return Err(unreadable(&self.key));
        }
        let Some(at) = index::due(&record) else { return Ok(nothing(None)) };
        match &*record {
            Record::Execution(execution) => of_execution(view, execution.clone(), at, now),
            Record::Errand(errand) if at <= now => match self.key {
                Key::Errand(id, kind) => errand::go_on(view, (id, kind), errand.clone(), now),
                _ => Ok(nothing(None)),
            },
            Record::Idempotency(_) | Record::Unique(_) if at <= now => {
                view.not_before(at);
                view.delete(self.key.clone())?;
                Ok(Looked { acted: true, next: None })
            }
            // A message is due until it is delivered; delivering it is not a decision about this record alone.
            _ => Ok(nothing(Some(at))),
        }
    }
}

fn nothing(next: Option<Millis>) -> Looked {
    Looked { acted: false, next }
}

fn of_execution(view: &mut View, mut shared: Arc<Execution>, at: Millis, now: Millis) -> Result<Looked, Stop> {
    if now < at {
        return too_early(view, shared, at, now);
    }
    let (id, moment) = (shared.id, shared.moment(now));
    view.not_before(at);
    if let State::Finished(_) = shared.state {
        purge::remove(view, shared, None, moment.stamp)?;
        return next(view, id);
    }
    let execution = Arc::make_mut(&mut shared);
    let event = match execution.state.clone() {
        _ if execution.deadline == Some(at) => expire(view, execution, moment)?,
        State::Waiting(Waiting { readiness: Readiness::Suspended(_), .. }) => {
            match timed_out::pass(view, &mut shared, now)? {
                Some(Some(event)) => event,
                Some(None) => {
                    // One of its waits is over, and it goes on waiting for others.
                    view.put(Key::Execution(id), Record::Execution(shared))?;
                    return next(view, id);
                }
                None => return Ok(nothing(Some(at))),
            }
        }
        State::Waiting(Waiting { readiness, next }) => match readiness {
            Readiness::Delayed { .. } => {
                if ready::promote(view, execution, next, at, now)?.is_some() {
                    // It goes on waiting, for room in the list of queues.
                    view.put(Key::Execution(id), Record::Execution(shared))?;
                    return self::next(view, id);
                }
                What::Ready
            }
            // Only its deadline makes ready work due.
            Readiness::Ready { .. } | Readiness::Suspended(_) => return Ok(nothing(Some(at))),
        },
        State::Active(active) => match &active.stop {
            Some(stop) if stop.until == at => stop_now(view, execution, stop.cancellation.clone(), moment)?,
            _ if active.lease.expires_at == at => lost::expire(view, execution, &active, moment)?,
            _ => time_out(view, execution, &active, moment)?,
        },
        // Handled above.
        State::Finished(_) => return next(view, id),
    };
    view.put_execution(shared, event)?;
    next(view, id)
}

/// Nothing is due yet; but when the time was set back, what is due has come no nearer.
fn too_early(view: &mut View, mut shared: Arc<Execution>, at: Millis, now: Millis) -> Result<Looked, Stop> {
    let State::Active(mut active) = shared.state.clone() else { return Ok(nothing(Some(at))) };
    if !lease::set_back(view, &mut active, now) {
        return Ok(nothing(Some(at)));
    }
    let (id, execution) = (shared.id, Arc::make_mut(&mut shared));
    execution.changed_at = execution.stamp(now);
    execution.state = State::Active(active);
    view.put(Key::Execution(id), Record::Execution(shared))?;
    next(view, id)
}

fn next(view: &mut View, id: ExecutionId) -> Result<Looked, Stop> {
    let next = view.get(&Key::Execution(id))?.as_deref().and_then(index::due);
    Ok(Looked { acted: true, next })
}

/// The deadline passed: this is the end, wherever it stood.
pub(crate) fn expire(view: &mut View, execution: &mut Execution, at: Moment) -> Result<What, Stop> {
    let (attempt, paused) = lease::end_any(view, execution, AttemptEnd::Expired, at)?;
    let failure = Failure::new(Category::timeout(), "the deadline passed");
    let expired_by = ExpiredBy::Deadline;
    let finished =
        Finished { failure: Some(failure), expired_by: Some(expired_by), ..Finished::new(Outcome::Expired, at.stamp) };
    finish::finish(view, execution, finished, What::Expired { attempt, paused, expired_by })
}

/// The attempt ran for too long: it failed, and the retry policy decides what follows.
fn time_out(view: &mut View, execution: &mut Execution, active: &Active, at: Moment) -> Result<What, Stop> {
    let failure = Failure::new(Category::timeout(), "the attempt ran for too long");
    let failed = Failed { failure, outcome: Outcome::Expired, by: None };
    failed.end(view, execution, active, at).map(|(_, event)| event)
}

/// It was asked to stop and did not in time.
fn stop_now(view: &mut View, execution: &mut Execution, by: Cancellation, at: Moment) -> Result<What, Stop> {
    let ended = lease::end_any(view, execution, AttemptEnd::Cancelled, at)?;
    finish::cancelled(view, execution, by, ended, at.stamp)
}

#[cfg(test)]
pub(crate) mod rows {
    use crate::rules::table::Row;
    use crate::rules::world::make::{self, id};

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("due (too early)", |_, _| make::due(id(1)), &[
            ("→ Expired", "ReadyTooLate ActiveTimedOut ActiveTooLate"),
            ("→ ReadyReclaim", "ActiveLapsed"),
            ("→ ReadyResume", "SuspendedOver"),
            ("→ Cancelled", "ActiveStopOver"),
            ("=", "*"),
        ]),
        Row::new("due (in time)", |world, _| {
            let at = world.find(id(1)).and_then(|execution| execution.due());
            world.now = world.now.max(at.unwrap_or(world.now));
            make::due(id(1))
        }, &[
            ("→ Expired", "ReadyTooLate ActiveTimedOut ActiveTooLate"),
            ("→ ReadyFirst", "DelayedSubmitted DelayedOperator"),
            ("→ ReadyRetry", "DelayedRetry"),
            ("→ ReadyReclaim", "DelayedReclaim ActiveMine ActiveResumed ActiveOther ActiveOnward ActiveLapsed"),
            ("→ ReadyResume", "DelayedWorker Suspended SuspendedOver"),
            ("→ Cancelled", "ActiveAsked ActiveStopOver"),
            ("→ Absent", "Completed Failed Cancelled Expired Stub"),
            ("=", "*"),
        ]),
    ];
}
