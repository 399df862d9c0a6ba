//! The public engine handle: start, submit, claim, query, shut down.

use crate::api::{query, submission};
use crate::events::subscription;
use crate::members::{heartbeat, wakes};
use crate::partition::Partition;
use crate::shared::{PartitionHandle, Shared};
use crate::timers::{due, housekeeping, review};
use crate::watches::{feed, reader};
use crate::work::placement::Placement;
use crate::work::queue_bytes::QueueBytes;
use crate::work::{claims, registry, remote};
use crate::{Error, MetricsSnapshot, Options, Wants, shared};
use onward_core::index::DueKind;
use onward_core::record::Execution;
use onward_core::{
    Addressed, Claimed, CommandId, ExecutionId, Millis, NewExecution, PartitionId, Payload, PayloadSlot, Rejection,
    Span, Submit, Submitted, limits,
};
use onward_store::Store;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A running engine; clones share it. When the last clone is dropped, accepted calls are still answered in the
/// background; [`Engine::shutdown`] waits for that.
#[derive(Debug, Clone)]
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
    _last: Arc<StopWhenDropped>,
}

/// Stops the engine's tasks when the last handle is dropped.
#[derive(Debug)]
struct StopWhenDropped(Arc<Shared>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.stopping.cancel();
        self.0.board.close();
    }
}

impl Engine {
    /// Starts an engine on a store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn start(store: Arc<dyn Store>, options: Options) -> Result<Self, Error> {
        let partitions = store.meta().partitions;
        let placement = Placement::new(options.chance.word());
        let mut handles = Vec::new();
        let mut inboxes = Vec::new();
        let bytes = Arc::default();
        for _ in 0..partitions {
            let (sender, inbox) = mpsc::unbounded_channel();
            let gauge = placement.gauge();
            inboxes.push((inbox, gauge.clone()));
            handles.push(PartitionHandle { sender, gauge, bytes: QueueBytes::new(&bytes) });
        }
        let shared = Arc::new(Shared::new(store, options, placement, handles));
        registry::read(&shared).await?;
        for (id, (inbox, gauge)) in (0..).map(PartitionId).zip(inboxes) {
            shared.jobs.spawn(Partition::new(id, shared.clone(), inbox, gauge).run());
        }
        supervise(&shared, "members", heartbeat::run);
        supervise(&shared, "timers", |shared| due::run(shared, DueKind::Timer));
        supervise(&shared, "leases", |shared| due::run(shared, DueKind::Lease));
        supervise(&shared, "lease review", review::run);
        supervise(&shared, "sweep", due::sweep);
        supervise(&shared, "housekeeping", housekeeping::run);
        supervise(&shared, "wakes", wakes::run);
        supervise(&shared, "remote work", remote::run);
        supervise(&shared, "watches", reader::run);
        supervise(&shared, "watches of the feed", feed::run);
        supervise(&shared, "feed", subscription::trim);
        Ok(Self { _last: Arc::new(StopWhenDropped(shared.clone())), shared })
    }

    /// Draws the ids under which an execution is submitted. Running the same submit again after an unknown outcome finds
    /// what the first one did.
    #[must_use]
    pub fn address(&self, new: impl Into<Box<NewExecution>>) -> Submit {
        self.address_one_of(new, (0, 1))
    }

    fn address_one_of(&self, new: impl Into<Box<NewExecution>>, nth: (usize, usize)) -> Submit {
        let (shared, new) = (&self.shared, new.into());
        let now = shared.time.now();
        let place = || shared.place(&new, now, nth);
        let (command, id) = submission::ids(&new, &shared.chance, now, shared.partitions, place);
        Submit { command, id, arrived: shared.arrivals.next(now), new }
    }

    /// Submits an execution; it is durable once this returns.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn submit(&self, new: impl Into<Box<NewExecution>>) -> Result<Submitted, Error> {
        self.run(self.address(new)).await
    }

    /// Submits many executions, each independently; the results come in the same order.
    ///
    /// # Errors
    /// More than 1,000 executions in one call are refused.
    pub async fn submit_many(&self, many: Vec<NewExecution>) -> Result<Vec<Result<Submitted, Error>>, Error> {
        let max = limits::CALL_ITEMS_MAX;
        if many.len() > max {
            let why = format!("at most {max} executions fit one call, {} were given", many.len());
            return Err(Rejection::InvalidArgument { field: "executions", why }.into());
        }
        let count = many.len();
        let submits = many.into_iter().enumerate().map(|(at, new)| self.address_one_of(new, (at, count)));
        Ok(self.run_many(submits).await)
    }

    /// Claims up to `wants.max` executions under leases; if nothing is ready, waits up to `wait` for the first.
    ///
    /// # Errors
    /// A refusal, or a failure of the store. No ready work is not an error: the result is empty.
    pub async fn claim(&self, wants: &Wants, wait: Span) -> Result<Vec<Claimed>, Error> {
        claims::claim(&self.shared, wants, wait).await
    }

    /// Draws an id for a call that ends an attempt; a retry of the call carries the same id.
    #[must_use]
    pub fn command_id(&self) -> CommandId {
        CommandId(self.shared.chance.id())
    }

    /// Reads one execution; `None` if it does not exist.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn get(&self, id: ExecutionId) -> Result<Option<Execution>, Error> {
        query::get(&self.shared, id).await
    }

    /// Reads the input or the result of an execution, whether it is stored inline or in its own record.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn payload(&self, execution: &Execution, slot: PayloadSlot) -> Result<Option<Payload>, Error> {
        query::payload(&self.shared, execution, slot).await
    }

    /// Counters of what the engine has done since it started.
    #[must_use]
    pub fn metrics(&self) -> MetricsSnapshot {
        self.shared.metrics.snapshot()
    }

    /// The partitions whose timers, messages and housekeeping this process runs now.
    #[must_use]
    pub fn homes(&self) -> Vec<PartitionId> {
        let homes = self.shared.homes();
        (0..self.shared.partitions).map(PartitionId).filter(|partition| homes.contains(*partition)).collect()
    }

    /// The store that the engine runs on.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// The store's time, as estimated by this process.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.shared.time.now()
    }

    /// Refuses new calls, answers the accepted ones and ends the background jobs. The store stays open. A second call
    /// waits for the same shutdown.
    pub async fn shutdown(&self) {
        self.shared.stopping.cancel();
        self.shared.board.close();
        self.shared.jobs.join().await;
    }

    /// Ends all tasks at once, as a crash would.
    pub fn abort(&self) {
        self.shared.stopping.cancel();
        self.shared.board.close();
        self.shared.jobs.abort();
    }

    /// Runs one verb in its partition. A verb that names its call can be run again after an unknown outcome: the repeat
    /// finds what the first one did.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn run<V: Addressed>(&self, verb: V) -> Result<V::Reply, Error> {
        if self.shared.is_stopping() {
            return Err(Error::ShuttingDown);
        }
        self.shared.call(verb.home(self.shared.partitions), verb).await
    }

    /// Runs many verbs, each independently; the results come in the same order.
    pub async fn run_many<V: Addressed>(&self, verbs: impl Iterator<Item = V>) -> Vec<Result<V::Reply, Error>> {
        let commands = verbs.map(|verb| (verb.home(self.shared.partitions), verb.into())).collect();
        let answers = self.shared.call_all(commands).await;
        answers.into_iter().map(|answer| answer.and_then(|reply| shared::typed(V::open(reply)))).collect()
    }
}

fn supervise<F>(shared: &Arc<Shared>, name: &'static str, job: fn(Arc<Shared>) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let (counted, run) = (shared.clone(), shared.clone());
    let on_restart = move || counted.metrics.job_restarts.add(1);
    shared.jobs.supervise(name, shared.clock.clone(), on_restart, move || job(run.clone()));
}
