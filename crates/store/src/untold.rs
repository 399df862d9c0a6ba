//! What was committed here and other processes have not been told yet: merged, so that many commits make one hint.

use crate::{Batch, Partition};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// After a hint, the next one waits for this long and takes along what is committed meanwhile.
pub(crate) const MERGED_OVER: Duration = Duration::from_millis(20);
/// The most topics of one partition that are told, and how long one may be; beyond it the hint names no place.
const TOPICS_MAX: usize = 16;
const TOPIC_BYTES_MAX: usize = 256;

/// For each partition with commits their topics, or nothing when there are too many to tell.
#[derive(Debug, Default)]
pub(crate) struct Untold(BTreeMap<Partition, Option<BTreeSet<String>>>);

impl Untold {
    /// A batch was committed.
    pub(crate) fn add(&mut self, batch: &Batch) {
        let told = self.0.entry(batch.partition).or_insert_with(|| Some(BTreeSet::new()));
        let Some(topics) = told else { return };
        let is_plain = |topic: &String| topic.len() < TOPIC_BYTES_MAX && !topic.contains(char::is_control);
        if !batch.wake.iter().all(is_plain) {
            *told = None;
            return;
        }
        for topic in &batch.wake {
            // Most commits tell what others told before.
            if !topics.contains(topic) {
                topics.insert(topic.clone());
            }
        }
        if topics.len() > TOPICS_MAX {
            *told = None;
        }
    }

    /// What was taken along for others was perhaps not told; the next hint names no place instead.
    #[cfg(feature = "valkey")]
    pub(crate) fn blur(&mut self, partition: Partition) {
        self.0.insert(partition, None);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of it, which is told from now on.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// Each partition with its topics, as far as they can be told.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Partition, Option<&BTreeSet<String>>)> {
        self.0.iter().map(|(partition, topics)| (*partition, topics.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Version;

    #[test]
    fn commits_of_a_partition_are_told_once() {
        let mut untold = Untold::default();
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
            untold.add(&batch);
        }
        let mut many = Batch::new(Partition(5), Version(1));
        many.wake = (0..=TOPICS_MAX).map(|topic| topic.to_string()).collect();
        untold.add(&many);
        let told = untold.take();
        assert!(untold.is_empty());
        let told: Vec<_> = told.iter().map(|(at, topics)| (at.0, topics.map(|topics| topics.len()))).collect();
        assert_eq!(told, [(1, Some(2)), (2, None), (3, Some(0)), (4, Some(1)), (5, None)]);
    }
}
