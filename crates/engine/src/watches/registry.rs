//! The registry of watches: which records callers wait for, which of them must be read, and what was read last.

use crate::Error;
use crate::members::topics::{self, Ended};
use crate::partition::batch::Change;
use onward_core::record::Record;
use onward_core::{Key, PartitionId};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use tokio::sync::Notify;

/// Maximum records read by one load.
const LOAD_KEYS_MAX: usize = 256;
/// Maximum watched records that one sweep reads; the next one goes on behind them.
const SWEPT_MAX: usize = 4_096;

/// A record as it was read: `None` if there is none.
pub(super) type Found = Result<Option<Arc<Record>>, Error>;

/// All watches of a process.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    inner: Mutex<Inner>,
    /// Notified when there is something to read.
    pub(super) work: Notify,
    /// Notified when another process has committed something that only the feed names.
    pub(super) news: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    watched: BTreeMap<Key, Watched>,
    /// The watched keys by the short names that topics give them.
    names: BTreeMap<u64, BTreeSet<Key>>,
    /// Keys to read.
    wanted: BTreeMap<PartitionId, BTreeSet<Key>>,
    /// The partition that was read last: the others come before it.
    last: Option<PartitionId>,
    /// Counts the loads, in the order in which they begin.
    turn: u64,
    /// Where records changed that were not named.
    unnamed: Unnamed,
    /// The last key of the last sweep.
    swept: Option<Key>,
}

#[derive(Debug)]
struct Watched {
    partition: PartitionId,
    watchers: usize,
    sight: Arc<Sight>,
}

/// Partitions in which something changed that was not named.
#[derive(Debug, Default)]
enum Unnamed {
    #[default]
    Nowhere,
    In(BTreeSet<PartitionId>),
    Anywhere,
}

/// What was read of one record last, for all that watch it. Waiters are woken in the order in which they came.
#[derive(Debug, Default)]
struct Sight {
    seen: Mutex<Option<Seen>>,
    changed: Notify,
}

/// A record as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The turn of the load.
    pub(crate) turn: u64,
    pub(crate) found: Found,
}

/// Records of one partition to read.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) partition: PartitionId,
    pub(super) keys: Vec<Key>,
    turn: u64,
}

impl Watches {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Watches a record until the watch is dropped. Nothing is read before [`Watch::look`].
    pub(crate) fn watch(&self, partition: PartitionId, key: Key) -> Watch<'_> {
        let mut inner = self.lock();
        let first = inner.watched.is_empty();
        if !inner.watched.contains_key(&key) {
            inner.names.entry(topics::short_name(&key)).or_default().insert(key.clone());
        }
        let new = || Watched { partition, watchers: 0, sight: Arc::default() };
        let watched = inner.watched.entry(key.clone()).or_insert_with(new);
        watched.watchers += 1;
        let sight = watched.sight.clone();
        drop(inner);
        if first {
            self.news.notify_one();
        }
        Watch { watches: self, key, sight }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().watched.is_empty()
    }

    /// Learns what a commit of this process changed.
    pub(crate) fn learn(&self, changes: &[Change]) {
        self.want(changes.iter().filter(|change| is_news(change)).map(|change| &change.key));
    }

    /// Learns what a commit of unknown outcome may have changed.
    pub(crate) fn suspect(&self, changes: &[Change]) {
        self.want(changes.iter().map(|change| &change.key));
    }

    /// Learns which records of a partition another process has changed.
    pub(crate) fn tell(&self, partition: PartitionId, ended: Ended) {
        let mut inner = self.lock();
        if inner.watched.is_empty() {
            return;
        }
        let Ended::Named(names) = ended else {
            inner.unnamed.add(partition);
            drop(inner);
            return self.work.notify_one();
        };
        let keys: Vec<Key> = names.iter().filter_map(|name| inner.names.get(name)).flatten().cloned().collect();
        drop(inner);
        self.want(keys.iter());
    }

    /// Another process committed something that is told by the feed alone.
    pub(crate) fn tell_news(&self) {
        if !self.is_empty() {
            self.news.notify_one();
        }
    }

    /// Anything may have changed.
    pub(crate) fn suspect_all(&self) {
        let mut inner = self.lock();
        if !inner.watched.is_empty() {
            inner.unnamed = Unnamed::Anywhere;
            drop(inner);
            self.work.notify_one();
        }
    }

    /// Has these records read, as far as they are watched.
    pub(super) fn want<'a>(&self, keys: impl Iterator<Item = &'a Key>) {
        let mut inner = self.lock();
        if inner.watched.is_empty() {
            return;
        }
        let mut any = false;
        for key in keys {
            any |= inner.want(key);
        }
        drop(inner);
        if any {
            self.work.notify_one();
        }
    }

    /// Has everything read that may have changed unnamed; false if there is no such thing.
    pub(super) fn want_unnamed(&self) -> bool {
        let mut inner = self.lock();
        let unnamed = std::mem::take(&mut inner.unnamed);
        if matches!(unnamed, Unnamed::Nowhere) {
            return false;
        }
        let Inner { watched, wanted, .. } = &mut *inner;
        for (key, Watched { partition, .. }) in watched.iter().filter(|(_, watched)| unnamed.covers(watched.partition))
        {
            wanted.entry(*partition).or_default().insert(key.clone());
        }
        true
    }

    /// Has the next records read that a hint may have been lost about.
    pub(super) fn sweep(&self) {
        let mut inner = self.lock();
        let from = inner.swept.take().map_or(Bound::Unbounded, Bound::Excluded);
        let keys: Vec<Key> =
            inner.watched.range((from, Bound::Unbounded)).map(|(key, _)| key).take(SWEPT_MAX).cloned().collect();
        for key in &keys {
            inner.want(key);
        }
        if keys.len() == SWEPT_MAX {
            inner.swept = keys.into_iter().last();
        }
    }

    /// Takes records to read, of a partition that is not being read.
    pub(super) fn take(&self, busy: &BTreeSet<PartitionId>) -> Option<Load> {
        let mut inner = self.lock();
        loop {
            let last = inner.last.unwrap_or(PartitionId(u16::MAX));
            let behind = inner.wanted.range((Bound::Excluded(last), Bound::Unbounded));
            let partitions = behind.chain(inner.wanted.range(..=last)).map(|(partition, _)| *partition);
            let partition = partitions.into_iter().find(|partition| !busy.contains(partition))?;
            let mut keys = inner.wanted.remove(&partition).unwrap_or_default();
            keys.retain(|key| inner.watched.contains_key(key));
            if keys.is_empty() {
                continue;
            }
            let rest: BTreeSet<Key> = keys.iter().skip(LOAD_KEYS_MAX).cloned().collect();
            if !rest.is_empty() {
                inner.wanted.insert(partition, rest);
            }
            inner.last = Some(partition);
            inner.turn += 1;
            return Some(Load { partition, keys: keys.into_iter().take(LOAD_KEYS_MAX).collect(), turn: inner.turn });
        }
    }

    /// Tells the watchers what was read.
    pub(super) fn show(&self, load: &Load, found: impl IntoIterator<Item = Found>) {
        let inner = self.lock();
        for (key, found) in load.keys.iter().zip(found) {
            if let Some(watched) = inner.watched.get(key) {
                *watched.sight.seen.lock() = Some(Seen { turn: load.turn, found });
                watched.sight.changed.notify_waiters();
            }
        }
    }
}

impl Inner {
    /// Has a record read if it is watched; false if it is not.
    fn want(&mut self, key: &Key) -> bool {
        let Some(Watched { partition, .. }) = self.watched.get(key) else { return false };
        self.wanted.entry(*partition).or_default().insert(key.clone());
        true
    }
}

impl Unnamed {
    fn add(&mut self, partition: PartitionId) {
        match self {
            Self::Nowhere => *self = Self::In(BTreeSet::from([partition])),
            Self::In(partitions) => drop(partitions.insert(partition)),
            Self::Anywhere => {}
        }
    }

    fn covers(&self, partition: PartitionId) -> bool {
        match self {
            Self::Nowhere => false,
            Self::In(partitions) => partitions.contains(&partition),
            Self::Anywhere => true,
        }
    }
}

/// Whether a change is what the watchers of its record wait for: of an execution, its end.
fn is_news(change: &Change) -> bool {
    match (&change.key, change.after.as_deref()) {
        (Key::Execution(_), Some(Record::Execution(execution))) => execution.is_finished(),
        _ => true,
    }
}

/// One caller that waits for a record.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    watches: &'a Watches,
    key: Key,
    sight: Arc<Sight>,
}

impl Watch<'_> {
    /// Has the record read; returns the earliest turn of a load that begins after this call.
    pub(crate) fn look(&self) -> u64 {
        let mut inner = self.watches.lock();
        inner.want(&self.key);
        let turn = inner.turn + 1;
        drop(inner);
        self.watches.work.notify_one();
        turn
    }

    /// Waits until the record was read in this turn or a later one, whatever the reason.
    pub(crate) async fn seen(&self, turn: u64) -> Seen {
        loop {
            // What is shown after this line is noticed.
            let changed = self.sight.changed.notified();
            let mut changed = std::pin::pin!(changed);
            changed.as_mut().enable();
            if let Some(seen) = self.sight.seen.lock().as_ref().filter(|seen| seen.turn >= turn) {
                return seen.clone();
            }
            changed.await;
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let mut inner = self.watches.lock();
        let Some(watched) = inner.watched.get_mut(&self.key) else { return };
        watched.watchers -= 1;
        if watched.watchers > 0 {
            return;
        }
        inner.watched.remove(&self.key);
        let name = topics::short_name(&self.key);
        if let Some(alike) = inner.names.get_mut(&name) {
            alike.remove(&self.key);
            if alike.is_empty() {
                inner.names.remove(&name);
            }
        }
    }
}

#[cfg(test)]
mod tests;
