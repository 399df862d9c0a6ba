//! Which server keys a store has, and how they spread over a cluster.
//!
//! Partitions share one or a few hash tags, so that reading all of them costs few calls instead of one for each. Every tag has
//! one hash of records and one sorted set of places; each partition has a stream of events, each log a sorted set.

use crate::{Key, Partition, Partitions};
use std::ops::Range;

/// The slots of a cluster.
pub(super) const SLOTS: u16 = 16_384;
/// The tags of a store that is made in a cluster: this many primaries share the work evenly, and a scan is one call for each.
const TAGS_IN_CLUSTER: u16 = 16;
/// The tags of a store that is made on one server: one call for a scan, and as many commits in one as wait. Moved into a
/// cluster, it stays on one primary.
const TAGS_ON_ONE: u16 = 1;
/// Partitions that share a tag in stores too small for all tags, so that a key asked in the wrong partition is noticed there.
const SHARING_MIN: u16 = 4;

/// How many tags a new store gets, for ever.
pub(super) fn tag_count(partitions: u16, cluster: bool) -> u16 {
    let most = if cluster { TAGS_IN_CLUSTER } else { TAGS_ON_ONE };
    partitions.div_ceil(SHARING_MIN).clamp(1, most)
}

/// The keys of one store.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    pub(super) partitions: u16,
    tags: Vec<Tag>,
}

/// One hash tag and the keys that have it.
#[derive(Debug, Clone)]
pub(super) struct Tag {
    pub(super) slot: u16,
    pub(super) records: String,
    pub(super) index: String,
    pub(super) channel: String,
    /// Written by a call that only checks, where replicas are waited for.
    pub(super) marker: String,
    stem: String,
}

impl Keys {
    pub(super) fn new(prefix: &str, partitions: u16, count: u16) -> Self {
        let tags = tags(count).into_iter().map(|name| Tag::new(prefix, &name)).collect();
        Self { partitions, tags }
    }

    pub(super) fn tags(&self) -> &[Tag] {
        &self.tags
    }

    /// Which tag a partition has: neighbours share one.
    pub(super) fn at(&self, partition: Partition) -> usize {
        usize::from(partition.0) * self.tags.len() / usize::from(self.partitions)
    }

    pub(super) fn tag(&self, partition: Partition) -> &Tag {
        &self.tags[self.at(partition)]
    }

    /// The partitions that share a tag.
    pub(super) fn sharing(&self, tag: usize) -> Range<u16> {
        let first = |tag: usize| (tag * usize::from(self.partitions)).div_ceil(self.tags.len());
        let number = |at: usize| u16::try_from(at).unwrap_or(self.partitions);
        number(first(tag))..number(first(tag + 1))
    }

    /// The tags that a read of these partitions has to ask, and whether it wants all that is there.
    pub(super) fn asked(&self, partitions: &Partitions) -> Vec<(usize, bool)> {
        let tags = 0..self.tags.len();
        let wanted = |tag: usize| self.sharing(tag).filter(|&at| partitions.contains(Partition(at))).count();
        match partitions {
            Partitions::All => tags.map(|tag| (tag, true)).collect(),
            Partitions::Some(_) => tags
                .map(|tag| (tag, wanted(tag)))
                .filter(|(_, wanted)| *wanted > 0)
                .map(|(tag, wanted)| (tag, wanted == self.sharing(tag).len()))
                .collect(),
        }
    }

    pub(super) fn feed(&self, partition: Partition) -> String {
        format!("{}f{partition}", self.tag(partition).stem)
    }

    pub(super) fn log(&self, partition: Partition, log: &Key) -> String {
        format!("{}l:{log}", self.tag(partition).stem)
    }
}

impl Tag {
    fn new(prefix: &str, name: &str) -> Self {
        let stem = format!("{prefix}:{{{name}}}:");
        let key = |end: &str| format!("{stem}{end}");
        let (records, index, channel, marker) = (key("r"), key("i"), key("w"), key("m"));
        Self { slot: slot(name.as_bytes()), records, index, channel, marker, stem }
    }
}

/// The key that says what the store under a prefix is; older and newer layouts must find it under the same name.
pub(super) fn meta(prefix: &str) -> String {
    format!("{prefix}:meta")
}

/// The smallest numbers of which each falls into another of `count` equal parts of the slots, in the order of the slots.
fn tags(count: u16) -> Vec<String> {
    let mut found: Vec<Option<String>> = vec![None; usize::from(count)];
    for number in 0_u32.. {
        if found.iter().all(Option::is_some) {
            break;
        }
        let name = number.to_string();
        let part = u32::from(slot(name.as_bytes())) * u32::from(count) / u32::from(SLOTS);
        if let Some(part) = found.get_mut(part as usize) {
            part.get_or_insert(name);
        }
    }
    found.into_iter().flatten().collect()
}

/// The slot of a key without braces, or of the text inside them: CRC16 (XMODEM) of it.
pub(super) fn slot(text: &[u8]) -> u16 {
    let mut crc: u16 = 0;
    for &byte in text {
        crc ^= u16::from(byte) << 8;
        for _ in 0..8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
        }
    }
    crc % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_the_servers() {
        assert_eq!((slot(b"foo"), slot(b"bar"), slot(b"123456789")), (12_182, 5_061, 12_739));
    }

    #[test]
    fn tags_spread_evenly_and_partitions_over_them() {
        for partitions in [1, 3, 4, 5, 7, 63, 64, 65, 100, 4096] {
            let keys = Keys::new("p", partitions, tag_count(partitions, true));
            let count = keys.tags.len();
            for (at, tag) in keys.tags.iter().enumerate() {
                assert_eq!(usize::from(tag.slot) * count / usize::from(SLOTS), at);
                let sharing = keys.sharing(at);
                assert!(sharing.len() >= usize::from(partitions) / count, "{partitions}: {sharing:?}");
                assert!(sharing.len() <= usize::from(partitions).div_ceil(count), "{partitions}: {sharing:?}");
                assert!(sharing.clone().all(|partition| keys.at(Partition(partition)) == at));
            }
            assert_eq!(keys.sharing(count - 1).end, partitions);
        }
        assert_eq!((tag_count(64, true), tag_count(64, false), tag_count(4, true), tag_count(1, false)), (16, 1, 1, 1));
    }

    #[test]
    fn a_read_asks_only_where_its_partitions_are() {
        let keys = Keys::new("p", 64, 16);
        let some = |list: &[u16]| Partitions::Some(list.iter().copied().map(Partition).collect());
        assert_eq!(keys.asked(&Partitions::All).len(), 16);
        assert_eq!(keys.asked(&some(&[])), []);
        assert_eq!(keys.asked(&some(&[0, 1, 2, 3, 9])), [(0, true), (2, false)]);
    }
}
