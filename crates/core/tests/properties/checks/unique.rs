//! The invariant of unique keys: each stands for exactly the one unfinished execution that was submitted under it.

use super::Change;
use onward_core::Key;
use onward_core::record::{Record, State};

/// A unique key stands for exactly the one unfinished execution that was submitted under it.
pub(super) fn unique_keys(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        let Some(unique) = &execution.unique_key else { continue };
        let record = change.after.record(&Key::Unique(execution.namespace.clone(), unique.clone()));
        let held = matches!(record, Some(Record::Unique(record)) if record.holder() == Some(execution.id));
        assert_eq!(held, !matches!(execution.state, State::Finished(_)), "{:?} for {:?}", record, execution.state);
    }
    for (key, record) in &change.after.records {
        let Record::Unique(record) = &**record else { continue };
        let Some(holder) = record.holder() else { continue };
        let unfinished = change.after.find(holder).is_some_and(|holder| !matches!(holder.state, State::Finished(_)));
        assert!(unfinished, "{key} stands for what has ended");
    }
}
