//! What the contract means, in the plainest form: a store of ordered maps behind one lock, kept in memory.
//!
//! It is the reference that other stores are compared with, and the store that simulations run on, so it prefers
//! being obviously right to being fast. Everything iterates in key order; equal calls give equal answers.

mod audit;
mod contents;

use crate::cost::Cost;
use crate::layout::LAYOUT;
use crate::{
    AuditPage, Batch, Clock, Count, Cursor, Durability, FeedPage, Health, Home, IndexName, Key, LogEntry, Meta,
    Outcome, Page, Partition, Partitions, Range, Record, Result, Stats, Store, Wake, check,
};
use async_trait::async_trait;
use contents::Contents;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

pub use contents::Snapshot;

/// Hints buffered for a slow listener; one that falls further behind gets a single hint that names no partition.
const HINTS_KEPT: usize = 1024;

/// A handle to a store in memory; its clones share the data and act as further processes.
pub struct Memory {
    state: Arc<MemoryState>,
    id: u64,
    stats: Mutex<Stats>,
    closed: CancellationToken,
    home: watch::Sender<Home>,
}

/// What all handles to one store share.
struct MemoryState {
    contents: Mutex<Contents>,
    clock: Clock,
    meta: Meta,
    /// What every handle reports until it is closed.
    home: Home,
    handles: AtomicU64,
    hints: broadcast::Sender<(u64, Wake)>,
}

impl Memory {
    /// An empty store.
    #[must_use]
    pub fn new(partitions: u16, clock: Clock, store_id: u128) -> Self {
        Self::empty(partitions, clock, store_id, Home::Everywhere)
    }

    /// An empty store whose handles share the partitions, as processes on a server do.
    #[must_use]
    pub fn for_members(partitions: u16, clock: Clock, store_id: u128) -> Self {
        Self::empty(partitions, clock, store_id, Home::ByMembership)
    }

    fn empty(partitions: u16, clock: Clock, store_id: u128, home: Home) -> Self {
        let (hints, _) = broadcast::channel(HINTS_KEPT);
        let meta = Meta { store_id, partitions, layout: LAYOUT };
        let contents = Mutex::new(Contents::default());
        Self::with(Arc::new(MemoryState { contents, clock, meta, home, handles: AtomicU64::new(0), hints }))
    }

    /// Another handle to the same data, as another process would have; it lives and closes on its own.
    #[must_use]
    pub fn handle(&self) -> Self {
        Self::with(Arc::clone(&self.state))
    }

    /// Everything the store holds, for checkers.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.state.contents.lock().snapshot()
    }

    fn with(state: Arc<MemoryState>) -> Self {
        let id = state.handles.fetch_add(1, Ordering::Relaxed);
        let (home, _) = watch::channel(state.home);
        Self { state, id, stats: Mutex::default(), closed: CancellationToken::new(), home }
    }

    fn count_stats(&self, count: impl FnOnce(&mut Stats)) {
        count(&mut self.stats.lock());
    }

    fn open(&self) -> Result<()> {
        if self.closed.is_cancelled() { Err(check::closed()) } else { Ok(()) }
    }

    fn read(&self) -> Result<MutexGuard<'_, Contents>> {
        self.open()?;
        self.count_stats(|stats| stats.reads += 1);
        Ok(self.state.contents.lock())
    }

    fn count_group(&self, outcomes: &[Outcome], cost: Cost) {
        self.count_stats(|stats| {
            stats.groups += u64::from(cost.rows > 0);
            for outcome in outcomes {
                match outcome {
                    Outcome::Committed { .. } => stats.batches += 1,
                    Outcome::Conflict { .. } => stats.conflicts += 1,
                    Outcome::Outside { .. } => {}
                }
            }
            cost.add_to(stats);
        });
    }
}

impl Drop for Memory {
    /// Ends the streams of hints; the other handles go on.
    fn drop(&mut self) {
        self.closed.cancel();
    }
}

impl Clone for Memory {
    fn clone(&self) -> Self {
        self.handle()
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Memory").field("handle", &self.id).field("meta", &self.state.meta).finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for Memory {
    async fn load(&self, partition: Partition, keys: &[Key]) -> Result<Vec<Option<Record>>> {
        check::load(partition, keys, self.state.meta.partitions)?;
        let contents = self.read()?;
        keys.iter().map(|key| contents.record(partition, key)).collect()
    }

    async fn commit(&self, group: Vec<Batch>) -> Result<Vec<Outcome>> {
        self.open()?;
        let plans = check::plan_all(group, self.state.meta.partitions)?;
        let mut outcomes = Vec::with_capacity(plans.len());
        let mut cost = Cost::default();
        let mut failure = None;
        let mut wakes = Vec::new();
        {
            let mut contents = self.state.contents.lock();
            for plan in &plans {
                match contents.apply(plan, (self.state.clock)(), &mut cost) {
                    Ok(outcome) => outcomes.push(outcome),
                    Err(error) => {
                        failure = Some(error);
                        break;
                    }
                }
                if matches!(outcomes.last(), Some(Outcome::Committed { .. })) && !plan.batch.is_check_only() {
                    wakes.push(Wake { partition: Some(plan.batch.partition), topics: plan.batch.wake.clone() });
                }
            }
        }
        self.count_group(&outcomes, cost);
        let untouched = wakes.is_empty();
        for wake in wakes {
            // Nobody listening is the normal case.
            let _ = self.state.hints.send((self.id, wake));
        }
        match failure {
            None => Ok(outcomes),
            Some(error) if untouched => Err(error),
            Some(error) => Err(error.written()),
        }
    }

    async fn scan_many(
        &self,
        wanted: &[(IndexName, Range)],
        partitions: &Partitions,
        limit: usize,
    ) -> Result<Vec<Page>> {
        if wanted.is_empty() {
            return self.open().map(|()| Vec::new());
        }
        let contents = self.read()?;
        Ok(wanted.iter().map(|(index, range)| contents.scan(index, partitions, range, limit)).collect())
    }

    async fn count(&self, index: &IndexName, partitions: &Partitions, cap: u64) -> Result<Count> {
        Ok(self.read()?.count(index, partitions, cap))
    }

    async fn due(&self, partitions: &Partitions, range: Range, limit: usize) -> Result<Page> {
        Ok(self.read()?.due(partitions, &range, limit))
    }

    async fn read_log(&self, partition: Partition, log: &Key, after: u64, limit: usize) -> Result<Vec<LogEntry>> {
        check::partition_exists(partition, self.state.meta.partitions)?;
        self.read()?.read_log(partition, log, after, limit)
    }

    async fn read_feed(&self, after: &Cursor, limit: usize) -> Result<FeedPage> {
        self.read()?.read_feed(after, limit)
    }

    async fn audit(&self, from: Option<&str>, limit: usize) -> Result<AuditPage> {
        self.read()?.audit(from, limit)
    }

    fn watch(&self) -> BoxStream<'static, Wake> {
        let hints = self.state.hints.subscribe();
        let closed = self.closed.clone();
        stream::unfold((hints, closed, self.id), |(mut hints, closed, id)| async move {
            let wake = tokio::select! {
                biased;
                () = closed.cancelled() => None,
                wake = next_hint(&mut hints, id) => wake,
            };
            wake.map(|wake| (wake, (hints, closed, id)))
        })
        .boxed()
    }

    fn home(&self) -> watch::Receiver<Home> {
        self.home.subscribe()
    }

    fn meta(&self) -> Meta {
        self.state.meta
    }

    async fn health(&self) -> Result<Health> {
        self.open()?;
        let detail = "the store is in memory: records end with the process".to_owned();
        Ok(Health { durability: Durability::Memory, detail })
    }

    fn stats(&self) -> Stats {
        *self.stats.lock()
    }

    async fn close(&self) -> Result<()> {
        self.closed.cancel();
        self.home.send_replace(Home::Nowhere);
        Ok(())
    }
}

/// The next hint that another handle gave.
async fn next_hint(hints: &mut broadcast::Receiver<(u64, Wake)>, own: u64) -> Option<Wake> {
    loop {
        match hints.recv().await {
            Ok((from, _)) if from == own => {}
            Ok((_, wake)) => return Some(wake),
            Err(broadcast::error::RecvError::Lagged(_)) => return Some(Wake { partition: None, topics: Vec::new() }),
            Err(broadcast::error::RecvError::Closed) => return None,
        }
    }
}
