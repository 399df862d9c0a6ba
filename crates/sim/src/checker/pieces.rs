//! What stands beside an execution (payloads, ended attempts, pages of its history, signals, waits that are over): written
//! once and gone before it.

use super::{Change, Checker, Stage};
use onward_core::record::{Record, StoredPayload};
use onward_core::{Event, ExecutionId, Key, PayloadSlot, What};
use onward_store as store;

impl Checker {
    /// Looks at the pieces that a commit changed.
    pub(super) fn pieces(&self, changes: &[Change], events: &[Event]) -> Result<(), String> {
        for change in changes {
            let id = match change.key {
                Key::Execution(id) => {
                    if change.after.is_none()
                        && let Some(left) = self.beside(id)
                    {
                        return Err(format!("{id} was removed before {left}"));
                    }
                    self.result_beside(id)?;
                    continue;
                }
                Key::Attempt(id, _) | Key::Payload(id, _) | Key::History(id, _) => id,
                Key::Signal(id, _) | Key::Wait(id, _) => id,
                Key::Errand(id, _) => {
                    self.errand(id, change)?;
                    continue;
                }
                _ => continue,
            };
            let owner = self.execution(id).map(Stage::of);
            let replayed =
                || events.iter().any(|e| e.execution() == Some(id) && matches!(e.what, What::Replayed { .. }));
            let is_result = matches!(change.key, Key::Payload(_, PayloadSlot::Result));
            // Purged in the commit that ended it, or that began an attempt of it.
            let lived = || events.iter().any(|e| e.execution() == Some(id) && e.what != What::Purged);
            let right = match (&change.before, &change.after, owner) {
                (None, Some(_), Some(Stage::Purging(_))) => lived(),
                // Another process may touch what is still to be removed.
                (Some(before), Some(after), Some(Stage::Purging(_))) => before == after,
                (_, Some(_), None | Some(Stage::Absent)) => false,
                // The result of one life may give way to that of the next within one commit.
                (Some(before), Some(after), _) => before == after || (is_result && replayed()),
                (None, Some(_), _) | (_, None, None | Some(Stage::Purging(_))) => true,
                (_, None, Some(_)) => is_result && replayed(),
            };
            if !right {
                return Err(format!("{} was written or removed at the wrong time", change.key));
            }
        }
        Ok(())
    }

    /// An errand is for something that is being removed, counts down what is left of it, and goes with the last of it.
    fn errand(&self, id: ExecutionId, change: &Change) -> Result<(), String> {
        let left = |record: Option<&Record>| if let Some(Record::Errand(errand)) = record { errand.left } else { 0 };
        let (before, after) = (left(change.before.as_deref()), left(change.after.as_deref()));
        let parts = self.beside(id).is_some_and(|key| !key.as_str().contains("/e/"));
        match (&change.before, &change.after) {
            (None, Some(_)) if self.execution(id).is_none_or(|execution| !execution.is_purging()) => {
                Err(format!("{} is for nothing that is being removed", change.key))
            }
            (Some(_), Some(_)) if after > before => Err(format!("{} went from {before} to {after}", change.key)),
            (Some(_), None) if parts => Err(format!("{} ended before it was done", change.key)),
            _ => Ok(()),
        }
    }

    /// A result stands beside an execution that has it, and beside no other.
    fn result_beside(&self, id: ExecutionId) -> Result<(), String> {
        let Some(execution) = self.execution(id).filter(|execution| !execution.is_purging()) else { return Ok(()) };
        let has = matches!(execution.result, Some(StoredPayload::Beside { .. }));
        if has == self.record(&Key::Payload(id, PayloadSlot::Result)).is_some() {
            return Ok(());
        }
        Err(format!("{id} has a result beside it that is not its own, or none"))
    }

    /// A record that stands beside an execution, if there is one.
    fn beside(&self, id: ExecutionId) -> Option<&store::Key> {
        let first = store::Key::new(format!("{id}/"));
        self.mirror.range(first..).next().map(|(key, _)| key).filter(|key| key.as_str().starts_with(&format!("{id}/")))
    }

    /// At rest nothing stands beside what is gone.
    pub(super) fn nothing_left(&self) -> Result<(), String> {
        for seen in self.mirror.values() {
            let id = match seen.key {
                Key::Attempt(id, _) | Key::Payload(id, _) | Key::History(id, _) | Key::Errand(id, _) => id,
                Key::Signal(id, _) | Key::Wait(id, _) => id,
                _ => continue,
            };
            if self.execution(id).is_none() {
                return Err(format!("{} was left behind", seen.key));
            }
        }
        Ok(())
    }
}
