//! The nearest due times in memory, and the time up to which all are known.
//!
//! Like a ready queue this is a hint: firing a time that has moved does nothing, because the rule checks the record.
//! Times after the known part are read from the store when they come near.

use crate::lookup::Lookup;
use onward_core::index::DueKind;
use onward_core::{Key, Millis, PartitionId, limits};
use onward_store as store;
use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeSet;
use tokio::sync::Notify;

/// The due times that a caller waits for, by what they are for.
#[derive(Debug)]
pub(crate) struct AllTimers {
    timers: Timers,
    leases: Timers,
}

impl AllTimers {
    pub(crate) fn new() -> Self {
        Self { timers: Timers::new(), leases: Timers::new() }
    }

    /// Those of one kind.
    pub(crate) fn of(&self, kind: DueKind) -> &Timers {
        match kind {
            DueKind::Lease => &self.leases,
            // Housekeeping has no timers: it goes through the store at its own pace.
            DueKind::Timer | DueKind::Housekeeping => &self.timers,
        }
    }
}

/// Due times of the partitions whose home this process is.
#[derive(Debug)]
pub(crate) struct Timers {
    inner: Mutex<Inner>,
    /// Notified when an earlier time than the first one arrives.
    pub(crate) earlier: Notify,
}

#[derive(Debug)]
struct Inner {
    times: BTreeSet<(Millis, PartitionId, Key)>,
    by_key: Lookup<Key, (Millis, PartitionId)>,
    /// Every due time before this place was in memory when the store was last read; later ones are read as they come near.
    known: Place,
    /// Reads of the store in progress.
    readings: u32,
    /// Counts the resets, so that a read from before one is ignored.
    generation: u64,
}

/// A place among the due times of the store, which are in the order of their times and then of their keys: behind `after`
/// at this time, or before everything at this time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) time: Millis,
    pub(crate) after: Option<store::Key>,
}

impl Place {
    /// Before everything at a time.
    pub(crate) fn at(time: Millis) -> Self {
        Self { time, after: None }
    }
}

/// What the job that fires due times does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Next {
    /// Sleep until a time becomes due.
    SleepUntil(Millis),
    /// Read the store from this place on, then ask again.
    ReadFrom(Place),
    /// Sleep until a due time arrives.
    Sleep,
}

/// How a commit changed a record's due time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved<'a> {
    pub(crate) key: &'a Key,
    pub(crate) before: Option<Millis>,
    pub(crate) after: Option<Millis>,
}

/// A read of the store in progress: due times that commits set meanwhile are kept, because the read may miss them.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    timers: &'a Timers,
    generation: u64,
}

impl Timers {
    pub(crate) fn new() -> Self {
        let inner = Inner {
            times: BTreeSet::new(),
            by_key: Lookup::default(),
            known: Place::at(Millis(0)),
            readings: 0,
            generation: 0,
        };
        Self { inner: Mutex::new(inner), earlier: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Applies the due times that a commit changed. A known time that is not the one before the change was read from
    /// the store after it, perhaps from a later commit of another process, and must not be dropped.
    pub(crate) fn set_all<'a>(&self, partition: PartitionId, dues: impl Iterator<Item = Moved<'a>>) {
        let mut dues = dues.peekable();
        if dues.peek().is_none() {
            return;
        }
        let mut inner = self.lock();
        let first = inner.first();
        let mut earliest = None;
        for Moved { key, before, after } in dues {
            if inner.by_key.get(key).map(|(known, _)| *known) == before {
                inner.forget(key);
            }
            if let Some(due) = after.filter(|due| *due <= inner.known.time || inner.readings > 0) {
                inner.remind(partition, key.clone(), due);
                earliest = Some(earliest.map_or(due, |earliest: Millis| earliest.min(due)));
            }
        }
        drop(inner);
        if let Some(earliest) = earliest {
            self.tell(first, earliest);
        }
    }

    /// Schedules a check of a record. It is kept regardless of what is known, and an earlier time wins: checking too
    /// early does nothing, checking too late is late.
    pub(crate) fn remind(&self, partition: PartitionId, key: &Key, due: Millis) {
        let mut inner = self.lock();
        let first = inner.first();
        inner.remind(partition, key.clone(), due);
        drop(inner);
        self.tell(first, due);
    }

    fn tell(&self, first: Option<Millis>, due: Millis) {
        if first.is_none_or(|first| due < first) {
            self.earlier.notify_one();
        }
    }

    /// What to do, given that nothing is due now.
    pub(crate) fn next(&self) -> Next {
        let inner = self.lock();
        match inner.first() {
            Some(time) if time <= inner.known.time => Next::SleepUntil(time),
            None if inner.known.time == Millis(u64::MAX) => Next::Sleep,
            _ => Next::ReadFrom(inner.known.clone()),
        }
    }

    /// Takes up to `max` items that are due, the earliest first.
    pub(crate) fn take_due(&self, now: Millis, max: usize) -> Vec<(PartitionId, Key)> {
        let mut inner = self.lock();
        let mut due = Vec::new();
        while due.len() < max && inner.first().is_some_and(|time| time <= now) {
            if let Some((_, partition, key)) = inner.times.pop_first() {
                inner.by_key.remove(&key);
                due.push((partition, key));
            }
        }
        due
    }

    /// Begins a read of the store.
    pub(crate) fn begin_reading(&self) -> Reading<'_> {
        let mut inner = self.lock();
        inner.readings += 1;
        Reading { timers: self, generation: inner.generation }
    }

    /// Drops everything, because another process is the home now or this one has just become it.
    pub(crate) fn reset(&self) {
        let mut inner = self.lock();
        inner.times.clear();
        inner.by_key.clear();
        inner.known = Place::at(Millis(0));
        inner.generation += 1;
        drop(inner);
        self.earlier.notify_one();
    }
}

impl Reading<'_> {
    /// Takes in what was read. A read that was not cut off knows everything before `until`; one that was knows only up to
    /// its last item, regardless of what was known before, since other processes write too.
    pub(crate) fn end(self, found: Vec<(Millis, PartitionId, Key)>, until: Millis, cut_at: Option<Place>) {
        let mut inner = self.timers.lock();
        if inner.generation != self.generation {
            return;
        }
        for (due, partition, key) in found {
            inner.remind(partition, key, due);
        }
        inner.known = cut_at.unwrap_or_else(|| Place::at(until).max(inner.known.clone()));
        drop(inner);
        self.timers.earlier.notify_one();
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let mut inner = self.timers.lock();
        inner.readings = inner.readings.saturating_sub(1);
    }
}

impl Inner {
    fn first(&self) -> Option<Millis> {
        self.times.first().map(|(time, ..)| *time)
    }

    fn forget(&mut self, key: &Key) {
        if let Some((due, partition)) = self.by_key.remove(key) {
            self.times.remove(&(due, partition, key.clone()));
        }
    }

    fn remind(&mut self, partition: PartitionId, key: Key, due: Millis) {
        if self.by_key.get(&key).is_none_or(|(known, _)| due < *known) {
            self.forget(&key);
            self.remember(partition, key, due);
        }
    }

    fn remember(&mut self, partition: PartitionId, key: Key, due: Millis) {
        self.by_key.insert(key.clone(), (due, partition));
        self.times.insert((due, partition, key));
        if self.times.len() > limits::TIMERS_MAX {
            // Cutting in half keeps this rare; what is cut off is read again when it comes near.
            while self.times.len() > limits::TIMERS_MAX / 2 {
                if let Some((due, _, key)) = self.times.pop_last() {
                    self.by_key.remove(&key);
                    self.known = self.known.clone().min(Place::at(due));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Timers {
        fn set(&self, partition: PartitionId, key: &Key, before: Option<u64>, after: Option<u64>) {
            let moved = Moved { key, before: before.map(Millis), after: after.map(Millis) };
            self.set_all(partition, [moved].into_iter());
        }
    }

    const HERE: PartitionId = PartitionId(0);

    fn key(n: u64) -> Key {
        Key::Message(HERE, HERE, n)
    }

    fn all_known() -> Timers {
        let timers = Timers::new();
        timers.begin_reading().end(Vec::new(), Millis(u64::MAX), None);
        timers
    }

    #[test]
    fn times_beyond_the_known_part_are_read_not_remembered() {
        let timers = Timers::new();
        timers.set(HERE, &key(1), None, Some(50));
        assert_eq!(timers.next(), Next::ReadFrom(Place::at(Millis(0))));
        let reading = timers.begin_reading();
        timers.set(HERE, &key(2), None, Some(70));
        reading.end(vec![(Millis(50), HERE, key(1))], Millis(60), None);
        assert_eq!(timers.next(), Next::SleepUntil(Millis(50)));
        assert_eq!(timers.take_due(Millis(60), 10), [(HERE, key(1))]);
        assert_eq!(timers.next(), Next::ReadFrom(Place::at(Millis(60))), "there may be unread times before 70");
        timers.begin_reading().end(Vec::new(), Millis(u64::MAX), None);
        assert_eq!(timers.next(), Next::SleepUntil(Millis(70)), "what arrived during the first reading is kept");
        timers.set(HERE, &key(2), Some(70), None);
        assert_eq!(timers.next(), Next::Sleep);
    }

    #[test]
    fn an_earlier_time_found_by_a_reading_or_a_reminder_wins() {
        let timers = all_known();
        timers.set(HERE, &key(1), None, Some(30));
        timers.begin_reading().end(vec![(Millis(13), HERE, key(1))], Millis(40), None);
        assert_eq!(timers.next(), Next::SleepUntil(Millis(13)), "another process moved it");
        timers.remind(HERE, &key(1), Millis(20));
        assert_eq!(timers.next(), Next::SleepUntil(Millis(13)));
        timers.set(HERE, &key(1), Some(30), Some(99));
        assert_eq!(timers.next(), Next::SleepUntil(Millis(13)), "what was read may be newer than this commit");
        timers.set(HERE, &key(1), Some(13), Some(99));
        assert_eq!(timers.next(), Next::SleepUntil(Millis(99)), "this commit changed what was read");
    }

    #[test]
    fn a_reading_that_was_cut_or_forgotten_claims_to_know_nothing_more() {
        let timers = all_known();
        let page = (1..=3).map(|n| (Millis(n), HERE, key(n))).collect();
        let cut = Place { time: Millis(3), after: Some(store::Key::new("k")) };
        timers.begin_reading().end(page, Millis(100), Some(cut.clone()));
        assert_eq!(timers.next(), Next::SleepUntil(Millis(1)), "what is read is enough for now");
        assert_eq!(timers.take_due(Millis(3), 10).len(), 3);
        assert_eq!(timers.next(), Next::ReadFrom(cut), "others of the same time may follow");
        let old = timers.begin_reading();
        timers.reset();
        old.end(vec![(Millis(5), HERE, key(5))], Millis(100), None);
        assert_eq!(timers.next(), Next::ReadFrom(Place::at(Millis(0))));
    }

    #[test]
    fn memory_is_bounded() {
        let timers = all_known();
        for n in 0..200_000 {
            timers.set(HERE, &key(n), None, Some(1_000_000 - n));
        }
        assert!(timers.lock().times.len() <= limits::TIMERS_MAX);
        assert_eq!(timers.next(), Next::SleepUntil(Millis(800_001)));
    }
}
