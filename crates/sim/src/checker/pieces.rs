//! What stands beside an execution (payloads, ended attempts, pages of its history) and the unique key that stands for
//! it: written once, gone with it, and a key stands for nothing that has ended.

use super::{Change, Checker, Stage, execution};
use onward_core::record::{Record, State, StoredPayload};
use onward_core::{Event, ExecutionId, Key, Millis, PayloadSlot, What};
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
                _ => continue,
            };
            let owner = self.execution(id).map(Stage::of);
            let replayed = || events.iter().any(|e| e.execution == Some(id) && matches!(e.what, What::Replayed { .. }));
            let is_result = matches!(change.key, Key::Payload(_, PayloadSlot::Result));
            let right = match (&change.before, &change.after, owner) {
                (_, Some(_), None | Some(Stage::Purging(_) | Stage::Absent)) => false,
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

    /// A result stands beside an execution that has it, and beside no other.
    fn result_beside(&self, id: ExecutionId) -> Result<(), String> {
        let Some(execution) = self.execution(id).filter(|execution| !execution.is_purging()) else { return Ok(()) };
        let has = matches!(execution.result, Some(StoredPayload::Beside { .. }));
        if has == self.record(&Key::Payload(id, PayloadSlot::Result)).is_some() {
            return Ok(());
        }
        Err(format!("{id} has a result beside it that is not its own, or none"))
    }

    /// Only what has ended is removed, when somebody asked for it or its time was over.
    pub(super) fn removals(&self, changes: &[Change], events: &[Event], now: Millis) -> Result<(), String> {
        for id in events.iter().filter(|event| event.what == What::Purged).filter_map(|event| event.execution) {
            let change = changes.iter().find(|change| change.key == Key::Execution(id));
            let before = change.and_then(|change| execution(change.before.as_deref()));
            let kept_until = before.and_then(|before| match &before.state {
                State::Finished(finished) => Some(finished.at + before.policy.retention()),
                _ => None,
            });
            if !self.calls.is_unwanted(id) && kept_until.is_none_or(|until| now < until) {
                return Err(format!(
                    "{id} was removed at {now}, nobody wanted that, and it is kept until {kept_until:?}"
                ));
            }
        }
        Ok(())
    }

    /// A record that stands beside an execution, if there is one.
    fn beside(&self, id: ExecutionId) -> Option<&store::Key> {
        let first = store::Key::new(format!("{id}/"));
        self.mirror.range(first..).next().map(|(key, _)| key).filter(|key| key.as_str().starts_with(&format!("{id}/")))
    }

    /// Looks at the unique keys of the executions that a commit changed: each stands for the one that has not ended.
    pub(super) fn unique_keys(&self, changes: &[Change]) -> Result<(), String> {
        for change in changes {
            let name = match (&change.key, change.after.as_deref().or(change.before.as_deref())) {
                (Key::Execution(_), Some(Record::Execution(execution))) => match &execution.unique_key {
                    Some(key) => (&execution.namespace, key),
                    None => continue,
                },
                (Key::Unique(namespace, key), _) => (namespace, key),
                _ => continue,
            };
            let held = Key::Unique(name.0.clone(), name.1.clone());
            let holder = match self.record(&held) {
                Some(Record::Unique(record)) => record.holder(),
                _ => None,
            };
            let unfinished = |id: ExecutionId| {
                self.execution(id).is_some_and(|execution| {
                    execution.unique_key.as_ref() == Some(name.1) && Stage::of(execution).is_unfinished()
                })
            };
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

    /// At rest nothing stands beside what is gone.
    pub(super) fn nothing_left(&self) -> Result<(), String> {
        for seen in self.mirror.values() {
            let (Key::Attempt(id, _) | Key::Payload(id, _) | Key::History(id, _)) = seen.key else { continue };
            if self.execution(id).is_none() {
                return Err(format!("{} was left behind", seen.key));
            }
        }
        Ok(())
    }
}
