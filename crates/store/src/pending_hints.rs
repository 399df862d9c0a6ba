//! Hints that are not sent to other processes yet: merged by partition, so that many commits make one hint.
//!
//! A topic may name something: `topic=name`. Of one topic a hint carries some names of each partition; beyond that it
//! carries the topic alone, which says that there were too many to name.

use crate::{Batch, Partition};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Minimum time between two hints; what is committed meanwhile goes into the second one.
pub(crate) const MERGED_OVER: Duration = Duration::from_millis(20);
/// Maximum number of topics per partition and bytes per topic; beyond them the hint names no partition and no topics.
const TOPICS_MAX: usize = 16;
const TOPIC_BYTES_MAX: usize = 256;
/// Names of one topic per partition, and bytes of all names of a partition: with the topics they fit one payload.
const NAMES_MAX: usize = 32;
const NAMED_BYTES_MAX: usize = 2_800;
/// Stands between a topic and a name.
const NAMES: char = '=';

/// Topics of the commits of each partition; `None` when there are too many to send.
#[derive(Debug, Default)]
pub(crate) struct PendingHints(BTreeMap<Partition, Option<Topics>>);

/// The topics of one partition.
#[derive(Debug, Default)]
pub(crate) struct Topics {
    plain: BTreeSet<String>,
    /// Topics that name something, by what stands before the name; empty when there are too many names.
    named: BTreeMap<String, BTreeSet<String>>,
    named_bytes: usize,
}

impl Topics {
    /// Adds a topic; false when there are too many.
    fn add(&mut self, topic: &str) -> bool {
        let named = topic.split_once(NAMES).map(|(topic, _)| topic);
        match named {
            Some(of) => self.add_named(of, topic),
            // Most commits have the topics of those before them. All names of a topic are said by the topic alone.
            None if self.named.contains_key(topic) => self.drop_names(topic),
            None if !self.plain.contains(topic) => drop(self.plain.insert(topic.to_owned())),
            None => {}
        }
        self.plain.len() + self.named.len() <= TOPICS_MAX
    }

    fn add_named(&mut self, of: &str, topic: &str) {
        if self.plain.contains(of) {
            return;
        }
        if !self.named.contains_key(of) {
            self.named.insert(of.to_owned(), BTreeSet::new());
        }
        let Some(names) = self.named.get_mut(of) else { return };
        if names.contains(topic) {
            return;
        }
        if names.len() >= NAMES_MAX || self.named_bytes + topic.len() + 1 > NAMED_BYTES_MAX {
            return self.drop_names(of);
        }
        self.named_bytes += topic.len() + 1;
        names.insert(topic.to_owned());
    }

    /// Says a topic without what it names.
    fn drop_names(&mut self, of: &str) {
        if let Some((of, names)) = self.named.remove_entry(of) {
            self.named_bytes -= names.iter().map(|topic| topic.len() + 1).sum::<usize>();
            self.plain.insert(of);
        }
    }

    /// The topics; in brief, those that name something say that there were too many.
    pub(crate) fn iter(&self, brief: bool) -> impl Iterator<Item = &str> {
        let named = self.named.iter().flat_map(move |(of, names)| {
            let (alone, all) = if brief { (Some(of.as_str()), None) } else { (None, Some(names)) };
            alone.into_iter().chain(all.into_iter().flatten().map(String::as_str))
        });
        self.plain.iter().map(String::as_str).chain(named)
    }
}

impl PendingHints {
    /// Adds the topics of a batch that was committed.
    pub(crate) fn add(&mut self, batch: &Batch) {
        let pending = self.0.entry(batch.partition).or_insert_with(|| Some(Topics::default()));
        let Some(topics) = pending else { return };
        let is_plain = |topic: &str| topic.len() < TOPIC_BYTES_MAX && !topic.contains(char::is_control);
        if !batch.wake.iter().all(|topic| is_plain(topic) && topics.add(topic)) {
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
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Partition, Option<&Topics>)> {
        self.0.iter().map(|(partition, topics)| (*partition, topics.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Version;

    fn add(pending: &mut PendingHints, partition: u16, topics: impl IntoIterator<Item = String>) {
        let mut batch = Batch::new(Partition(partition), Version(1));
        batch.wake = topics.into_iter().collect();
        pending.add(&batch);
    }

    fn topics(pending: &PendingHints, brief: bool) -> Vec<(u16, Option<Vec<&str>>)> {
        pending.iter().map(|(at, topics)| (at.0, topics.map(|topics| topics.iter(brief).collect()))).collect()
    }

    #[test]
    fn commits_of_a_partition_make_one_hint() {
        let mut pending = PendingHints::default();
        let texts = |topics: &[&str]| topics.iter().map(|&topic| topic.to_owned()).collect::<Vec<_>>();
        for (partition, topics) in [
            (1, texts(&["b", "a"])),
            (2, texts(&["tab\t"])),
            (1, texts(&["a"])),
            (3, texts(&[])),
            (2, texts(&["a"])),
            (4, texts(&["x"; TOPICS_MAX + 1])),
            (5, (0..=TOPICS_MAX).map(|topic| topic.to_string()).collect()),
        ] {
            add(&mut pending, partition, topics);
        }
        let taken = pending.take();
        assert!(pending.is_empty());
        let taken: Vec<_> =
            topics(&taken, false).into_iter().map(|(at, topics)| (at, topics.map(|all| all.len()))).collect();
        assert_eq!(taken, [(1, Some(2)), (2, None), (3, Some(0)), (4, Some(1)), (5, None)]);
    }

    #[test]
    fn too_many_names_are_said_by_their_topic_alone() {
        let mut pending = PendingHints::default();
        let name = |name: usize| format!("some={name:02}");
        for at in 0..NAMES_MAX {
            add(&mut pending, 1, [name(at), name(0), "other=a=b".to_owned(), "plain".to_owned()]);
        }
        let all: Vec<String> = (0..NAMES_MAX).map(name).collect();
        let mut expected = vec!["plain", "other=a=b"];
        expected.extend(all.iter().map(String::as_str));
        assert_eq!(topics(&pending, false), [(1, Some(expected))]);
        assert_eq!(topics(&pending, true), [(1, Some(vec!["plain", "other", "some"]))]);
        add(&mut pending, 1, [name(99)]);
        add(&mut pending, 1, [name(1), "other".to_owned()]);
        assert_eq!(topics(&pending, false), [(1, Some(vec!["other", "plain", "some"]))], "and it stays so");
    }

    #[test]
    fn names_are_bounded_in_bytes() {
        let mut pending = PendingHints::default();
        for at in 0..2 * NAMES_MAX {
            add(&mut pending, 1, [format!("t{}={}", at % 3, format!("{at}").repeat(60))]);
        }
        let bytes: usize = topics(&pending, false)[0].1.iter().flatten().map(|topic| topic.len() + 1).sum();
        assert!(bytes <= NAMED_BYTES_MAX + 3 * TOPIC_BYTES_MAX, "{bytes}");
        assert!(pending.iter().all(|(_, topics)| topics.is_some_and(|topics| topics.named_bytes <= NAMED_BYTES_MAX)));
    }
}
