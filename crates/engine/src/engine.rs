//! The engine as its users see it: start, submit, claim, renew, complete, fail, look, stop.

use crate::board::Board;
use crate::clock::StoreTime;
use crate::metrics::Metrics;
use crate::office::Office;
use crate::partition::Partition;
use crate::shared::{Shared, Way};
use crate::timers::Timers;
use crate::{Error, ListCursor, Listing, MetricsSnapshot, Options, Wants};
use crate::{claims, clockwork, jobs, query, wakes};
use futures_util::future::join_all;
use onward_core::record::Execution;
use onward_core::{
    AfterFailure, Claimed, Class, Command, CommandId, Complete, ExecutionId, Fail, Failure, Fence, IdempotencyKey,
    Kind, Lane, Millis, Namespace, PartitionId, Payload, PayloadSlot, Policy, Rejection, Renew, Reply, Share, Span,
    Submit, Submitted, TagKey, TagValue, Unclaim, When, limits,
};
use onward_store::Store;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tokio::sync::{Notify, mpsc, watch};
use uuid::Uuid;

/// A running engine; clones share it. When the last one is dropped, everything accepted is still answered, in the
/// background; [`Engine::shutdown`] waits for it.
#[derive(Debug, Clone)]
pub struct Engine {
    pub(crate) shared: Arc<Shared>,
    _last: Arc<StopWhenDropped>,
}

/// Stops the engine's tasks when nobody can call it any more.
#[derive(Debug)]
struct StopWhenDropped(Arc<Shared>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.stopping.send_replace(true);
        self.0.board.close();
    }
}

/// What to run.
#[derive(Debug, Clone)]
pub struct NewExecution {
    /// Whose.
    pub namespace: Namespace,
    /// Where it queues.
    pub lane: Lane,
    /// Which handler runs it.
    pub kind: Kind,
    /// What it works on.
    pub input: Payload,
    /// Higher runs first; 0 to 9,000.
    pub priority: u16,
    /// When it may run.
    pub when: When,
    /// Labels.
    pub tags: BTreeMap<TagKey, TagValue>,
    /// Which capabilities it requires.
    pub requires: Class,
    /// What to do when it fails, and so on.
    pub policy: Policy,
    /// Makes a second submit with the same key return the first execution.
    pub idempotency_key: Option<IdempotencyKey>,
}

impl NewExecution {
    /// Work for a handler, in the default namespace and lane, at once.
    #[must_use]
    pub fn new(kind: Kind, input: Payload) -> Self {
        Self {
            namespace: Namespace::default(),
            lane: Lane::default(),
            kind,
            input,
            priority: 0,
            when: When::Now,
            tags: BTreeMap::new(),
            requires: Class::default(),
            policy: Policy::default(),
            idempotency_key: None,
        }
    }
}

/// The ids of one submit. A caller that repeats a submit after an unknown outcome repeats them too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubmitIds {
    /// The call.
    pub command: CommandId,
    /// The execution.
    pub execution: ExecutionId,
}

impl Engine {
    /// Starts an engine on a store.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn start(store: Arc<dyn Store>, options: Options) -> Result<Self, Error> {
        let partitions = store.meta().partitions;
        let mut ways = Vec::new();
        let mut inboxes = Vec::new();
        for _ in 0..partitions {
            let (sender, inbox) = mpsc::unbounded_channel();
            let depth = Arc::new(AtomicUsize::new(0));
            inboxes.push((inbox, depth.clone()));
            ways.push(Way { sender, depth });
        }
        let shared = Arc::new(Shared {
            store,
            partitions,
            clock: options.clock.clone(),
            chance: options.chance.clone(),
            time: StoreTime::new(options.clock.clone()),
            options,
            board: Board::default(),
            timers: Timers::new(),
            office: Office::default(),
            metrics: Metrics::default(),
            ways,
            jobs: jobs::Jobs::default(),
            stopping: watch::Sender::new(false),
            delivered: Notify::new(),
            unserved: Arc::new(Notify::new()),
        });
        claims::load_classes(&shared).await?;
        for (id, (inbox, depth)) in (0..).map(PartitionId).zip(inboxes) {
            shared.jobs.spawn(Partition::new(id, shared.clone(), inbox, depth).run());
        }
        supervise(&shared, "clockwork", clockwork::run);
        supervise(&shared, "sweep", clockwork::sweep);
        supervise(&shared, "wakes", wakes::run);
        Ok(Self { _last: Arc::new(StopWhenDropped(shared.clone())), shared })
    }

    /// Draws the ids for a submit.
    #[must_use]
    pub fn submit_ids(&self, new: &NewExecution) -> SubmitIds {
        let chance = &self.shared.chance;
        let uuid = uuid_v7(self.shared.time.now(), chance.id());
        let partition = match &new.idempotency_key {
            Some(key) => {
                let parts = [new.namespace.as_str().as_bytes(), key.as_str().as_bytes()];
                PartitionId::of(&parts, self.shared.partitions)
            }
            None => PartitionId::of(&[uuid.as_bytes()], self.shared.partitions),
        };
        SubmitIds { command: CommandId(chance.id()), execution: ExecutionId::new(uuid, partition) }
    }

    /// Accepts an execution; when this answers, it is durable.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn submit(&self, new: NewExecution) -> Result<Submitted, Error> {
        let ids = self.submit_ids(&new);
        self.submit_with(ids, new).await
    }

    /// Accepts an execution under ids drawn before, so that the call can be repeated.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn submit_with(&self, ids: SubmitIds, new: NewExecution) -> Result<Submitted, Error> {
        let submit = Submit {
            command: ids.command,
            id: ids.execution,
            namespace: new.namespace,
            lane: new.lane,
            kind: new.kind,
            input: new.input,
            priority: new.priority,
            when: new.when,
            tags: new.tags,
            requires: new.requires,
            share: Share::default(),
            policy: new.policy,
            idempotency_key: new.idempotency_key,
        };
        match self.call(ids.execution.partition(), Command::Submit(Box::new(submit))).await? {
            Reply::Submitted(submitted) => Ok(submitted),
            other => Err(unexpected(&other)),
        }
    }

    /// Accepts many executions, each on its own; the answers come in the same order.
    ///
    /// # Errors
    /// Refuses more than 1,000 at once.
    pub async fn submit_many(&self, many: Vec<NewExecution>) -> Result<Vec<Result<Submitted, Error>>, Error> {
        let max = limits::CALL_ITEMS_MAX;
        if many.len() > max {
            let why = format!("at most {max} executions fit one call, {} were given", many.len());
            return Err(Rejection::InvalidArgument { field: "executions", why }.into());
        }
        Ok(join_all(many.into_iter().map(|new| self.submit(new))).await)
    }

    /// Takes up to `wants.max` executions under leases; with nothing ready it waits up to `wait` for the first.
    ///
    /// # Errors
    /// A refusal, or a failure of the store. No work is not an error: the answer is empty.
    pub async fn claim(&self, wants: &Wants, wait: Span) -> Result<Vec<Claimed>, Error> {
        claims::claim(&self.shared, wants, wait).await
    }

    /// Extends leases; the answers come in the same order.
    pub async fn renew(&self, fences: &[Fence], ttl: Span) -> Vec<Result<Millis, Error>> {
        let calls = fences.iter().map(|fence| async move {
            let command = Command::Renew(Renew { fence: *fence, ttl });
            match self.call(fence.execution.partition(), command).await? {
                Reply::Renewed { expires_at } => Ok(expires_at),
                other => Err(unexpected(&other)),
            }
        });
        join_all(calls).await
    }

    /// Draws an id for a call that ends an attempt.
    #[must_use]
    pub fn command_id(&self) -> CommandId {
        CommandId(self.shared.chance.id())
    }

    /// Ends an execution well.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn complete(&self, fence: Fence, result: Payload) -> Result<(), Error> {
        self.complete_with(self.command_id(), fence, result).await
    }

    /// Ends an execution well under an id drawn before, so that the call can be repeated.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn complete_with(&self, command: CommandId, fence: Fence, result: Payload) -> Result<(), Error> {
        let complete = Command::Complete(Complete { command, fence, result });
        match self.call(fence.execution.partition(), complete).await? {
            Reply::Completed => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Ends an execution well and takes the next one if there is one, both in one group of commits.
    ///
    /// # Errors
    /// A refusal of the completion, or a failure of the store. Work that was claimed nevertheless comes with it.
    pub async fn complete_and_claim(
        &self,
        fence: Fence,
        result: Payload,
        wants: &Wants,
    ) -> (Result<(), Error>, Result<Vec<Claimed>, Error>) {
        futures_util::future::join(self.complete(fence, result), self.claim(wants, Span(0))).await
    }

    /// Ends an attempt badly; the policy decides what follows.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn fail(&self, fence: Fence, failure: Failure) -> Result<AfterFailure, Error> {
        self.fail_with(self.command_id(), fence, failure).await
    }

    /// Ends an attempt badly under an id drawn before, so that the call can be repeated.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn fail_with(&self, command: CommandId, fence: Fence, failure: Failure) -> Result<AfterFailure, Error> {
        let fail = Command::Fail(Fail { command, fence, failure, seed: self.shared.chance.word() });
        match self.call(fence.execution.partition(), fail).await? {
            Reply::Failed(after) => Ok(after),
            other => Err(unexpected(&other)),
        }
    }

    /// Gives a lease back unused; the execution is ready again at once.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn unclaim(&self, fence: Fence) -> Result<(), Error> {
        let unclaim = Command::Unclaim(Unclaim { command: self.command_id(), fence });
        self.call(fence.execution.partition(), unclaim).await.map(|_| ())
    }

    /// One execution as it is stored; nothing when there is none.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn get(&self, id: ExecutionId) -> Result<Option<Execution>, Error> {
        query::get(&self.shared, id).await
    }

    /// The input or the result of an execution, whether it is held in place or beside.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn payload(&self, execution: &Execution, slot: PayloadSlot) -> Result<Option<Payload>, Error> {
        query::payload(&self.shared, execution, slot).await
    }

    /// Executions of a namespace, newest first.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn list(&self, namespace: &Namespace, after: Option<ListCursor>, limit: usize) -> Result<Listing, Error> {
        query::list(&self.shared, namespace, after, limit).await
    }

    /// What the engine has done since it started.
    #[must_use]
    pub fn metrics(&self) -> MetricsSnapshot {
        self.shared.metrics.snapshot()
    }

    /// The store it runs on.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// The store's time, as far as this process knows it.
    #[must_use]
    pub fn now(&self) -> Millis {
        self.shared.time.now()
    }

    /// Turns new calls away, answers everything that was accepted, ends the background jobs. The store stays open.
    pub async fn shutdown(&self) {
        self.shared.stopping.send_replace(true);
        self.shared.board.close();
        loop {
            let mut tasks = self.shared.jobs.take();
            if tasks.is_empty() {
                return;
            }
            while tasks.join_next().await.is_some() {}
        }
    }

    /// Ends everything where it stands, as a crash would.
    pub fn abort(&self) {
        self.shared.stopping.send_replace(true);
        self.shared.board.close();
        self.shared.jobs.abort();
    }

    pub(crate) async fn call(&self, partition: PartitionId, command: Command) -> Result<Reply, Error> {
        if self.shared.is_stopping() {
            return Err(Error::ShuttingDown);
        }
        self.shared.call(partition, command).await
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

fn unexpected(reply: &Reply) -> Error {
    Error::Internal(format!("the wrong kind of answer: {reply:?}"))
}

/// A version 7 uuid: 48 bits of time, then chance.
fn uuid_v7(now: Millis, chance: u128) -> Uuid {
    let time = u128::from(now.0 & 0xffff_ffff_ffff) << 80;
    let random = chance & 0x0fff_3fff_ffff_ffff_ffff;
    Uuid::from_u128(time | 0x7000_8000_0000_0000_0000 | random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_start_with_the_time_and_are_of_version_seven() {
        let uuid = uuid_v7(Millis(0x0192_f0c8_aabb), u128::MAX);
        assert_eq!(uuid.to_string(), "0192f0c8-aabb-7fff-bfff-ffffffffffff");
        assert_eq!((uuid.get_version_num(), uuid.get_variant()), (7, uuid::Variant::RFC4122));
    }
}
