//! Unique keys: each stands for one execution that has not ended, or for none.

use super::{Change, Checker, Stage, execution};
use onward_core::record::{Execution, Record};
use onward_core::{ExecutionId, Key};

impl Checker {
    /// Looks at the unique keys of the executions that a commit changed: each stands for the one that has not ended.
    pub(super) fn unique_keys(&self, changes: &[Change]) -> Result<(), String> {
        for change in changes {
            let changed = execution(change.after.as_deref().or(change.before.as_deref()));
            let (namespace, key) = match (&change.key, changed) {
                (Key::Execution(_), Some(Execution { namespace, unique_key: Some(key), .. })) => (namespace, key),
                (Key::Unique(namespace, key), _) => (namespace, key),
                _ => continue,
            };
            let held = Key::Unique(namespace.clone(), key.clone());
            let holder = match self.record(&held) {
                Some(Record::Unique(record)) => record.holder(),
                _ => None,
            };
            let stands = |x: &Execution| x.unique_key.as_ref() == Some(key) && Stage::of(x).is_unfinished();
            let unfinished = |id: ExecutionId| self.execution(id).is_some_and(stands);
            if let Some(holder) = holder.filter(|holder| !unfinished(*holder)) {
                return Err(format!("{held} stands for {holder}, which has ended"));
            }
            if let Key::Execution(id) = change.key
                && unfinished(id)
                && holder != Some(id)
            {
                return Err(format!("{held} stands for {holder:?} and {id} has not ended"));
            }
        }
        Ok(())
    }
}
