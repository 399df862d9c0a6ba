//! What every execution has been: a read shows a version that was the newest one at some moment while it was under way.

use super::{Change, execution};
use onward_core::record::{Execution, Record, State};
use onward_core::{ExecutionId, Key, LeaseId, Namespace, UniqueKey};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A version with the number of the commit that made it; `None` when the execution was gone.
type Version = (u64, Option<Arc<Record>>);

/// Every version of every execution, in order.
#[derive(Debug, Default)]
pub(super) struct Past(BTreeMap<ExecutionId, Vec<Version>>);

impl Past {
    pub(super) fn note(&mut self, seq: u64, changes: &[Change]) {
        for change in changes {
            if let Key::Execution(id) = change.key {
                self.0.entry(id).or_default().push((seq, change.after.clone()));
            }
        }
    }

    /// The execution as it was created.
    pub(super) fn first(&self, id: ExecutionId) -> Option<&Execution> {
        self.0.get(&id)?.iter().find_map(|(_, record)| execution(record.as_deref()))
    }

    /// Whether an execution ever was like this.
    pub(super) fn any(&self, id: ExecutionId, like: impl Fn(&Execution) -> bool) -> bool {
        let versions = self.0.get(&id).into_iter().flatten();
        versions.filter_map(|(_, record)| execution(record.as_deref())).any(like)
    }

    /// The executions that were submitted with a unique key.
    pub(super) fn with_unique_key(&self, namespace: &Namespace, key: &UniqueKey) -> Vec<ExecutionId> {
        let has = |first: &Execution| (&first.namespace, first.unique_key.as_ref()) == (namespace, Some(key));
        self.0.keys().filter(|id| self.first(**id).is_some_and(has)).copied().collect()
    }

    /// What an execution was at any time since a commit.
    pub(super) fn since(&self, id: ExecutionId, since: u64) -> impl Iterator<Item = &Execution> {
        let versions = self.0.get(&id).map_or(&[][..], Vec::as_slice);
        let first = versions.iter().rposition(|(seq, _)| *seq <= since);
        versions[first.unwrap_or(0)..].iter().filter_map(|(_, record)| execution(record.as_deref()))
    }

    /// The life in which a lease was held, as far as a version shows it.
    pub(super) fn life_under(&self, id: ExecutionId, lease: LeaseId) -> Option<u32> {
        let versions = self.0.get(&id).into_iter().flatten().rev();
        let mut held = versions.filter_map(|(_, record)| execution(record.as_deref()));
        let is_held = |x: &&Execution| matches!(&x.state, State::Active(active) if active.lease.id == lease);
        held.find(is_held).map(|x| x.life)
    }

    /// Whether this is what an execution was at any time since a commit.
    pub(super) fn was(&self, id: ExecutionId, since: u64, found: Option<&Execution>) -> bool {
        let Some(versions) = self.0.get(&id) else { return found.is_none() };
        let first = versions.iter().rposition(|(seq, _)| *seq <= since);
        let absent_first = first.is_none() && found.is_none();
        absent_first || versions[first.unwrap_or(0)..].iter().any(|(_, record)| execution(record.as_deref()) == found)
    }

    /// Whether a commit behind this one changed an execution so.
    pub(super) fn changed_since(
        &self,
        id: ExecutionId,
        since: u64,
        so: impl Fn(&Execution, &Execution) -> bool,
    ) -> bool {
        let versions = self.0.get(&id).map_or(&[][..], Vec::as_slice);
        versions.windows(2).filter(|pair| pair[1].0 > since).any(|pair| {
            let [before, after] = [&pair[0], &pair[1]].map(|(_, record)| execution(record.as_deref()));
            before.zip(after).is_some_and(|(before, after)| so(before, after))
        })
    }

    /// The executions that existed when a commit was the newest one, as they were created.
    pub(super) fn existing(&self, at: u64) -> impl Iterator<Item = &Execution> {
        self.0.values().filter_map(move |versions| {
            let (_, newest) = versions.iter().rfind(|(seq, _)| *seq <= at)?;
            execution(newest.as_deref())
        })
    }
}
