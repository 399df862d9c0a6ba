//! A cache of where records are listed, so that a store knows what a write changes in the indexes without asking its server.
//!
//! A version is written once, so what is cached of it stays true whatever happens to the record later.

use crate::cost::lacking;
use crate::{Entry, IndexPlace, Key, Mend, Millis, Record, Version};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

/// Records per generation. When it is full, the records of the generation before it are dropped unless they were used since.
const GENERATION_MAX: usize = 16_384;

/// The places of a record in one version.
#[derive(Debug)]
pub(crate) struct VersionPlaces {
    pub(crate) version: Version,
    pub(crate) entries: Vec<Entry>,
    pub(crate) due: Option<Millis>,
}

/// The places of the records that were read or written last. Keys made to collide meet a hasher with a different seed in every
/// process, and at most two generations of keys.
#[derive(Debug, Default)]
pub(crate) struct PlaceCache {
    young: HashMap<Key, Arc<VersionPlaces>, RandomState>,
    old: HashMap<Key, Arc<VersionPlaces>, RandomState>,
}

impl PlaceCache {
    /// Caches the places of a record in its version.
    pub(crate) fn learn(&mut self, record: &Record) {
        let places = VersionPlaces { version: record.version, entries: record.entries.clone(), due: record.due };
        self.insert(record.key.clone(), Arc::new(places));
    }

    /// Drops a record that is gone.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.young.remove(key);
        self.old.remove(key);
    }

    /// The places of a record in this version, if they are cached. A record that is found stays for another generation.
    pub(crate) fn find(&mut self, key: &Key, version: Version) -> Option<Arc<VersionPlaces>> {
        if let Some(places) = self.old.remove(key) {
            // What was cached later is in the younger generation.
            if !self.young.contains_key(key) {
                self.insert(key.clone(), places);
            }
        }
        self.young.get(key).filter(|places| places.version == version).cloned()
    }

    fn insert(&mut self, key: Key, places: Arc<VersionPlaces>) {
        if self.young.len() >= GENERATION_MAX {
            mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.young.insert(key, places);
    }
}

/// The places that a record loses and gains when it replaces the one before it, or is deleted.
pub(crate) fn changes(key: &Key, was: Option<&VersionPlaces>, new: Option<&Record>) -> Vec<Mend> {
    let (before, due_before) = was.map_or((&[][..], None), |was| (&was.entries[..], was.due));
    let (after, due_after) = new.map_or((&[][..], None), |new| (&new.entries[..], new.due));
    let mend = |place, listed| Mend { key: key.clone(), place, listed };
    let lost = lacking(before, after).map(|entry| mend(IndexPlace::Entry(entry.clone()), false));
    let mut changes: Vec<Mend> = lost.collect();
    changes.extend(lacking(after, before).map(|entry| mend(IndexPlace::Entry(entry.clone()), true)));
    if due_before != due_after {
        changes.extend(due_before.map(|due| mend(IndexPlace::Due(due), false)));
        changes.extend(due_after.map(|due| mend(IndexPlace::Due(due), true)));
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IndexName;
    use bytes::Bytes;

    fn record(key: &str, version: u128, entries: &[(&str, u64)], due: Option<Millis>) -> Record {
        let entries = entries.iter().map(|(name, rank)| Entry { name: IndexName::new(*name), rank: *rank }).collect();
        Record { key: Key::new(key), version: Version(version), body: Bytes::new(), entries, due }
    }

    fn shown(changes: &[Mend]) -> Vec<String> {
        let place = |place: &IndexPlace| match place {
            IndexPlace::Entry(entry) => format!("{} {}", entry.name.as_str(), entry.rank),
            IndexPlace::Due(due) => format!("due {due}"),
        };
        let sign = |listed| if listed { '+' } else { '-' };
        changes.iter().map(|mend| format!("{}{}", sign(mend.listed), place(&mend.place))).collect()
    }

    #[test]
    fn a_change_names_what_is_lost_and_gained() {
        let old = record("k", 1, &[("a", 1), ("b", 2), ("c", 3)], Some(5));
        let new = record("k", 2, &[("a", 1), ("b", 3), ("d", 3)], Some(6));
        let mut cache = PlaceCache::default();
        cache.learn(&old);
        let before = cache.find(&old.key, Version(1));
        let changed = changes(&old.key, before.as_deref(), Some(&new));
        assert_eq!(shown(&changed), ["-b 2", "-c 3", "+b 3", "+d 3", "-due 5", "+due 6"]);
        let gone = changes(&old.key, before.as_deref(), None);
        assert_eq!(shown(&gone), ["-a 1", "-b 2", "-c 3", "-due 5"]);
        assert_eq!(shown(&changes(&new.key, None, Some(&new))), ["+a 1", "+b 3", "+d 3", "+due 6"]);
        assert_eq!(shown(&changes(&old.key, before.as_deref(), Some(&old))), [""; 0]);
    }

    #[test]
    fn another_version_is_not_found() {
        let mut cache = PlaceCache::default();
        cache.learn(&record("k", 1, &[("a", 1)], None));
        let has = |cache: &mut PlaceCache, version| cache.find(&Key::new("k"), Version(version)).is_some();
        assert!(has(&mut cache, 1) && !has(&mut cache, 2));
        cache.learn(&record("k", 2, &[], None));
        assert!(!has(&mut cache, 1) && has(&mut cache, 2));
        cache.forget(&Key::new("k"));
        assert!(!has(&mut cache, 2));
    }

    #[test]
    fn used_records_outlive_unused_ones() {
        let mut cache = PlaceCache::default();
        let (used, unused) = (Key::new("used"), Key::new("unused"));
        cache.learn(&record("used", 1, &[], None));
        cache.learn(&record("unused", 1, &[], None));
        for at in 0..3 * GENERATION_MAX {
            cache.learn(&record(&format!("other {at}"), 1, &[], None));
            assert!(cache.find(&used, Version(1)).is_some(), "after {at}");
        }
        assert!(cache.find(&unused, Version(1)).is_none());
        assert!(cache.young.len() + cache.old.len() <= 2 * GENERATION_MAX + 1);
    }
}
