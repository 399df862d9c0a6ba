//! The nearest due times in memory, and up to when they are all known.
//!
//! Like a ready queue this is a hint: firing a time that has moved does nothing, because the rule looks at the record.
//! Times behind the known part are read from the store when they come near.

use onward_core::{Key, Millis, PartitionId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Most due times kept in memory.
const TIMES_MAX: usize = 65_536;

/// Due times of the partitions whose home this process is.
#[derive(Debug)]
pub(crate) struct Timers {
    inner: Mutex<Inner>,
    /// Told when an earlier time than the first one arrives.
    pub(crate) earlier: Notify,
}

#[derive(Debug)]
struct Inner {
    times: BTreeSet<(Millis, PartitionId, Key)>,
    by_key: BTreeMap<Key, (Millis, PartitionId)>,
    /// Every due time before this one is in memory.
    known_until: Millis,
    /// How many readings of the store are under way.
    readings: u32,
}

/// What the clock should do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Sleep until a time becomes due.
    SleepUntil(Millis),
    /// Read the store from this time on, then ask again.
    ReadFrom(Millis),
    /// Sleep until something arrives.
    Sleep,
}

impl Timers {
    pub(crate) fn new() -> Self {
        let inner = Inner { times: BTreeSet::new(), by_key: BTreeMap::new(), known_until: Millis(0), readings: 0 };
        Self { inner: Mutex::new(inner), earlier: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A record's due time is now this.
    pub(crate) fn set(&self, partition: PartitionId, key: &Key, due: Option<Millis>) {
        let mut inner = self.lock();
        let first = inner.times.first().map(|(time, ..)| *time);
        inner.forget(key);
        let Some(due) = due else { return };
        if due >= inner.known_until && inner.readings == 0 {
            return;
        }
        inner.remember(partition, key.clone(), due);
        if first.is_none_or(|first| due < first) {
            drop(inner);
            self.earlier.notify_one();
        }
    }

    /// What to do at this time, given that nothing is due before it.
    pub(crate) fn next(&self) -> Next {
        let inner = self.lock();
        match inner.times.first() {
            Some((time, ..)) => Next::SleepUntil(*time),
            None if inner.known_until == Millis(u64::MAX) => Next::Sleep,
            None => Next::ReadFrom(inner.known_until),
        }
    }

    /// Takes what is due, the earliest first.
    pub(crate) fn take_due(&self, now: Millis, max: usize) -> Vec<(Millis, PartitionId, Key)> {
        let mut inner = self.lock();
        let mut due = Vec::new();
        while due.len() < max && inner.times.first().is_some_and(|(time, ..)| *time <= now) {
            if let Some((time, partition, key)) = inner.times.pop_first() {
                inner.by_key.remove(&key);
                due.push((time, partition, key));
            }
        }
        due
    }

    /// The store is about to be read; everything that arrives meanwhile is kept.
    pub(crate) fn begin_reading(&self) {
        self.lock().readings += 1;
    }

    /// The store was read up to `until`.
    pub(crate) fn end_reading(&self, found: Vec<(Millis, PartitionId, Key)>, until: Millis) {
        let mut inner = self.lock();
        inner.readings = inner.readings.saturating_sub(1);
        inner.known_until = inner.known_until.max(until);
        for (due, partition, key) in found {
            // Another process may have made it due earlier than memory knows. Of two times the earlier one is kept:
            // looking too early costs one look, looking too late is late.
            if inner.by_key.get(&key).is_none_or(|(known, _)| due < *known) {
                inner.forget(&key);
                inner.remember(partition, key, due);
            }
        }
        drop(inner);
        self.earlier.notify_one();
    }

    /// The store could not be read.
    pub(crate) fn fail_reading(&self) {
        let mut inner = self.lock();
        inner.readings = inner.readings.saturating_sub(1);
    }

    /// Forgets everything, because another process is the home now or this one has just become it.
    pub(crate) fn reset(&self) {
        let mut inner = self.lock();
        inner.times.clear();
        inner.by_key.clear();
        inner.known_until = Millis(0);
        drop(inner);
        self.earlier.notify_one();
    }
}

impl Inner {
    fn forget(&mut self, key: &Key) {
        if let Some((due, partition)) = self.by_key.remove(key) {
            self.times.remove(&(due, partition, key.clone()));
        }
    }

    fn remember(&mut self, partition: PartitionId, key: Key, due: Millis) {
        self.by_key.insert(key.clone(), (due, partition));
        self.times.insert((due, partition, key));
        if self.times.len() > TIMES_MAX {
            // Cutting in half keeps this rare; what is cut off is read again when it comes near.
            while self.times.len() > TIMES_MAX / 2 {
                if let Some((due, _, key)) = self.times.pop_last() {
                    self.by_key.remove(&key);
                    self.known_until = due;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u64) -> Key {
        Key::Message(PartitionId(0), PartitionId(0), n)
    }

    #[test]
    fn times_beyond_the_known_part_are_read_not_remembered() {
        let timers = Timers::new();
        timers.set(PartitionId(0), &key(1), Some(Millis(50)));
        assert_eq!(timers.next(), Next::ReadFrom(Millis(0)));
        timers.begin_reading();
        timers.set(PartitionId(0), &key(2), Some(Millis(70)));
        timers.end_reading(vec![(Millis(50), PartitionId(0), key(1))], Millis(60));
        assert_eq!(timers.next(), Next::SleepUntil(Millis(50)));
        assert_eq!(timers.take_due(Millis(60), 10).len(), 1);
        assert_eq!(timers.next(), Next::SleepUntil(Millis(70)), "what arrived during the reading is kept");
        timers.set(PartitionId(0), &key(2), None);
        assert_eq!(timers.next(), Next::ReadFrom(Millis(60)));
        timers.end_reading(Vec::new(), Millis(u64::MAX));
        assert_eq!(timers.next(), Next::Sleep);
    }

    #[test]
    fn memory_is_bounded() {
        let timers = Timers::new();
        timers.end_reading(Vec::new(), Millis(u64::MAX));
        for n in 0..200_000 {
            timers.set(PartitionId(0), &key(n), Some(Millis(1_000_000 - n)));
        }
        assert!(timers.lock().times.len() <= TIMES_MAX);
        let Next::SleepUntil(first) = timers.next() else { panic!("the nearest time is known") };
        assert_eq!(first, Millis(800_001));
    }
}
