//! Which places a record has in a given version: what a store need not ask its server to find out what a write changes.
//!
//! A version is written once, so what is known of it stays true whatever happens to the record later.

use crate::cost::lacking;
use crate::{Entry, Key, Mend, Millis, Place, Record, Version};
use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::mem;
use std::sync::Arc;

/// How many records are remembered before those that were not asked for since are forgotten.
const GENERATION_MAX: usize = 16_384;

/// The places of a record in one version.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) version: Version,
    pub(crate) entries: Vec<Entry>,
    pub(crate) due: Option<Millis>,
}

/// The places of the records that were read or written last. Whoever wants keys to collide meets a hasher with a seed of its own
/// in every process, and at most two generations of keys.
#[derive(Debug, Default)]
pub(crate) struct Places {
    young: HashMap<Key, Arc<Known>, RandomState>,
    old: HashMap<Key, Arc<Known>, RandomState>,
}

impl Places {
    /// Takes note of a record as it is in its version.
    pub(crate) fn learn(&mut self, record: &Record) {
        let known = Known { version: record.version, entries: record.entries.clone(), due: record.due };
        self.insert(record.key.clone(), Arc::new(known));
    }

    /// Drops what is known of a record that is gone.
    pub(crate) fn forget(&mut self, key: &Key) {
        self.young.remove(key);
        self.old.remove(key);
    }

    /// The places of a record in this version, if they are known. Those that were asked for are remembered for longer.
    pub(crate) fn find(&mut self, key: &Key, version: Version) -> Option<Arc<Known>> {
        if let Some(known) = self.old.remove(key) {
            // What was learned later is in the younger half.
            if !self.young.contains_key(key) {
                self.insert(key.clone(), known);
            }
        }
        self.young.get(key).filter(|known| known.version == version).cloned()
    }

    fn insert(&mut self, key: Key, known: Arc<Known>) {
        if self.young.len() >= GENERATION_MAX {
            mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        self.young.insert(key, known);
    }
}

/// The places that a record loses and gains when it replaces what was there before, or goes.
pub(crate) fn changes(key: &Key, was: Option<&Known>, new: Option<&Record>) -> Vec<Mend> {
    let (before, due_before) = was.map_or((&[][..], None), |was| (&was.entries[..], was.due));
    let (after, due_after) = new.map_or((&[][..], None), |new| (&new.entries[..], new.due));
    let mend = |place, listed| Mend { key: key.clone(), place, listed };
    let lost = lacking(before, after).map(|entry| mend(Place::Index(entry.clone()), false));
    let mut changes: Vec<Mend> = lost.collect();
    changes.extend(lacking(after, before).map(|entry| mend(Place::Index(entry.clone()), true)));
    if due_before != due_after {
        changes.extend(due_before.map(|due| mend(Place::Due(due), false)));
        changes.extend(due_after.map(|due| mend(Place::Due(due), true)));
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

    fn told(changes: &[Mend]) -> Vec<String> {
        let place = |place: &Place| match place {
            Place::Index(entry) => format!("{} {}", entry.name.as_str(), entry.rank),
            Place::Due(due) => format!("due {due}"),
        };
        let sign = |listed| if listed { '+' } else { '-' };
        changes.iter().map(|mend| format!("{}{}", sign(mend.listed), place(&mend.place))).collect()
    }

    #[test]
    fn a_change_names_what_is_lost_and_gained() {
        let old = record("k", 1, &[("a", 1), ("b", 2), ("c", 3)], Some(5));
        let new = record("k", 2, &[("a", 1), ("b", 3), ("d", 3)], Some(6));
        let mut places = Places::default();
        places.learn(&old);
        let known = places.find(&old.key, Version(1));
        let changed = changes(&old.key, known.as_deref(), Some(&new));
        assert_eq!(told(&changed), ["-b 2", "-c 3", "+b 3", "+d 3", "-due 5", "+due 6"]);
        let gone = changes(&old.key, known.as_deref(), None);
        assert_eq!(told(&gone), ["-a 1", "-b 2", "-c 3", "-due 5"]);
        assert_eq!(told(&changes(&new.key, None, Some(&new))), ["+a 1", "+b 3", "+d 3", "+due 6"]);
        assert_eq!(told(&changes(&old.key, known.as_deref(), Some(&old))), [""; 0]);
    }

    #[test]
    fn another_version_is_not_known() {
        let mut places = Places::default();
        places.learn(&record("k", 1, &[("a", 1)], None));
        let has = |places: &mut Places, version| places.find(&Key::new("k"), Version(version)).is_some();
        assert!(has(&mut places, 1) && !has(&mut places, 2));
        places.learn(&record("k", 2, &[], None));
        assert!(!has(&mut places, 1) && has(&mut places, 2));
        places.forget(&Key::new("k"));
        assert!(!has(&mut places, 2));
    }

    #[test]
    fn what_is_asked_for_outlives_what_is_not() {
        let mut places = Places::default();
        let (used, unused) = (Key::new("used"), Key::new("unused"));
        places.learn(&record("used", 1, &[], None));
        places.learn(&record("unused", 1, &[], None));
        for at in 0..3 * GENERATION_MAX {
            places.learn(&record(&format!("other {at}"), 1, &[], None));
            assert!(places.find(&used, Version(1)).is_some(), "after {at}");
        }
        assert!(places.find(&unused, Version(1)).is_none());
        assert!(places.young.len() + places.old.len() <= 2 * GENERATION_MAX + 1);
    }
}
