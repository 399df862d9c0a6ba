//! Hints that are not sent to other processes yet: merged by partition, so that many commits make one hint.

use crate::{Batch, Partition};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Minimum time between two hints; what is committed meanwhile goes into the second one.
pub(crate) const MERGED_OVER: Duration = Duration::from_millis(20);
/// Maximum number of topics per partition and bytes per topic; beyond them the hint names no partition and no topics.
const TOPICS_MAX: usize = 16;
const TOPIC_BYTES_MAX: usize = 256;

/// Topics of the commits of each partition; `None` when there are too many to send.
#[derive(Debug, Default)]
pub(crate) struct PendingHints(BTreeMap<Partition, Option<BTreeSet<String>>>);

impl PendingHints {
    /// Adds the topics of a batch that was committed.
    pub(crate) fn add(&mut self, batch: &Batch) {
        let pending = self.0.entry(batch.partition).or_insert_with(|| Some(BTreeSet::new()));
        let Some(topics) = pending else { return };
        let is_plain = |topic: &String| topic.len() < TOPIC_BYTES_MAX && !topic.contains(char::is_control);
        if !batch.wake.iter().all(is_plain) {
            *pending = None;
            return;
        }
        for topic in &batch.wake {
            // Most commits have the topics of those before them.
            if !topics.contains(topic) {
                topics.insert(topic.clone());
            }
        }
        if topics.len() > TOPICS_MAX {
            *pending = None;
        }
    }

    /// A hint may be lost: the next one names no partition and no topics, so that receivers check everything.
    #[cfg(feature = "valkey")]
    pub(crate) fn blur(&mut self, partition: Partition) {
        self.0.insert(partition, None);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes all hints, to send them.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Each partition with its topics, or `None` when there are too many.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Partition, Option<&BTreeSet<String>>)> {
        self.0.iter().map(|(partition, topics)| (*partition, topics.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Version;

    #[test]
    fn commits_of_a_partition_make_one_hint() {
        let mut pending = PendingHints::default();
        for (partition, topics) in [
            (1, vec!["b", "a"]),
            (2, vec!["tab\t"]),
            (1, vec!["a"]),
            (3, vec![]),
            (2, vec!["a"]),
            (4, vec!["x"; TOPICS_MAX + 1]),
        ] {
            let mut batch = Batch::new(Partition(partition), Version(1));
            batch.wake = topics.into_iter().map(str::to_owned).collect();
            pending.add(&batch);
        }
        let mut many = Batch::new(Partition(5), Version(1));
        many.wake = (0..=TOPICS_MAX).map(|topic| topic.to_string()).collect();
        pending.add(&many);
        let taken = pending.take();
        assert!(pending.is_empty());
        let taken: Vec<_> = taken.iter().map(|(at, topics)| (at.0, topics.map(|topics| topics.len()))).collect();
        assert_eq!(taken, [(1, Some(2)), (2, None), (3, Some(0)), (4, Some(1)), (5, None)]);
    }
}
