//! The end of an execution: its state, and the unique key that is free again.

use crate::record::{Execution, Finished, Record, State, UniqueRecord};
use crate::view::unreadable;
use crate::{ExecutionId, Key, Namespace, Stop, UniqueKey, View};

/// Makes this the end of an execution.
pub(crate) fn finish(view: &mut View, execution: &mut Execution, finished: Finished) -> Result<(), Stop> {
    execution.changed_at = finished.at;
    execution.state = State::Finished(finished);
    if let Some(key) = &execution.unique_key
        && holder(view, &execution.namespace, key)? == Some(execution.id)
    {
        let record = UniqueRecord::freed(execution.id, execution.changed_at);
        view.put(Key::Unique(execution.namespace.clone(), key.clone()), Record::Unique(record))?;
    }
    Ok(())
}

/// The unfinished execution that a unique key stands for.
pub(crate) fn holder(view: &mut View, namespace: &Namespace, key: &UniqueKey) -> Result<Option<ExecutionId>, Stop> {
    let key = Key::Unique(namespace.clone(), key.clone());
    match view.get(&key)?.as_deref() {
        None => Ok(None),
        Some(Record::Unique(record)) => Ok(record.holder()),
        Some(_) => Err(unreadable(&key)),
    }
}

/// Makes a unique key stand for an execution until it ends.
pub(crate) fn hold(view: &mut View, execution: &Execution) -> Result<(), Stop> {
    let Some(key) = &execution.unique_key else { return Ok(()) };
    let record = Record::Unique(UniqueRecord::held(execution.id));
    view.put(Key::Unique(execution.namespace.clone(), key.clone()), record)
}
