//! Records this process has seen, with their versions: a bounded hint that saves reads.
//!
//! Two generations approximate a least-recently-used order: a used record moves to the young one, and when that is full
//! the old one is dropped.

use crate::binding::Loaded;
use crate::lookup::Lookup;
use onward_core::record::Record;
use onward_core::{Key, Source};
use onward_store::Version;
use std::sync::Arc;

/// The cached records of one partition.
#[derive(Debug)]
pub(crate) struct Cache {
    young: Lookup<Key, Loaded>,
    old: Lookup<Key, Loaded>,
    young_bytes: usize,
    records_max: usize,
    bytes_max: usize,
}

impl Cache {
    pub(crate) fn new(records_max: usize, bytes_max: usize) -> Self {
        Self { young: Lookup::default(), old: Lookup::default(), young_bytes: 0, records_max, bytes_max }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Loaded> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    pub(crate) fn insert(&mut self, key: Key, loaded: Loaded) {
        self.old.remove(&key);
        self.young_bytes += loaded.bytes;
        if let Some(before) = self.young.insert(key, loaded) {
            self.young_bytes -= before.bytes;
        }
    }

    /// Moves what a batch has just used to the young generation, and drops the old one when the young one is full.
    /// Called only between batches, so that nothing a batch relies on is dropped for room while it is prepared.
    pub(crate) fn touch<'a>(&mut self, keys: impl Iterator<Item = &'a Key>) {
        for key in keys {
            if let Some((key, loaded)) = self.old.remove_entry(key) {
                self.young_bytes += loaded.bytes;
                self.young.insert(key, loaded);
            }
        }
        if self.young.len() > self.records_max || self.young_bytes > self.bytes_max {
            std::mem::swap(&mut self.old, &mut self.young);
            self.young.clear();
            self.young_bytes = 0;
        }
    }

    pub(crate) fn remove(&mut self, key: &Key) {
        self.old.remove(key);
        if let Some(before) = self.young.remove(key) {
            self.young_bytes -= before.bytes;
        }
    }

    /// Removes what the commit `version` was to write; a record cached as absent may be its deletion.
    pub(crate) fn remove_version(&mut self, key: &Key, version: Version) {
        if self.get(key).is_some_and(|loaded| loaded.version == Some(version) || loaded.version.is_none()) {
            self.remove(key);
        }
    }
}

impl Source for Cache {
    fn find(&self, key: &Key) -> Option<Option<Arc<Record>>> {
        self.get(key).map(|loaded| loaded.record.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_core::PartitionId;

    #[test]
    fn it_stays_bounded_and_keeps_what_is_used() {
        let key = |n: u64| Key::Message(PartitionId(0), PartitionId(1), n);
        let mut cache = Cache::new(8, usize::MAX);
        for n in 0..100 {
            cache.insert(key(n), Loaded::ABSENT);
            cache.touch([&key(0)].into_iter());
            assert!(cache.young.len() + cache.old.len() <= 18);
            assert!(cache.get(&key(0)).is_some(), "used again and again");
        }
        assert!(cache.get(&key(1)).is_none());
    }
}
