//! State shared by all parts of one engine: store, time, board, timers and the handles to the partition loops.

use crate::api::copies::CopyWaiters;
use crate::clock::{Chance, Clock, StoreTime};
use crate::events::reads::EventReads;
use crate::members::handover::{self, Handover};
use crate::members::roster::Homes;
use crate::members::topics::Company;
use crate::messages::delivery::Delivery;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::partition::answers;
use crate::partition::cache::CacheBudget;
use crate::partition::task::{Answer, SealedReply, Task};
use crate::timers::heap::AllTimers;
use crate::token_ring::TokenRing;
use crate::watches::Watches;
use crate::work::arrivals::Arrivals;
use crate::work::board::{Board, Match, PutBack};
use crate::work::placement::{Gauge, Placement, Traffic};
use crate::work::queue_bytes::{HeldBytes, QueueBytes};
use crate::work::registry::Registry;
use crate::work::waiters::Waiter;
use crate::{Error, jobs};
use onward_core::{
    Claim, Command, CommandId, Fence, Millis, NewExecution, PartitionId, Rejection, Reply, Report, Span, TableVerb,
    Urgency, Verb, end, limits,
};
use onward_store::Store;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) partitions: u16,
    pub(crate) options: Options,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) chance: Arc<Chance>,
    pub(crate) time: StoreTime,
    /// The order in which calls arrive here.
    pub(crate) arrivals: Arrivals,
    pub(crate) board: Board,
    /// How much of the registry of queues is read.
    pub(crate) registry: Registry,
    /// Picks the partition for new work.
    pub(crate) placement: Placement,
    pub(crate) timers: AllTimers,
    /// What the caches of all partitions may hold.
    pub(crate) cache_budget: Arc<CacheBudget>,
    pub(crate) delivery: Delivery,
    pub(crate) metrics: Metrics,
    pub(crate) handles: Vec<PartitionHandle>,
    pub(crate) jobs: jobs::Jobs,
    /// Partitions whose background work this process runs.
    homes: Mutex<Homes>,
    /// Notified when they change, each for one job: jobs that wait for one channel are woken in a random order.
    pub(crate) homes_changed: HomesChanged,
    /// Set while another process may also be the home of partitions that this one considers its own.
    pub(crate) unsure: AtomicBool,
    /// Cancelled when the engine stops.
    pub(crate) stopping: CancellationToken,
    /// When the home of this process was given to others.
    pub(crate) handover: Handover,
    /// Calls that wait until every partition has a change of a lane.
    pub(crate) copies: CopyWaiters,
    /// Notified when a record is to be removed now instead of at its due time.
    pub(crate) housework: Notify,
    /// Shared reads of the event feed; readers are notified when there may be new events.
    pub(crate) event_reads: EventReads,
    /// Calls that wait for a record to change.
    pub(crate) watches: Watches,
    /// When another process was last heard of.
    pub(crate) company: Company,
    /// The keys that sign tokens.
    pub(crate) token_ring: TokenRing,
}

/// Handle to one partition's loop. Tasks sent together share a batch if they fit.
#[derive(Debug)]
pub(crate) struct PartitionHandle {
    pub(crate) sender: mpsc::UnboundedSender<Vec<Task>>,
    pub(crate) gauge: Arc<Gauge>,
    pub(crate) bytes: Arc<QueueBytes>,
}

/// One signal for each job that works on the homes.
#[derive(Debug, Default)]
pub(crate) struct HomesChanged {
    pub(crate) timers: Notify,
    pub(crate) leases: Notify,
    pub(crate) review: Notify,
}

/// A task that was not queued, with the reason.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) task: Task,
    pub(crate) error: Error,
}

impl Shared {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        options: Options,
        placement: Placement,
        handles: Vec<PartitionHandle>,
    ) -> Self {
        let partitions = store.meta().partitions;
        Self {
            store,
            partitions,
            clock: options.clock.clone(),
            chance: options.chance.clone(),
            time: StoreTime::new(options.clock.clone()),
            arrivals: Arrivals::new(),
            board: Board::default(),
            registry: Registry::default(),
            placement,
            timers: AllTimers::new(),
            cache_budget: Arc::new(CacheBudget::new(options.cache_bytes)),
            options,
            delivery: Delivery::default(),
            metrics: Metrics::default(),
            handles,
            jobs: jobs::Jobs::default(),
            homes: Mutex::new(Homes::Nowhere),
            homes_changed: HomesChanged::default(),
            unsure: AtomicBool::new(true),
            stopping: CancellationToken::new(),
            handover: Handover::default(),
            copies: CopyWaiters::default(),
            housework: Notify::new(),
            event_reads: EventReads::default(),
            watches: Watches::default(),
            company: Company::default(),
            token_ring: TokenRing::default(),
        }
    }

    /// Picks the partition for a new execution: one with affinity to this process's workers, if they run such
    /// work and keep up with it. The affinity of other processes' workers is not known here, so work for them goes to all
    /// partitions alike. `nth` is `(index, count)`: position of this item within its call.
    pub(crate) fn place(&self, new: &NewExecution, now: Millis, nth: (usize, usize)) -> PartitionId {
        let traffic = |partition: PartitionId| {
            let handle = self.handles.get(usize::from(partition.0));
            handle.map_or_else(Traffic::default, |handle| handle.gauge.traffic())
        };
        match self.board.roomy(new) {
            Some(near) => self.placement.pick(near.iter().copied(), now, nth, traffic),
            None if *self.homes.lock() == Homes::Everywhere => {
                self.placement.pick((0..self.partitions).map(PartitionId), now, nth, traffic)
            }
            None => {
                let word = self.chance.word();
                PartitionId(u16::try_from(word % u64::from(self.partitions.max(1))).unwrap_or(0))
            }
        }
    }

    /// The handle to a partition's loop, if it exists and has room for this command after `before` others; and the room
    /// for its bytes.
    fn handle(
        &self,
        partition: PartitionId,
        command: &Command,
        before: usize,
    ) -> Result<(&PartitionHandle, HeldBytes), Error> {
        let Some(handle) = self.handles.get(usize::from(partition.0)) else {
            let why = format!("partition {partition} does not exist; the store has {}", self.partitions);
            return Err(Error::Refused(Rejection::InvalidArgument { field: "id", why }));
        };
        if let Command::Submit(submit) = command {
            self.board.admit(&submit.new)?;
        }
        let is_sheddable = command.urgency() == Urgency::Sheddable;
        let reserve = if is_sheddable { 0 } else { limits::QUEUE_RESERVE };
        let is_full = handle.gauge.traffic().waiting + before >= limits::QUEUE_MAX + reserve;
        let bytes = || handle.bytes.hold(command.bytes(), is_sheddable);
        let Some(held) = (!is_full).then(bytes).flatten() else {
            self.metrics.overloaded.add(1);
            return Err(Error::Overloaded { retry_after: Span(100) });
        };
        Ok((handle, held))
    }

    /// Queues a task for its partition's loop, or returns it with the reason why not.
    pub(crate) fn post(&self, partition: PartitionId, mut task: Task) -> Result<(), Box<Refused>> {
        let (handle, held) = match self.handle(partition, &task.command, 0) {
            Ok(found) => found,
            Err(error) => return Err(Box::new(Refused { task, error })),
        };
        task.held = Some(held);
        handle.gauge.queued(1);
        let ended = |task| Box::new(Refused { task, error: Error::ShuttingDown });
        handle
            .sender
            .send(vec![task])
            .or_else(|mpsc::error::SendError(mut tasks)| tasks.pop().map_or(Ok(()), |task| Err(ended(task))))
    }

    /// Sends many commands and waits for all replies, which come in the same order. Commands of one partition stay
    /// together, so that they share a batch.
    pub(crate) async fn call_all(&self, commands: Vec<(PartitionId, Command)>) -> Vec<Result<Reply, Error>> {
        if self.is_stopping() {
            return commands.iter().map(|_| Err(Error::ShuttingDown)).collect();
        }
        let deadline = self.deadline();
        let (tickets, answers) = answers::tickets(commands.len());
        let count = commands.len();
        let mut posts: BTreeMap<PartitionId, Vec<Task>> = BTreeMap::new();
        for ((partition, command), ticket) in commands.into_iter().zip(tickets) {
            let tasks = posts.entry(partition).or_default();
            match self.handle(partition, &command, tasks.len()) {
                Ok((_, held)) => {
                    let task = Task::new(command, Answer::Part(ticket), deadline);
                    tasks.push(Task { held: Some(held), ..task });
                }
                Err(error) => ticket.answer(Err(error)),
            }
        }
        for (partition, tasks) in posts {
            if let Some(handle) = self.handles.get(usize::from(partition.0)) {
                handle.gauge.queued(tasks.len());
                // A loop that has ended drops the tickets, which leaves their answers open.
                let _ = handle.sender.send(tasks);
            }
        }
        let answers = answers.await.unwrap_or_else(|_| (0..count).map(|_| None).collect());
        answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err(self.broken_off()))).collect()
    }

    /// Sends a command and waits for its reply, which comes after the commit.
    pub(crate) async fn call<V: TableVerb>(&self, partition: PartitionId, verb: V) -> Result<V::Reply, Error> {
        let answer = self.call_sealed(partition, verb.into()).await?.open();
        if let (Err(Error::Refused(Rejection::RecordUnreadable { key })), Urgency::Background) = (&answer, V::URGENCY) {
            handover::unreadable(self, partition, key).await;
        }
        typed(V::open(answer?))
    }

    /// Like [`Self::call`], but the reply stays sealed: if the caller drops it unopened, a lease in it is given back.
    pub(crate) async fn call_sealed(&self, partition: PartitionId, command: Command) -> Result<SealedReply, Error> {
        let (answer, receiver) = oneshot::channel();
        let task = Task::new(command, Answer::Caller(answer), self.deadline());
        self.post(partition, task).map_err(|refused| refused.error)?;
        receiver.await.map_err(|_| self.broken_off())
    }

    /// The error for a call that the loop dropped without a reply.
    fn broken_off(&self) -> Error {
        if self.is_stopping() {
            return Error::ShuttingDown;
        }
        Error::Internal("the partition's loop broke off; repeat the call with the same ids".into())
    }

    /// Gives back a lease that no worker received.
    pub(crate) fn give_back(&self, fence: Fence) {
        self.metrics.returned.add(1);
        let unclaim = Report { command: CommandId(self.chance.id()), fence, end: end::Unclaim.into() };
        let task = Task::new(unclaim.into(), Answer::Discard, self.deadline());
        if let Err(refused) = self.post(fence.execution.partition(), task) {
            tracing::debug!(error = %refused.error, "could not give back an unreceived lease; it will expire");
        }
    }

    /// Local time at which a call that starts now is given up.
    pub(crate) fn deadline(&self) -> Millis {
        self.clock.now() + self.options.call_timeout
    }

    /// Has the idle partitions drop the records that they use least, for one that needs the room.
    pub(crate) fn make_room(&self) {
        for handle in &self.handles {
            // A loop that has ended holds nothing.
            let _ = handle.sender.send(Vec::new());
        }
    }

    /// Claims ready work for waiters that the board has matched.
    pub(crate) fn claim_matches(&self, matches: impl IntoIterator<Item = Match>) {
        for Match { waiter, origin } in matches {
            let execution = origin.1.1;
            let claim: Claim = waiter.wants.claim(execution, self.chance.id());
            let task = Task::new(claim.into(), Answer::Waiter(waiter, Some(Box::new(origin))), Millis(u64::MAX));
            if let Err(refused) = self.post(execution.partition(), task) {
                self.claim_failed(refused.task.answer, &refused.error);
            }
        }
    }

    /// Handles a waiter's failed claim. Work that is gone is forgotten; work that could not be reached is restored.
    pub(crate) fn claim_failed(&self, answer: Answer, error: &Error) {
        let Answer::Waiter(waiter, origin) = answer else { return };
        if !matches!(error, Error::Refused(_)) {
            // Nothing is claimed at once: the cause of the failure would still be there.
            origin.into_iter().for_each(|origin| self.board.restore(*origin));
            self.board.park(waiter);
            self.serve_waiters_later();
            return;
        }
        origin.into_iter().for_each(|origin| self.board.was_gone(&origin));
        self.put_back(waiter);
    }

    /// Parks a waiter again whose work was gone, or matches it with other work in memory.
    pub(crate) fn put_back(&self, waiter: Waiter) {
        match self.board.put_back(waiter) {
            PutBack::Matched(found) => self.claim_matches([*found]),
            PutBack::ParkedUnsure => self.board.unserved.notify_one(),
            PutBack::Parked | PutBack::Gone => {}
        }
    }

    /// Serves the waiters after a short pause.
    pub(crate) fn serve_waiters_later(&self) {
        let (unserved, pause) = (self.board.unserved.clone(), self.clock.rest(Span(100)));
        self.jobs.spawn(async move {
            pause.await;
            unserved.notify_one();
        });
    }

    /// Partitions whose background work this process runs now.
    pub(crate) fn homes(&self) -> Homes {
        self.homes.lock().clone()
    }

    /// Whether this process runs the background work of `partition`.
    pub(crate) fn is_home(&self, partition: PartitionId) -> bool {
        self.homes.lock().contains(partition)
    }

    pub(crate) fn set_homes(&self, homes: Homes) {
        let mut known = self.homes.lock();
        if *known == homes {
            return;
        }
        *known = homes;
        drop(known);
        let HomesChanged { timers, leases, review } = &self.homes_changed;
        [timers, leases, review].into_iter().for_each(Notify::notify_one);
    }

    /// Waits until the engine stops.
    pub(crate) fn stopped(&self) -> WaitForCancellationFuture<'_> {
        self.stopping.cancelled()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }
}

/// The reply to one verb; a partition answers each command with the reply of its own verb.
pub(crate) fn typed<T>(reply: Option<T>) -> Result<T, Error> {
    reply.ok_or_else(|| Error::Internal("a command was answered with the reply of another".into()))
}
