//! The registry: which queues exist. It is read from the store, and what it says is kept on the board.

use crate::api::query;
use crate::shared::Shared;
use crate::work::board::QueueKey;
use crate::{Error, binding};
use futures_util::future::join_all;
use onward_core::record::{LaneQueues, QueueSeen, Record};
use onward_core::{Key, Lane, Millis, Namespace, PartitionId, Prune, Span, index, limits};
use onward_store::{IndexName, Partitions, Range};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};

/// How far before the last read the next one begins: a batch may be on its way for almost as long, with the time at which
/// its rules ran.
const OVERLAP: Span = Span(limits::BATCH_LIFE.0 + Span::minutes(1).0);
/// Reads of what is new after which the registry is read whole; that forgets what was removed.
const WHOLE_EVERY: u32 = 100;

/// How much of the registry this process has read.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    last: Mutex<Option<LastRead>>,
    /// The entries that the next read meets again, with their ranks: one that has not grown is not loaded again.
    recent: Mutex<BTreeMap<Key, u64>>,
}

#[derive(Debug, Clone, Copy)]
struct LastRead {
    at: Millis,
    /// How often the time had been set back by then.
    set_back: u64,
    /// Reads since it was read whole.
    parts: u32,
}

impl Registry {
    /// The time from which a read that begins now must read; `None` for all.
    fn from(&self, now: LastRead) -> Option<Millis> {
        let last = (*self.last.lock())?;
        (last.set_back == now.set_back && last.parts < WHOLE_EVERY).then(|| last.at.min(now.at) - OVERLAP)
    }

    fn read(&self, now: LastRead, whole: bool) {
        let mut last = self.last.lock();
        let parts = last.filter(|_| !whole).map_or(0, |last| last.parts + 1);
        *last = Some(LastRead { parts, ..now });
    }

    /// The entries that have grown since they were loaded last.
    fn grown(&self, found: impl Iterator<Item = (Key, u64)>) -> Vec<(Key, u64)> {
        let recent = self.recent.lock();
        found.filter(|(key, rank)| recent.get(key) != Some(rank)).collect()
    }

    /// Notes what the board knows, so that it is not loaded again.
    pub(crate) fn loaded(&self, entries: impl IntoIterator<Item = (Key, u64)>) {
        self.recent.lock().extend(entries);
    }

    /// Forgets the entries that no read meets again; all when `from` is none.
    fn forget_before(&self, from: Option<Millis>) {
        self.recent.lock().retain(|_, rank| from.is_some_and(|from| *rank >= from.0));
    }
}

/// Reads what is new in the registry, so that the board knows which queues exist.
pub(crate) async fn read(shared: &Shared) -> Result<(), Error> {
    let now = LastRead { at: shared.time.now(), set_back: shared.time.times_set_back(), parts: 0 };
    let from = shared.registry.from(now);
    shared.registry.forget_before(from);
    let before = if from.is_none() { shared.board.queues() } else { BTreeSet::new() };
    let mut found = BTreeSet::new();
    let registry = IndexName::new(index::QUEUES);
    let mut range = Range { from: from.map(|from| from.0), ..Range::default() };
    loop {
        let page = shared.store.scan(&registry, &Partitions::All, range.clone(), limits::PAGE_MAX).await?;
        let read = page.items.iter().filter_map(|item| Some((item.key.as_str().parse::<Key>().ok()?, item.rank)));
        let grown = shared.registry.grown(read);
        for queue in load(shared, grown.iter().map(|(key, _)| key.clone())).await? {
            shared.board.register(&queue);
            found.insert(queue);
        }
        shared.registry.loaded(grown);
        match page.items.last() {
            Some(last) if page.more => range.after = Some((last.rank, last.key.clone())),
            _ => break,
        }
    }
    shared.board.forget(before.difference(&found));
    shared.registry.read(now, from.is_none());
    Ok(())
}

/// Loads entries of the registry, with one load for each partition, all at once.
async fn load(shared: &Shared, keys: impl Iterator<Item = Key>) -> Result<Vec<QueueKey>, Error> {
    let mut wanted: BTreeMap<PartitionId, Vec<Key>> = BTreeMap::new();
    for key in keys {
        if let Key::Queues(_, _, partition) = key {
            wanted.entry(partition).or_default().push(key);
        }
    }
    let loads = wanted.iter().map(|(partition, keys)| query::records(shared, *partition, keys));
    let mut queues = Vec::new();
    for (keys, loaded) in wanted.values().zip(join_all(loads).await) {
        for (key, record) in keys.iter().zip(loaded?) {
            if let (Key::Queues(namespace, lane, _), Some(Record::Queues(registry))) = (key, record) {
                queues.extend(listed(namespace, lane, &registry));
            }
        }
    }
    Ok(queues)
}

/// The queues that an entry of the registry lists.
pub(crate) fn listed(namespace: &Namespace, lane: &Lane, registry: &LaneQueues) -> impl Iterator<Item = QueueKey> {
    registry.queues.iter().map(|seen| QueueKey {
        namespace: namespace.clone(),
        lane: lane.clone(),
        kind: seen.kind.clone(),
        class: seen.class.clone(),
    })
}

/// Forgets the queues of a lane in one partition that were not used for a day and are empty.
pub(crate) async fn prune(shared: &Shared, partition: PartitionId, key: &Key) -> Result<(), Error> {
    let Key::Queues(namespace, lane, _) = key else { return Ok(()) };
    let Some(Record::Queues(registry)) = query::record(shared, partition, key).await? else { return Ok(()) };
    let now = shared.time.now();
    let stale: Vec<&QueueSeen> = registry.queues.iter().filter(|seen| seen.stale_at() <= now).collect();
    let index = |seen: &&QueueSeen| IndexName::new(index::ready(namespace, lane, &seen.class, &seen.kind));
    let indexes: Vec<_> = stale.iter().map(|seen| (index(seen), Range::default())).collect();
    let here = Partitions::Some(vec![binding::partition(partition)]);
    let pages = shared.store.scan_many(&indexes, &here, 1).await?;
    let empty = stale.iter().zip(pages).filter(|(_, page)| page.items.is_empty());
    let empty = empty.map(|(seen, _)| (seen.kind.clone(), seen.class.clone())).collect();
    shared.call(partition, Prune { namespace: namespace.clone(), lane: lane.clone(), empty }).await
}
