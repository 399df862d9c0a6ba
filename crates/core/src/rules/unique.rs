//! Unique keys: each stands for one unfinished execution.

use crate::record::{Execution, Record, UniqueRecord};
use crate::view::unreadable;
use crate::{Asked, ExecutionId, Key, Millis, Namespace, NewExecution, Rejection, Stop, Submitted, UniqueKey, View};

/// The answer to a submit whose unique key is held, or that is a repeat of a call that named itself.
pub(crate) fn find(view: &mut View, new: &NewExecution, now: Millis) -> Result<Option<Submitted>, Stop> {
    let Some(key) = &new.unique_key else { return Ok(None) };
    let Some(record) = get(view, &Key::Unique(new.namespace.clone(), key.clone()))? else { return Ok(None) };
    if let Some((known, until)) = new.call.and_then(|call| record.call(call))
        && is_remembered(view, until, now)
    {
        return match known.asked.difference(&Asked::of(new)) {
            None => Ok(Some(Submitted { id: known.execution, created: true, signalled: None })),
            Some(field) => Err(Rejection::IdempotencyMismatch { existing: known.execution, field }.into()),
        };
    }
    Ok(record.holder().map(|id| Submitted { id, created: false, signalled: None }))
}

/// The unfinished execution that a unique key stands for.
pub(crate) fn holder(view: &mut View, namespace: &Namespace, key: &UniqueKey) -> Result<Option<ExecutionId>, Stop> {
    Ok(get(view, &Key::Unique(namespace.clone(), key.clone()))?.and_then(|record| record.holder()))
}

/// Makes a unique key stand for an execution until it ends; a new one comes with its submission.
pub(crate) fn hold(
    view: &mut View,
    execution: &Execution,
    new: Option<&NewExecution>,
    now: Millis,
) -> Result<(), Stop> {
    let Some(key) = execution.unique() else { return Ok(()) };
    let mut record = get(view, &key)?.unwrap_or_else(|| UniqueRecord::held(execution.id));
    record.hold(execution.id, new.and_then(|new| Some((new.call?, Asked::of(new)))), now);
    view.put(key, Record::Unique(record))
}

/// Frees the unique key of an execution that has ended.
pub(crate) fn free(view: &mut View, execution: &Execution) -> Result<(), Stop> {
    let Some(key) = execution.unique() else { return Ok(()) };
    match get(view, &key)? {
        Some(mut record) if record.holder() == Some(execution.id) => {
            record.free(execution.changed_at);
            view.put(key, Record::Unique(record))
        }
        _ => Ok(()),
    }
}

/// Whether something is remembered that is forgotten at a time, if ever; the batch is written on that side of it.
fn is_remembered(view: &mut View, until: Option<Millis>, now: Millis) -> bool {
    match until {
        Some(until) if until <= now => {
            view.not_before(until);
            false
        }
        Some(until) => {
            view.not_after(until);
            true
        }
        None => true,
    }
}

fn get(view: &mut View, key: &Key) -> Result<Option<UniqueRecord>, Stop> {
    match view.get(key)?.as_deref() {
        None => Ok(None),
        Some(Record::Unique(record)) => Ok(Some(record.clone())),
        Some(_) => Err(unreadable(key)),
    }
}
