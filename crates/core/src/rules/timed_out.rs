//! What time does to a suspension: single waits end, or all of it does, as its timeout says.

use crate::record::{
    AttemptEnd, Cancellation, Canceller, Execution, ExpiredBy, Finished, HowOver, OnTimeout, Outcome, Over, Paused,
    Record, Suspension,
};
use crate::rules::times::Moment;
use crate::rules::{due, finish, lease, waits};
use crate::view::unreadable;
use crate::{Category, Failure, Key, Millis, Reason, Stop, View, What};
use std::sync::Arc;

/// Does what is due of a suspension, one time after the other; nothing when nothing is. The inner value is what happened, unless
/// the execution goes on waiting.
pub(crate) fn pass(view: &mut View, shared: &mut Arc<Execution>, now: Millis) -> Result<Option<Option<What>>, Stop> {
    let Some((suspension, paused)) = waits::suspended(shared) else { return Ok(None) };
    let Some(due) = suspension.due().filter(|due| *due <= now) else { return Ok(None) };
    // The deadline comes first when it came first.
    if shared.deadline.is_some_and(|deadline| deadline <= due) {
        return Ok(None);
    }
    view.not_before(due);
    let execution = Arc::make_mut(shared);
    let at = execution.moment(now);
    end(view, execution, (suspension, paused), due, at).map(Some)
}

/// Does all that is due of a suspension and of the deadline, and writes it: what time has ended is over, whether or not that was
/// noticed, and what it has not ended holds for a commit before it does.
pub(crate) fn settle(view: &mut View, mut shared: Arc<Execution>, now: Millis) -> Result<Arc<Execution>, Stop> {
    while let Some(event) = pass(view, &mut shared, now)? {
        let key = Key::Execution(shared.id);
        match event {
            Some(event) => view.put_execution(shared, event)?,
            None => view.put(key.clone(), Record::Execution(shared))?,
        }
        let Some(Record::Execution(written)) = view.get(&key)?.as_deref().cloned() else {
            return Err(unreadable(&key));
        };
        shared = written;
    }
    let Some(deadline) = shared.deadline.filter(|_| !shared.is_finished()) else { return Ok(shared) };
    if now < deadline {
        view.not_after(deadline);
        return Ok(shared);
    }
    // What else time ended before it comes first, and is left to its timer.
    if shared.due() != Some(deadline) {
        return Ok(shared);
    }
    view.not_before(deadline);
    let execution = Arc::make_mut(&mut shared);
    let at = execution.moment(now);
    let event = due::expire(view, execution, at)?;
    let id = shared.id;
    view.put_execution(shared, event)?;
    view.execution(id)?.ok_or_else(|| unreadable(&Key::Execution(id)))
}

fn end(
    view: &mut View,
    execution: &mut Execution,
    (mut suspension, paused): (Suspension, Paused),
    due: Millis,
    at: Moment,
) -> Result<Option<What>, Stop> {
    if let Some(timeout) = suspension.timeout.filter(|timeout| timeout.at <= due) {
        return whole(view, execution, (suspension, paused), timeout.then, at).map(Some);
    }
    let over = Over { how: HowOver::Timeout, at: at.stamp, recorded: false };
    let ended: Vec<_> = suspension.condition.timeouts().into_iter().filter(|(_, until)| *until <= due).collect();
    let ended: Vec<_> = ended.into_iter().map(|(wait, _)| wait.clone()).collect();
    for wait in ended {
        suspension.over.entry(wait).or_insert(over);
    }
    execution.changed_at = at.stamp;
    if suspension.is_met() {
        let how = (HowOver::Timeout, suspension.delay);
        return waits::resume(view, execution, (suspension, paused), how, at).map(Some);
    }
    waits::put_back(execution, suspension, paused);
    Ok(None)
}

/// The timeout of the whole suspension.
fn whole(
    view: &mut View,
    execution: &mut Execution,
    (mut suspension, paused): (Suspension, Paused),
    then: OnTimeout,
    at: Moment,
) -> Result<What, Stop> {
    let attempt = paused.attempt.number;
    let event = What::SuspensionTimedOut { attempt, then };
    let failure = || Failure::new(Category::timeout(), "what it waited for did not come in time");
    match then {
        OnTimeout::Resume => {
            let how = (HowOver::Timeout, suspension.delay);
            waits::resume(view, execution, (suspension, paused), how, at)
        }
        OnTimeout::Escalate => {
            suspension.escalated = true;
            execution.changed_at = at.stamp;
            waits::put_back(execution, suspension, paused);
            Ok(event)
        }
        OnTimeout::Fail => {
            let end = AttemptEnd::Failed { failure: failure(), retry_at: None, held: false };
            lease::end_any(view, execution, end, at)?;
            let finished = Finished { failure: Some(failure()), ..Finished::new(Outcome::Failed, at.stamp) };
            finish::finish(view, execution, finished, event)
        }
        OnTimeout::Expire => {
            lease::end_any(view, execution, AttemptEnd::Expired, at)?;
            let expired_by = Some(ExpiredBy::SuspensionTimeout);
            let failure = Some(failure());
            let finished = Finished { failure, expired_by, ..Finished::new(Outcome::Expired, at.stamp) };
            finish::finish(view, execution, finished, event)
        }
        OnTimeout::Cancel => {
            lease::end_any(view, execution, AttemptEnd::Cancelled, at)?;
            let reason = Reason::new("what it waited for did not come in time");
            let cancelled = Some(Cancellation { by: Canceller::Timeout, reason });
            let finished = Finished { cancelled, ..Finished::new(Outcome::Cancelled, at.stamp) };
            finish::finish(view, execution, finished, event)
        }
    }
}
