//! What all parts of one engine share: the store, the time, the board, the timers and the ways to each partition.

use crate::board::{Board, Match, PutBack};
use crate::clock::{Chance, Clock, StoreTime};
use crate::ends::Ends;
use crate::focus::{Focus, Gauge, Traffic};
use crate::metrics::Metrics;
use crate::office::Office;
use crate::options::Options;
use crate::reading::Reading;
use crate::roster::Homes;
use crate::task::{Answer, Parcel, Task};
use crate::timers::Timers;
use crate::waiters::Waiter;
use crate::{Error, collect, jobs, task};
use onward_core::{
    Command, CommandId, Fence, Lane, Millis, Namespace, PartitionId, Rejection, Reply, Span, Unclaim, limits,
};
use onward_store::Store;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use tokio::sync::{Notify, mpsc, oneshot, watch};

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) partitions: u16,
    pub(crate) options: Options,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) chance: Arc<Chance>,
    pub(crate) time: StoreTime,
    pub(crate) board: Board,
    /// Where new work goes.
    pub(crate) focus: Focus,
    pub(crate) timers: Timers,
    pub(crate) office: Office,
    pub(crate) metrics: Metrics,
    pub(crate) ways: Vec<Way>,
    pub(crate) jobs: jobs::Jobs,
    /// The partitions whose background work this process does.
    homes: watch::Sender<Homes>,
    /// Whether another process may look after partitions that this one takes for its own.
    pub(crate) unsure: AtomicBool,
    /// Set once, when the engine stops.
    pub(crate) stopping: watch::Sender<bool>,
    /// Told when delivered messages may have completed what a caller waits for.
    pub(crate) delivered: Notify,
    /// Told when something is to be removed without waiting for its time.
    pub(crate) housework: Notify,
    /// Who reads events, told when there may be new ones.
    pub(crate) reading: Reading,
    /// Who waits for the end of which execution.
    pub(crate) ends: Ends,
}

/// The way to one partition's loop. What is sent together shares a batch if it fits.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) sender: mpsc::UnboundedSender<Vec<Task>>,
    pub(crate) gauge: Arc<Gauge>,
}

/// A task that found no room, with the reason.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) task: Task,
    pub(crate) error: Error,
}

impl Shared {
    pub(crate) fn new(store: Arc<dyn Store>, options: Options, focus: Focus, ways: Vec<Way>) -> Self {
        let partitions = store.meta().partitions;
        Self {
            store,
            partitions,
            clock: options.clock.clone(),
            chance: options.chance.clone(),
            time: StoreTime::new(options.clock.clone()),
            board: Board::default(),
            focus,
            timers: Timers::new(),
            options,
            office: Office::default(),
            metrics: Metrics::default(),
            ways,
            jobs: jobs::Jobs::default(),
            homes: watch::Sender::new(Homes::Nowhere),
            unsure: AtomicBool::new(true),
            stopping: watch::Sender::new(false),
            delivered: Notify::new(),
            housework: Notify::new(),
            reading: Reading::default(),
            ends: Ends::default(),
        }
    }

    /// The partition for a new execution: near its workers, if some work on its lane and keep up with it. Which partitions
    /// are near the workers of other processes nobody here knows, so that work for them goes to all alike. It is the
    /// so many-th, from zero, of a call with so many.
    pub(crate) fn place(&self, namespace: &Namespace, lane: &Lane, now: Millis, nth: (usize, usize)) -> PartitionId {
        let traffic = |partition: PartitionId| {
            let way = self.ways.get(usize::from(partition.0));
            way.map_or_else(Traffic::default, |way| way.gauge.traffic())
        };
        match self.board.roomy(namespace, lane) {
            Some(near) => self.focus.pick(near.iter().copied(), now, nth, traffic),
            None if *self.homes.borrow() == Homes::Everywhere => {
                self.focus.pick((0..self.partitions).map(PartitionId), now, nth, traffic)
            }
            None => {
                let word = self.chance.word();
                PartitionId(u16::try_from(word % u64::from(self.partitions.max(1))).unwrap_or(0))
            }
        }
    }

    /// The way to a partition's loop, if it exists and has room for this command and so many before it.
    fn way(&self, partition: PartitionId, command: &Command, before: usize) -> Result<&Way, Error> {
        let Some(way) = self.ways.get(usize::from(partition.0)) else {
            let why = format!("partition {partition} does not exist; the store has {}", self.partitions);
            return Err(Error::Refused(Rejection::InvalidArgument { field: "id", why }));
        };
        let reserve = if task::is_essential(command) { limits::QUEUE_RESERVE } else { 0 };
        if way.gauge.traffic().waiting + before >= limits::QUEUE_MAX + reserve {
            self.metrics.overloaded.add(1);
            return Err(Error::Overloaded { retry_after: Span(100) });
        }
        Ok(way)
    }

    /// Puts a task before its partition's loop, or says why it cannot.
    pub(crate) fn post(&self, partition: PartitionId, task: Task) -> Result<(), Box<Refused>> {
        let way = match self.way(partition, &task.command, 0) {
            Ok(way) => way,
            Err(error) => return Err(Box::new(Refused { task, error })),
        };
        way.gauge.came(1);
        let ended = |task| Box::new(Refused { task, error: Error::ShuttingDown });
        way.sender
            .send(vec![task])
            .or_else(|mpsc::error::SendError(mut tasks)| tasks.pop().map_or(Ok(()), |task| Err(ended(task))))
    }

    /// Sends many commands and waits for all answers, which come in the same order. Those of one partition stay
    /// together, so that they share a batch.
    pub(crate) async fn call_many(&self, commands: Vec<(PartitionId, Command)>) -> Vec<Result<Reply, Error>> {
        let deadline = self.deadline();
        let (tickets, answers) = collect::tickets(commands.len());
        let count = commands.len();
        let mut posts: BTreeMap<PartitionId, Vec<Task>> = BTreeMap::new();
        for ((partition, command), ticket) in commands.into_iter().zip(tickets) {
            let tasks = posts.entry(partition).or_default();
            match self.way(partition, &command, tasks.len()) {
                Ok(_) => tasks.push(Task::new(command, Answer::Part(ticket), deadline)),
                Err(error) => ticket.answer(Err(error)),
            }
        }
        for (partition, tasks) in posts {
            if let Some(way) = self.ways.get(usize::from(partition.0)) {
                way.gauge.came(tasks.len());
                // A loop that has ended drops the tickets, which leaves their answers open.
                let _ = way.sender.send(tasks);
            }
        }
        let answers = answers.await.unwrap_or_else(|_| (0..count).map(|_| None).collect());
        answers.into_iter().map(|answer| answer.unwrap_or_else(|| Err(self.broken_off()))).collect()
    }

    /// Sends a command and waits for its answer, which comes after the commit.
    pub(crate) async fn call(&self, partition: PartitionId, command: Command) -> Result<Reply, Error> {
        self.call_sealed(partition, command).await?.open()
    }

    /// The same, with the answer still sealed: if the caller goes away with it, a lease in it goes back.
    pub(crate) async fn call_sealed(&self, partition: PartitionId, command: Command) -> Result<Parcel, Error> {
        let (answer, receiver) = oneshot::channel();
        let task = Task::new(command, Answer::Caller(answer), self.deadline());
        self.post(partition, task).map_err(|refused| refused.error)?;
        receiver.await.map_err(|_| self.broken_off())
    }

    /// What a caller is told that nobody answered.
    fn broken_off(&self) -> Error {
        if self.is_stopping() {
            return Error::ShuttingDown;
        }
        Error::Internal("the partition's loop broke off; repeat the call with the same ids".into())
    }

    /// Returns a lease that nobody received.
    pub(crate) fn give_back(&self, fence: Fence) {
        self.metrics.returned.add(1);
        let command = Command::Unclaim(Unclaim { command: CommandId(self.chance.id()), fence });
        let task = Task::new(command, Answer::Nobody, self.deadline());
        if let Err(refused) = self.post(fence.execution.partition(), task) {
            tracing::debug!(error = %refused.error, "a lease that nobody received could not be given back and will run out");
        }
    }

    /// When a call that starts now is given up.
    pub(crate) fn deadline(&self) -> Millis {
        self.clock.now() + self.options.call_timeout
    }

    /// Claims ready work for waiters that the board has matched.
    pub(crate) fn claim_matches(&self, matches: impl IntoIterator<Item = Match>) {
        for Match { waiter, origin } in matches {
            let execution = origin.1.1;
            let claim = Command::Claim(waiter.wants.claim(execution, self.chance.id()));
            let task = Task::new(claim, Answer::Waiter(waiter, Some(Box::new(origin))), Millis(u64::MAX));
            if let Err(refused) = self.post(execution.partition(), task) {
                self.disappoint(refused.task.answer, &refused.error);
            }
        }
    }

    /// A waiter's claim came to nothing. Work that was gone is forgotten, work that could not be reached is not.
    pub(crate) fn disappoint(&self, answer: Answer, error: &Error) {
        let Answer::Waiter(waiter, origin) = answer else { return };
        if !matches!(error, Error::Refused(_)) {
            // Nothing is claimed at once: whatever is in the way would still be there.
            origin.into_iter().for_each(|origin| self.board.restore(*origin));
            self.board.park(waiter);
            self.serve_waiters_later();
            return;
        }
        self.put_back(waiter);
    }

    /// A waiter whose work was gone waits on, or gets other work that is at hand.
    pub(crate) fn put_back(&self, waiter: Waiter) {
        match self.board.put_back(waiter) {
            PutBack::Matched(found) => self.claim_matches([*found]),
            PutBack::ParkedUnsure => self.board.unserved.notify_one(),
            PutBack::Parked | PutBack::Gone => {}
        }
    }

    /// Looks after the waiters in a while.
    pub(crate) fn serve_waiters_later(&self) {
        let (unserved, pause) = (self.board.unserved.clone(), self.clock.rest(Span(100)));
        self.jobs.spawn(async move {
            pause.await;
            unserved.notify_one();
        });
    }

    /// The partitions whose background work this process does now.
    pub(crate) fn homes(&self) -> Homes {
        self.homes.borrow().clone()
    }

    /// Whether it does that of this one.
    pub(crate) fn is_home(&self, partition: PartitionId) -> bool {
        self.homes.borrow().contains(partition)
    }

    /// Tells when they change.
    pub(crate) fn watch_homes(&self) -> watch::Receiver<Homes> {
        self.homes.subscribe()
    }

    pub(crate) fn set_homes(&self, homes: Homes) {
        self.homes.send_if_modified(|known| {
            let changed = *known != homes;
            *known = homes;
            changed
        });
    }

    /// Waits until the engine stops.
    pub(crate) async fn stopped(&self) {
        // An error means that the sender is gone, which is the same.
        let _stopped = self.stopping.subscribe().wait_for(|stop| *stop).await.is_ok();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }
}
