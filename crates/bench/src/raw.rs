//! The store without the engine: the same rows written again, and a lean write to compare with.

use super::Error;
use super::capture::Captured;
use super::measure::{Meter, Tally};
use super::side::Side;
use super::site::Fresh;
use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::join_all;
use onward_engine::clock::Chance;
use onward_store::{Batch, Entry, IndexName, Key, Outcome, Partition, Record, Store, Version};
use parking_lot::Mutex;
use std::sync::Arc;

/// The bytes of a lean record.
const LEAN_BYTES: usize = 300;
/// Commits of a lifecycle.
const LEAN_COMMITS: usize = 3;

/// Calls to a store that somebody prepared: each caller takes the next piece and commits its groups in order.
type Piece = Vec<Vec<Batch>>;

/// Writes captured batches again.
#[derive(Debug)]
pub(crate) struct RawSide {
    fresh: Fresh,
    callers: usize,
    captured: Arc<Captured>,
    next: usize,
}

impl RawSide {
    /// Writes what the captured lifecycles expect to be there, and some of them.
    pub(crate) async fn start(
        fresh: Fresh,
        captured: Arc<Captured>,
        callers: usize,
        warm_up: usize,
    ) -> Result<Self, Error> {
        prepare(&*fresh.store, &captured).await?;
        let mut side = Self { fresh, callers, captured, next: 0 };
        side.run(warm_up).await?;
        Ok(side)
    }
}

/// Writes what captured lifecycles expect to be there.
pub(crate) async fn prepare(store: &dyn Store, captured: &Captured) -> Result<(), Error> {
    for group in captured.first.chunks(100) {
        commit(store, group.to_vec()).await?;
    }
    Ok(())
}

#[async_trait]
impl Side for RawSide {
    async fn run(&mut self, amount: usize) -> Result<Tally, Error> {
        let pieces = self.captured.lifecycles.iter().skip(self.next).take(amount);
        let pieces: Vec<Piece> =
            pieces.map(|batches| batches.iter().map(|batch| vec![batch.clone()]).collect()).collect();
        if pieces.len() < amount {
            return Err(Error::Broken("fewer lifecycles were captured than are to be written".to_owned()));
        }
        self.next += amount;
        write(&self.fresh.store, pieces, self.callers).await
    }

    async fn end(self: Box<Self>) -> Result<(), Error> {
        self.fresh.discard().await
    }
}

/// Writes one small record with one index entry in each commit, three commits for a lifecycle.
#[derive(Debug)]
pub(crate) struct LeanSide {
    fresh: Fresh,
    callers: usize,
    chance: Chance,
    next: u64,
}

impl LeanSide {
    pub(crate) async fn start(fresh: Fresh, callers: usize, warm_up: usize) -> Result<Self, Error> {
        let mut side = Self { fresh, callers, chance: Chance::from_os(), next: 0 };
        side.run(warm_up).await?;
        Ok(side)
    }

    fn batch(&mut self) -> Batch {
        self.next += 1;
        let partition = Partition((self.next % u64::from(self.fresh.store.meta().partitions)) as u16);
        let mut batch = Batch::new(partition, Version(self.chance.id()));
        let key = Key::new(format!("lean-{:040}", self.next));
        batch.expect.push((key.clone(), None));
        let entries = vec![Entry { name: IndexName::new("lean/default"), rank: self.next }];
        let body = Bytes::from_static(&[b'x'; LEAN_BYTES]);
        batch.put.push(Record { key, version: batch.id, body, entries, due: None });
        batch
    }
}

#[async_trait]
impl Side for LeanSide {
    async fn run(&mut self, amount: usize) -> Result<Tally, Error> {
        let pieces: Vec<Piece> = (0..amount).map(|_| (0..LEAN_COMMITS).map(|_| vec![self.batch()]).collect()).collect();
        write(&self.fresh.store, pieces, self.callers).await
    }

    async fn end(self: Box<Self>) -> Result<(), Error> {
        self.fresh.discard().await
    }
}

/// Writes pieces with several callers at once.
pub(crate) async fn write(store: &Arc<dyn Store>, pieces: Vec<Piece>, callers: usize) -> Result<Tally, Error> {
    let tried = pieces.len();
    let queue = Arc::new(Mutex::new(pieces.into_iter()));
    let meter = Meter::start(store)?;
    let tasks = (0..callers).map(|_| tokio::spawn(caller(store.clone(), queue.clone())));
    meter.end(Tally { tried, ..Tally::of(join_all(tasks).await)? })
}

async fn caller(store: Arc<dyn Store>, queue: Arc<Mutex<std::vec::IntoIter<Piece>>>) -> Tally {
    let mut tally = Tally::default();
    loop {
        let next = queue.lock().next();
        let Some(groups) = next else { return tally };
        match commit_all(&*store, groups).await {
            Ok(()) => tally.done += 1,
            Err(error) => tally.failure = tally.failure.or(Some(error.to_string())),
        }
    }
}

async fn commit_all(store: &dyn Store, groups: Piece) -> Result<(), Error> {
    for group in groups {
        commit(store, group).await?;
    }
    Ok(())
}

/// Commits a group of which every batch must be written.
pub(crate) async fn commit(store: &dyn Store, group: Vec<Batch>) -> Result<(), Error> {
    for outcome in store.commit(group).await? {
        if !matches!(outcome, Outcome::Committed { .. }) {
            return Err(Error::Broken(format!("a prepared batch was not written: {outcome:?}")));
        }
    }
    Ok(())
}
