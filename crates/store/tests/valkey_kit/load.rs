//! Work that notices when something acknowledged is lost: each worker counts up in a record of its own.

use bytes::Bytes;
use onward_store::{Batch, Entry, Error, IndexName, Key, Outcome, Partition, Record, Result, Store, Version};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::task::JoinHandle;

/// A version nobody had before.
pub(crate) fn fresh() -> Version {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Version((0xbeef << 100) | u128::from(NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// A batch that puts one record with one place, expected at a version.
pub(crate) fn putting(partition: Partition, name: &str, expected: Option<Version>, body: Vec<u8>) -> Batch {
    let mut batch = Batch::new(partition, fresh());
    let key = Key::new(name);
    batch.expect.push((key.clone(), expected));
    let entries = vec![Entry { name: IndexName::new("all"), rank: 1 }];
    batch.put.push(Record { key, version: batch.id, body: Bytes::from(body), entries, due: None });
    batch
}

/// Commits one batch.
pub(crate) async fn commit(store: &dyn Store, batch: Batch) -> Result<Outcome> {
    Ok(store.commit(vec![batch]).await?.remove(0))
}

/// Workers that count until they are told to stop.
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU64>,
    workers: Vec<JoinHandle<Counted>>,
}

/// What one worker knows in the end.
#[derive(Debug)]
pub(crate) struct Counted {
    name: String,
    partition: Partition,
    at: u64,
    /// Errors met on the way.
    pub(crate) errors: u64,
    /// Commits whose outcome was unknown.
    pub(crate) unknown: u64,
}

impl Load {
    pub(crate) fn start(store: &Arc<dyn Store>, workers: u16) -> Self {
        let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let start = |at: u16| {
            let (store, stop, acknowledged) = (Arc::clone(store), Arc::clone(&stop), Arc::clone(&acknowledged));
            tokio::spawn(async move { count(&*store, at, &stop, &acknowledged).await })
        };
        let workers = (0..workers).map(start).collect();
        Self { stop, acknowledged, workers }
    }

    /// Waits until so many further commits were acknowledged.
    pub(crate) async fn further(&self, commits: u64) {
        let from = self.acknowledged.load(Ordering::Relaxed);
        while self.acknowledged.load(Ordering::Relaxed) < from + commits {
            tokio::task::yield_now().await;
        }
    }

    /// Stops, and checks that every record says what its worker was told.
    pub(crate) async fn finish(self, store: &dyn Store) -> Vec<Counted> {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Vec::new();
        for worker in self.workers {
            let counted = worker.await.expect("no worker panics");
            let (_, at) = current(store, &counted.name, counted.partition).await.expect("the store serves again");
            assert_eq!(at, counted.at, "{counted:?}");
            all.push(counted);
        }
        all
    }
}

async fn current(store: &dyn Store, name: &str, partition: Partition) -> Result<(Option<Version>, u64)> {
    let found = store.load(partition, &[Key::new(name)]).await?.remove(0);
    Ok(found.map_or((None, 0), |found| {
        let at = std::str::from_utf8(&found.body).expect("text").parse().expect("a number");
        (Some(found.version), at)
    }))
}

async fn count(store: &dyn Store, worker: u16, stop: &AtomicBool, acknowledged: &AtomicU64) -> Counted {
    let name = format!("worker/{worker}");
    let partition = Partition(worker % store.meta().partitions);
    let mut counted = Counted { name, partition, at: 0, errors: 0, unknown: 0 };
    let mut version = None;
    while !stop.load(Ordering::Relaxed) {
        let next = counted.at + 1;
        let batch = putting(partition, &counted.name, version, next.to_string().into_bytes());
        let id = batch.id;
        match commit(store, batch).await {
            Ok(Outcome::Committed { .. }) => {
                (version, counted.at) = (Some(id), next);
                acknowledged.fetch_add(1, Ordering::Relaxed);
            }
            Ok(other) => panic!("nobody else writes this record: {other:?}"),
            Err(error) => {
                counted.errors += 1;
                counted.unknown += u64::from(!error.is_unwritten());
                (version, counted.at) = after(store, &counted, &error, stop).await;
            }
        }
    }
    counted
}

/// What holds after a failed commit: what was acknowledged stays, and what was surely not written is not there.
async fn after(store: &dyn Store, counted: &Counted, error: &Error, stop: &AtomicBool) -> (Option<Version>, u64) {
    assert!(error.is_temporary(), "{error}");
    loop {
        match current(store, &counted.name, counted.partition).await {
            Ok((version, at)) => {
                let most = counted.at + u64::from(!error.is_unwritten());
                assert!(at >= counted.at && at <= most, "{at} after {error} at {counted:?}");
                return (version, at);
            }
            Err(again) => assert!(again.is_temporary() && again.is_unwritten(), "{again}"),
        }
        if stop.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
    }
}
