//! Unique keys: each stands for one unfinished execution.

use crate::record::{Execution, Record, UniqueRecord};
use crate::view::unreadable;
use crate::{ExecutionId, Key, Namespace, Stop, UniqueKey, View};

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

/// Frees the unique key of an execution that has ended.
pub(crate) fn free(view: &mut View, execution: &Execution) -> Result<(), Stop> {
    if let Some(key) = &execution.unique_key
        && holder(view, &execution.namespace, key)? == Some(execution.id)
    {
        let record = UniqueRecord::freed(execution.id, execution.changed_at);
        view.put(Key::Unique(execution.namespace.clone(), key.clone()), Record::Unique(record))?;
    }
    Ok(())
}
