//! A due time passed: look at the record, and only at the record, to decide what is really due.

use crate::record::{
    Active, AttemptEnd, Cancellation, Execution, Finished, Outcome, Readiness, Record, State, Waiting,
};
use crate::rules::{cancel, fail, fence, finish, lost, purge};
use crate::view::unreadable;
use crate::{Category, Due, ExecutionId, Failure, Key, Millis, Reply, Stop, View, What, ids, index};

pub(crate) fn due(view: &mut View, due: &Due, now: Millis) -> Result<Reply, Stop> {
    let Some(record) = view.get(&due.key)? else { return Ok(nothing(None)) };
    if let Record::Unreadable(_) = &*record {
        return Err(unreadable(&due.key));
    }
    let Some(at) = index::due(&record) else { return Ok(nothing(None)) };
    match &*record {
        Record::Execution(execution) => of_execution(view, execution.clone(), at, now),
        Record::Idempotency(_) | Record::Unique(_) if at <= now => {
            view.not_before(at);
            view.delete(due.key.clone())?;
            Ok(Reply::Due { acted: true, next: None })
        }
        // A message is due until it is delivered; delivering it is not a decision about this record alone.
        _ => Ok(nothing(Some(at))),
    }
}

fn nothing(next: Option<Millis>) -> Reply {
    Reply::Due { acted: false, next }
}

fn of_execution(view: &mut View, mut execution: Execution, at: Millis, now: Millis) -> Result<Reply, Stop> {
    if now < at {
        return Ok(nothing(Some(at)));
    }
    let (id, now) = (execution.id, execution.stamp(now));
    view.not_before(at);
    let what = match execution.state.clone() {
        State::Finished(_) => {
            purge::remove(view, execution, None, now)?;
            return next(view, id);
        }
        _ if execution.deadline == Some(at) => expire(view, &mut execution, now)?,
        State::Waiting(waiting) => promote(&mut execution, waiting, at, now),
        State::Active(active) => match &active.stop {
            Some(stop) if stop.until == at => stop_now(view, &mut execution, stop.cancellation.clone(), now)?,
            _ if active.lease.expires_at == at => lost::expire(view, &mut execution, &active, now)?,
            _ => time_out(view, &mut execution, &active, now)?,
        },
    };
    view.put_execution(execution, what)?;
    next(view, id)
}

fn next(view: &mut View, id: ExecutionId) -> Result<Reply, Stop> {
    let next = view.get(&Key::Execution(id))?.as_deref().and_then(index::due);
    Ok(Reply::Due { acted: true, next })
}

/// Its time came at `at`, however late somebody looks: that is its place in the queue, unless it has one already.
fn promote(execution: &mut Execution, waiting: Waiting, at: Millis, now: Millis) -> What {
    execution.changed_at = now;
    execution.queued_at.get_or_insert(at);
    execution.wait(Waiting { readiness: Readiness::Ready { since: now }, next: waiting.next });
    What::Ready
}

/// The deadline passed: this is the end, wherever it stood.
fn expire(view: &mut View, execution: &mut Execution, now: Millis) -> Result<What, Stop> {
    let (attempt, paused) = fence::end_any(execution, AttemptEnd::Expired, now);
    let failure = Failure::new(Category::timeout(), "the deadline passed");
    let finished = Finished { failure: Some(failure), ..Finished::new(Outcome::Expired, now) };
    finish::finish(view, execution, finished)?;
    Ok(What::Expired { attempt, paused })
}

/// The attempt ran for too long: it failed, and the retry policy decides what follows.
fn time_out(view: &mut View, execution: &mut Execution, active: &Active, now: Millis) -> Result<What, Stop> {
    let failure = Failure::new(Category::timeout(), "the attempt ran for too long");
    // Nobody draws a chance for a due time, so the pause is drawn from what the execution is.
    let seed = ids::fingerprint(&[execution.id.uuid().as_bytes(), &active.lease.epoch.to_le_bytes()]);
    let retry_at = fail::retry_at(execution, active, &failure.category, seed, now);
    let end = AttemptEnd::Failed { failure: failure.clone(), retry_at };
    execution.reclaims_in_a_row = 0;
    fence::end_attempt(execution, active, end, None, now);
    if let Some(cancelled) = cancel::asked(view, execution, active, now)? {
        return Ok(cancelled);
    }
    fail::follow(view, execution, retry_at, (Outcome::Expired, failure), now)?;
    Ok(What::TimedOut { attempt: active.attempt.index, retry_at })
}

/// It was asked to stop and did not in time.
fn stop_now(view: &mut View, execution: &mut Execution, by: Cancellation, now: Millis) -> Result<What, Stop> {
    let ended = fence::end_any(execution, AttemptEnd::Cancelled, now);
    cancel::end(view, execution, by, ended, now)
}
