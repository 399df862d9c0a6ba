//! What the engine really writes: batches captured from one sequential caller, to be written again without it.

use super::Error;
use super::tap::Tap;
use super::work::{self, PATIENCE};
use futures_util::future::join;
use onward_core::limits::PARTITIONS_DEFAULT;
use onward_core::{Fence, Lane, PartitionId};
use onward_engine::{Engine, Options};
use onward_store::memory::Memory;
use onward_store::{Batch, Stats, Store, system_clock};
use parking_lot::Mutex;
use std::sync::Arc;

/// Lifecycles as batches, and what each command of them wrote.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    /// What must be written first, in this order: the registrations that later batches expect.
    pub(crate) first: Vec<Batch>,
    /// One lifecycle each: its batches, in order.
    pub(crate) lifecycles: Vec<Vec<Batch>>,
    pub(crate) submit: Written,
    pub(crate) claim: Written,
    pub(crate) complete: Written,
}

/// How much one kind of command writes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Written {
    commands: u64,
    bytes: u64,
    pub(crate) rows_max: u64,
}

impl Written {
    pub(crate) fn bytes_mean(&self) -> f64 {
        self.bytes as f64 / self.commands.max(1) as f64
    }

    fn add(&mut self, before: &Stats, after: &Stats) {
        self.commands += 1;
        self.bytes += after.bytes - before.bytes;
        self.rows_max = self.rows_max.max(after.rows - before.rows);
    }
}

/// Captures lifecycles of three commits each: submit, claim, complete.
pub(crate) async fn lifecycles(count: usize, lane: &Lane) -> Result<Captured, Error> {
    let engine = Recorder::start().await?;
    let mut captured = Captured { first: engine.register(lane).await?, ..Captured::default() };
    for partition in partitions().cycle().take(count) {
        let start = engine.stats();
        work::submit_to(&engine.engine, lane, partition).await?;
        let submitted = engine.stats();
        let claimed = work::one(engine.engine.claim(&work::patient(lane), PATIENCE).await?)?;
        let running = engine.stats();
        engine.engine.complete(claimed.fence, work::result()).await?;
        captured.submit.add(&start, &submitted);
        captured.claim.add(&submitted, &running);
        captured.complete.add(&running, &engine.stats());
        captured.lifecycles.push(engine.take());
    }
    engine.stop().await;
    Ok(captured)
}

/// Captures lifecycles whose submit is handed to a parked worker in one commit; the completion is the second.
pub(crate) async fn hand_offs(count: usize, lane: &Lane) -> Result<Captured, Error> {
    let engine = Recorder::start().await?;
    let mut captured = Captured { first: engine.register(lane).await?, ..Captured::default() };
    for partition in partitions().cycle().take(count) {
        let fence = engine.hand_off(lane, partition).await?;
        engine.engine.complete(fence, work::result()).await?;
        let batches = engine.take();
        if batches.len() != 2 {
            let seen = batches.len();
            return Err(Error::Broken(format!("a hand-off and its completion took {seen} commits instead of two")));
        }
        captured.lifecycles.push(batches);
    }
    engine.stop().await;
    Ok(captured)
}

/// All partitions, so that what is written again uses each of them alike.
fn partitions() -> impl Iterator<Item = PartitionId> + Clone {
    (0..PARTITIONS_DEFAULT).map(PartitionId)
}

/// An engine on a store in memory that keeps every batch.
struct Recorder {
    engine: Engine,
    store: Arc<dyn Store>,
    batches: Arc<Mutex<Vec<Batch>>>,
}

impl Recorder {
    async fn start() -> Result<Self, Error> {
        let memory: Arc<dyn Store> = Arc::new(Memory::new(PARTITIONS_DEFAULT, system_clock(), 0));
        let batches: Arc<Mutex<Vec<Batch>>> = Arc::default();
        let kept = batches.clone();
        let keep = move |batch| kept.lock().push(batch);
        let store = Tap::on(memory, keep);
        let engine = Engine::start(store.clone(), Options::default()).await?;
        Ok(Self { engine, store, batches })
    }

    fn stats(&self) -> Stats {
        self.store.stats()
    }

    /// What was committed since the last call.
    fn take(&self) -> Vec<Batch> {
        std::mem::take(&mut *self.batches.lock())
    }

    /// Runs a lifecycle in every partition, so that each has registered what its first submit registers.
    async fn register(&self, lane: &Lane) -> Result<Vec<Batch>, Error> {
        work::visit(&self.engine, lane).await?;
        Ok(self.take())
    }

    /// Submits while a worker waits.
    async fn hand_off(&self, lane: &Lane, partition: PartitionId) -> Result<Fence, Error> {
        let wants = work::patient(lane);
        let (claimed, submitted) =
            join(self.engine.claim(&wants, PATIENCE), work::submit_to(&self.engine, lane, partition)).await;
        submitted?;
        Ok(work::one(claimed?)?.fence)
    }

    async fn stop(self) {
        self.engine.shutdown().await;
    }
}
