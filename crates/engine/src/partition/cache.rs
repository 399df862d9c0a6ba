//! Records this process has seen, with their versions: a bounded hint that saves reads.
//!
//! All partitions of a process share one budget, so that a busy one may use what the others do not. Two generations
//! approximate a least-recently-used order: a used record moves to the young one. When the young ones of all partitions
//! reach half of the budget, a new era begins: each partition drops its old generation and begins a new young one.

use crate::binding::Loaded;
use crate::lookup::Lookup;
use onward_core::record::Record;
use onward_core::{Key, Source};
use onward_store::Version;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// What the caches of all partitions of a process may hold.
#[derive(Debug)]
pub(crate) struct CacheBudget {
    /// Bytes of one generation.
    half: i64,
    /// Bytes in the young generations of this era.
    young: AtomicI64,
    era: AtomicU64,
}

impl CacheBudget {
    pub(crate) fn new(bytes: usize) -> Self {
        let half = i64::try_from(bytes / 2).unwrap_or(i64::MAX);
        Self { half, young: AtomicI64::new(0), era: AtomicU64::new(0) }
    }

    fn add(&self, bytes: usize) {
        self.young.fetch_add(i64::try_from(bytes).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    fn give_back(&self, bytes: usize) {
        self.young.fetch_sub(i64::try_from(bytes).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// Begins a new era if this one has used its half; returns whether it did.
    fn turn(&self) -> bool {
        let young = self.young.load(Ordering::Relaxed);
        // One of several that find it full begins the era.
        let turns =
            young > self.half && self.young.compare_exchange(young, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if turns {
            self.era.fetch_add(1, Ordering::Relaxed);
        }
        turns
    }
}

/// The cached records of one partition.
#[derive(Debug)]
pub(crate) struct Cache {
    young: Lookup<Key, Loaded>,
    old: Lookup<Key, Loaded>,
    budget: Arc<CacheBudget>,
    era: u64,
}

impl Cache {
    pub(crate) fn new(budget: Arc<CacheBudget>) -> Self {
        let era = budget.era.load(Ordering::Relaxed);
        Self { young: Lookup::default(), old: Lookup::default(), budget, era }
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Loaded> {
        self.young.get(key).or_else(|| self.old.get(key))
    }

    pub(crate) fn insert(&mut self, key: Key, loaded: Loaded) {
        self.old.remove(&key);
        self.budget.add(loaded.bytes);
        if let Some(before) = self.young.insert(key, loaded) {
            self.budget.give_back(before.bytes);
        }
    }

    /// Moves what a batch has just used to the young generation; returns whether a new era has begun, in which the other
    /// partitions have to drop what they used least. Called only between batches, so that nothing a batch relies on is
    /// dropped for room while it is prepared.
    pub(crate) fn touch<'a>(&mut self, keys: impl Iterator<Item = &'a Key>) -> bool {
        for key in keys {
            if let Some((key, loaded)) = self.old.remove_entry(key) {
                self.budget.add(loaded.bytes);
                self.young.insert(key, loaded);
            }
        }
        let turned = self.budget.turn();
        self.catch_up();
        turned
    }

    /// Drops what was not used in this era and the one before.
    pub(crate) fn catch_up(&mut self) {
        let era = self.budget.era.load(Ordering::Relaxed);
        match era - self.era {
            0 => return,
            1 => std::mem::swap(&mut self.old, &mut self.young),
            _ => self.old = Lookup::default(),
        }
        self.young = Lookup::default();
        self.era = era;
    }

    pub(crate) fn remove(&mut self, key: &Key) {
        self.old.remove(key);
        if let Some(before) = self.young.remove(key) {
            self.budget.give_back(before.bytes);
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

    fn key(n: u64) -> Key {
        Key::Message(PartitionId(0), PartitionId(1), n)
    }

    fn held(cache: &Cache) -> usize {
        cache.young.len() + cache.old.len()
    }

    #[test]
    fn it_stays_bounded_and_keeps_what_is_used() {
        let budget = Arc::new(CacheBudget::new(16 * Loaded::ABSENT.bytes));
        let mut cache = Cache::new(budget);
        for n in 0..100 {
            cache.insert(key(n), Loaded::ABSENT);
            cache.touch([&key(0)].into_iter());
            assert!(held(&cache) <= 18);
            assert!(cache.get(&key(0)).is_some(), "used again and again");
        }
        assert!(cache.get(&key(1)).is_none());
    }

    #[test]
    fn a_busy_partition_uses_what_the_others_leave_and_they_make_room() {
        let budget = Arc::new(CacheBudget::new(200 * Loaded::ABSENT.bytes));
        let mut idle: Vec<Cache> = (0..10).map(|_| Cache::new(budget.clone())).collect();
        for cache in &mut idle {
            (0..5).for_each(|n| cache.insert(key(n), Loaded::ABSENT));
        }
        let mut busy = Cache::new(budget);
        let (mut most, mut eras) = (0, 0);
        for n in 0..1_000 {
            busy.insert(key(n), Loaded::ABSENT);
            if busy.touch(std::iter::empty()) {
                eras += 1;
                idle.iter_mut().for_each(Cache::catch_up);
            }
            most = most.max(held(&busy));
            assert!(held(&busy) + idle.iter().map(held).sum::<usize>() <= 202);
        }
        assert!(most > 150, "one partition may use nearly all: {most}");
        assert!(eras > 1 && idle.iter().all(|cache| held(cache) == 0), "the others have dropped what they did not use");
    }
}
