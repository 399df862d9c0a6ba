//! What an execution remembers of itself is what the feed told about it, in its record and in the pages beside it.

use super::Change;
use onward_core::record::{Execution, Record, Transition};
use onward_core::{Event, ExecutionId, Key, What, limits};
use std::collections::BTreeMap;

/// Everything that was told about every execution.
#[derive(Debug, Default)]
pub(super) struct Chronicle {
    told: BTreeMap<ExecutionId, Vec<Transition>>,
    /// About those that were removed, in case the store goes back.
    gone: BTreeMap<ExecutionId, Vec<Transition>>,
}

impl Chronicle {
    /// What was told about an execution until it was like this.
    pub(super) fn until(&self, execution: &Execution) -> &[Transition] {
        let told = self.told.get(&execution.id).map_or(&[][..], Vec::as_slice);
        &told[..told.len().min(length(execution))]
    }

    pub(super) fn committed(&mut self, changes: &[Change], events: &[Event]) -> Result<(), String> {
        for event in events {
            // A removal is told to the world only: nobody is left to remember it. A signal is a record of its own.
            let is_line = !matches!(event.what, What::Purged | What::Signalled { .. });
            if let Some(id) = event.execution().filter(|_| is_line) {
                self.told.entry(id).or_default().push(Transition {
                    at: event.at,
                    by: event.by.clone(),
                    what: event.what.clone(),
                });
            }
        }
        for change in changes {
            match (&change.key, change.after.as_deref()) {
                (Key::Execution(id), None) => {
                    let told = self.told.remove(id).unwrap_or_default();
                    self.gone.insert(*id, told);
                }
                // What is being removed forgets.
                (Key::Execution(id), Some(Record::Execution(execution))) if !execution.is_purging() => {
                    let told = self.told.get(id).map_or(&[][..], Vec::as_slice);
                    if told.len() != length(execution) || !told.ends_with(&execution.history) {
                        return Err(format!("{id} remembers something else than was told about it"));
                    }
                }
                (Key::History(id, page), Some(Record::History(written))) => {
                    let begin = *page as usize * limits::HISTORY_PAGE;
                    let told = self.told.get(id).and_then(|told| told.get(begin..begin + limits::HISTORY_PAGE));
                    if told != Some(&written.transitions) {
                        return Err(format!("page {page} of {id} tells something else than was told about it"));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The store went back to an earlier state of these executions.
    pub(super) fn rolled_back(&mut self, changes: &[Change]) {
        for change in changes {
            let Key::Execution(id) = change.key else { continue };
            match change.after.as_deref() {
                // What is being removed has forgotten, and the store may go back behind that yet.
                Some(Record::Execution(execution)) if execution.is_purging() => {
                    if let Some(gone) = self.gone.remove(&id) {
                        self.told.insert(id, gone);
                    }
                }
                Some(Record::Execution(execution)) => {
                    let told = self.told.entry(id).or_default();
                    let remembers =
                        told.get(..length(execution)).is_some_and(|told| told.ends_with(&execution.history));
                    if !remembers && let Some(gone) = self.gone.remove(&id) {
                        *told = gone;
                    }
                    told.truncate(length(execution));
                }
                _ => {
                    self.told.remove(&id);
                }
            }
        }
    }
}

fn length(execution: &Execution) -> usize {
    execution.pages as usize * limits::HISTORY_PAGE + execution.history.len()
}
