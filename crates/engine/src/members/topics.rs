//! Topics of wake-ups: what a commit announces to other processes, and what they collect from it.

use crate::partition::batch::{Change, ready};
use crate::shared::Shared;
use crate::work::board::QueueKey;
use onward_core::index::DueKind;
use onward_core::record::{Execution, Record};
use onward_core::{Key, PartitionId, Span, index};
use onward_store::Wake;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;

/// A due time changed that the home of the partition may not know and will not read in time by itself.
const DUE: &str = "due";
/// A lane changed, or a queue was added.
const REGISTRY: &str = "registry";

/// The topics of a batch: ready queues with work not taken here, changes of lanes, new queues, and near due times.
pub(crate) fn of(shared: &Shared, partition: PartitionId, changes: &[Change]) -> Vec<String> {
    // Neighbouring changes mostly go to the same queue; one key is built for each run of them.
    let mut ready: Vec<&Execution> = changes.iter().filter_map(|change| ready(change.after.as_deref()?)).collect();
    ready.dedup_by(|one, other| {
        let queue = |of: &Execution| (of.namespace.clone(), of.lane.clone(), of.kind.clone());
        queue(one) == queue(other) && one.requires == other.requires
    });
    let queues: BTreeSet<QueueKey> = ready.into_iter().map(QueueKey::of).collect();
    let mut topics: Vec<String> = queues.iter().map(|queue| queue.index().as_str().to_owned()).collect();
    if changes.iter().any(|change| matches!(change.key, Key::LaneCopy(..)) || grew(change)) {
        topics.push(REGISTRY.to_owned());
    }
    if !shared.is_home(partition) || shared.unsure.load(Ordering::Relaxed) {
        let soon = shared.time.now() + Span(2 * shared.options.sweep_every.0);
        let falls_due = |change: &Change| {
            let awaited = |record: &Record| index::due_as(record).filter(|(kind, _)| *kind != DueKind::Housekeeping);
            let due = change.after.as_deref().and_then(awaited);
            due.is_some_and(|(_, due)| due <= soon) && due != change.before.as_deref().and_then(awaited)
        };
        if changes.iter().any(falls_due) {
            topics.push(DUE.to_owned());
        }
    }
    topics
}

/// Whether a change lists a queue that was not listed before.
fn grew(change: &Change) -> bool {
    let grown_at = |record: &Record| if let Record::Queues(registry) = record { Some(registry.grown_at) } else { None };
    let (before, after) = (change.before.as_deref().and_then(grown_at), change.after.as_deref().and_then(grown_at));
    after.is_some() && after != before
}

/// Wake-ups from other processes, merged.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Something unknown was committed.
    pub(crate) anything: bool,
    /// A lane changed, or a queue was added.
    pub(crate) registry: bool,
    /// Partitions with due times that may be unknown here.
    pub(crate) due: BTreeSet<PartitionId>,
    /// Ready queues with new work, and the partitions it is in.
    pub(crate) ready: BTreeMap<String, BTreeSet<PartitionId>>,
}

impl Heard {
    pub(crate) fn add(&mut self, wake: Wake) {
        let Some(partition) = wake.partition.map(|partition| PartitionId(partition.0)) else {
            self.anything = true;
            return;
        };
        for topic in wake.topics {
            match topic.as_str() {
                REGISTRY => self.registry = true,
                DUE => drop(self.due.insert(partition)),
                _ => drop(self.ready.entry(topic).or_default().insert(partition)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_store::Partition;

    #[test]
    fn hints_are_taken_together() {
        let mut heard = Heard::default();
        let hint = |partition: u16, topics: &[&str]| Wake {
            partition: Some(Partition(partition)),
            topics: topics.iter().map(|&topic| topic.to_owned()).collect(),
        };
        heard.add(hint(1, &[]));
        assert_eq!(heard, Heard::default(), "events have no topic");
        heard.add(hint(1, &["ready/a", DUE]));
        heard.add(hint(2, &["ready/a", REGISTRY]));
        assert_eq!(heard.ready, BTreeMap::from([("ready/a".to_owned(), [1, 2].map(PartitionId).into())]));
        assert_eq!((heard.registry, heard.due.len(), heard.anything), (true, 1, false));
        heard.add(Wake { partition: None, topics: Vec::new() });
        assert!(heard.anything);
    }
}
