//! What the checks share: ids, short ways to write and read, a clock that can be set, and a generator of chance.

use crate::{
    Batch, Clock, Cursor, Entry, Event, IndexName, Key, Millis, Outcome, Partition, Partitions, Range, Record, Store,
    Version,
};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The partition that checks use when one is enough.
pub(super) const P: Partition = Partition(1);

/// A clock that stands where it is set.
#[derive(Debug, Clone)]
pub struct Hand(Arc<AtomicU64>);

impl Hand {
    /// A clock that shows this time.
    #[must_use]
    pub fn at(now: Millis) -> Self {
        Self(Arc::new(AtomicU64::new(now)))
    }

    /// Moves it.
    pub fn set(&self, now: Millis) {
        self.0.store(now, Ordering::SeqCst);
    }

    /// The clock to give to a store.
    #[must_use]
    pub fn clock(&self) -> Clock {
        let now = Arc::clone(&self.0);
        Arc::new(move || now.load(Ordering::SeqCst))
    }
}

/// A version nobody had before.
pub(super) fn fresh() -> Version {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Version((0xabcd << 100) | u128::from(NEXT.fetch_add(1, Ordering::Relaxed)))
}

pub(super) fn key(name: &str) -> Key {
    Key::new(name)
}

pub(super) fn index(name: &str) -> IndexName {
    IndexName::new(name)
}

pub(super) fn entry(name: &str, rank: u64) -> Entry {
    Entry { name: index(name), rank }
}

pub(super) fn record(name: &str, body: &str) -> Record {
    Record {
        key: key(name),
        version: Version(0),
        body: Bytes::copy_from_slice(body.as_bytes()),
        entries: Vec::new(),
        due: None,
    }
}

/// A batch that puts records, each expected as it is now.
pub(super) async fn putting(store: &dyn Store, partition: Partition, records: Vec<Record>) -> Batch {
    let mut batch = Batch::new(partition, fresh());
    for mut record in records {
        let now = load(store, partition, record.key.as_str()).await;
        batch.expect.push((record.key.clone(), now.map(|now| now.version)));
        record.version = batch.id;
        batch.put.push(record);
    }
    batch
}

/// Puts records whatever they were before.
pub(super) async fn put(store: &dyn Store, partition: Partition, records: Vec<Record>) -> Version {
    let batch = putting(store, partition, records).await;
    let id = batch.id;
    commit(store, batch).await;
    id
}

/// Deletes a record that is there.
pub(super) async fn delete(store: &dyn Store, partition: Partition, name: &str) {
    let now = load(store, partition, name).await.expect("the record to delete is there");
    let mut batch = Batch::new(partition, fresh());
    batch.expect.push((key(name), Some(now.version)));
    batch.delete.push(key(name));
    commit(store, batch).await;
}

/// Commits one batch that must succeed.
pub(super) async fn commit(store: &dyn Store, batch: Batch) {
    let outcome = outcome_of(store, batch).await;
    assert!(matches!(outcome, Outcome::Committed { .. }), "not committed: {outcome:?}");
}

/// Commits one batch and returns what came of it.
pub(super) async fn outcome_of(store: &dyn Store, batch: Batch) -> Outcome {
    let mut outcomes = store.commit(vec![batch]).await.expect("the store takes the batch");
    assert_eq!(outcomes.len(), 1);
    outcomes.remove(0)
}

pub(super) async fn load(store: &dyn Store, partition: Partition, name: &str) -> Option<Record> {
    let mut found = store.load(partition, &[key(name)]).await.expect("the store loads");
    assert_eq!(found.len(), 1);
    found.remove(0)
}

/// All of an index, lowest first, as ranks and keys.
pub(super) async fn list(store: &dyn Store, name: &str) -> Vec<(u64, String)> {
    scan(store, name, Range::default()).await
}

pub(super) async fn scan(store: &dyn Store, name: &str, range: Range) -> Vec<(u64, String)> {
    let page = store.scan(&index(name), &Partitions::All, range, 10_000).await.expect("the store scans");
    assert!(!page.more, "a page that is not full has nothing behind it");
    page.items.into_iter().map(|found| (found.rank, found.key.to_string())).collect()
}

/// All due times, earliest first.
pub(super) async fn dues(store: &dyn Store) -> Vec<(u64, String)> {
    let found = store.due(&Partitions::All, Range::default(), 10_000).await.expect("the store tells due times");
    found.items.into_iter().map(|found| (found.rank, found.key.to_string())).collect()
}

pub(super) async fn log(store: &dyn Store, partition: Partition, name: &str) -> Vec<(u64, Bytes)> {
    let entries = store.read_log(partition, &key(name), 0, 10_000).await.expect("the store reads logs");
    entries.into_iter().map(|entry| (entry.seq, entry.body)).collect()
}

/// Every event from the start.
pub(super) async fn feed(store: &dyn Store) -> Vec<Event> {
    store.read_feed(&Cursor::start(), 100_000).await.expect("the store reads feeds").events
}

/// Waits at most thirty seconds, far longer than anything here takes on a working store.
pub(super) async fn soon<F: Future>(what: &str, future: F) -> F::Output {
    #[allow(clippy::disallowed_methods)]
    // A check of hints has to give up at some time, and only real time passes here.
    let waited = tokio::time::timeout(Duration::from_secs(30), future).await;
    match waited {
        Ok(output) => output,
        Err(_) => panic!("{what} did not happen within thirty seconds"),
    }
}

/// A small generator of chance, the same everywhere.
#[derive(Debug)]
pub(super) struct Chance(u64);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// True once in `times`.
    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(super) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}
