//! A due time passed: look at the record, and only at the record, to decide what is really due.

use crate::record::{
    Active, AttemptEnd, AttemptKind, Execution, Finished, Outcome, Readiness, Record, State, Waiting, WhyDelayed,
};
use crate::rules::fence;
use crate::view::unreadable;
use crate::{Category, Due, Failure, Key, Millis, Reply, Span, Stop, View, What, index, limits};

pub(crate) fn due(view: &mut View, due: &Due, now: Millis) -> Result<Reply, Stop> {
    let Some(record) = view.get(&due.key)? else { return Ok(nothing(None)) };
    if let Record::Unreadable(_) = &*record {
        return Err(unreadable(&due.key));
    }
    let Some(at) = index::due(&record) else { return Ok(nothing(None)) };
    match &*record {
        Record::Execution(execution) => of_execution(view, execution.clone(), at, now),
        Record::Idempotency(_) if at <= now => {
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

fn of_execution(view: &mut View, execution: Execution, at: Millis, now: Millis) -> Result<Reply, Stop> {
    let now = now.max(execution.changed_at);
    if now < at {
        return Ok(nothing(Some(at)));
    }
    view.not_before(at);
    let id = execution.id;
    match execution.state.clone() {
        State::Waiting(waiting) => promote(view, execution, &waiting, at, now)?,
        State::Active(active) => expire(view, execution, &active, now)?,
        State::Finished(_) => return Ok(nothing(None)),
    }
    let next = view.get(&Key::Execution(id))?.as_deref().and_then(index::due);
    Ok(Reply::Due { acted: true, next })
}

/// Its time came at `at`, however late somebody looks: that is its place in the queue, unless it has one already.
fn promote(view: &mut View, mut execution: Execution, waiting: &Waiting, at: Millis, now: Millis) -> Result<(), Stop> {
    execution.changed_at = now;
    execution.queued_at.get_or_insert(at);
    execution.wait(Waiting { readiness: Readiness::Ready { since: now }, next: waiting.next });
    view.put_execution(execution, What::Ready)
}

/// A lapsed lease interrupts its attempt and makes the execution ready again in the same step.
fn expire(view: &mut View, mut execution: Execution, active: &Active, now: Millis) -> Result<(), Stop> {
    let attempt = active.attempt.index;
    fence::end_attempt(&mut execution, active, AttemptEnd::Interrupted, None, now);
    if execution.reclaims >= limits::RECLAIMS_MAX {
        let failure = Failure::new(Category::engine(), "max_reclaims_exceeded");
        execution.state = State::Finished(Finished { outcome: Outcome::Failed, at: now, failure: Some(failure) });
        return view.put_execution(execution, What::LeaseExpired { attempt, again_at: None });
    }
    execution.reclaims += 1;
    execution.reclaims_in_a_row += 1;
    let again_at = now + reclaim_pause(execution.reclaims_in_a_row);
    let readiness = Readiness::at(again_at, WhyDelayed::Reclaim, now);
    execution.wait(Waiting { readiness, next: AttemptKind::Reclaim });
    view.put_execution(execution, What::LeaseExpired { attempt, again_at: Some(again_at) })
}

/// The pause after this many lost leases in a row.
fn reclaim_pause(in_a_row: u32) -> Span {
    match in_a_row.checked_sub(limits::RECLAIMS_BEFORE_BACKOFF) {
        None => Span(0),
        Some(doublings) => {
            let pause = limits::RECLAIM_BACKOFF_FIRST.0.saturating_mul(1 << doublings.min(20));
            Span(pause.min(limits::RECLAIM_BACKOFF_MAX.0))
        }
    }
}
