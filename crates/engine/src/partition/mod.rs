//! The loop of one partition: gather waiting commands, load what the cache lacks, apply, commit, reply.
//!
//! Versions are chosen here, so a second batch can be prepared and sent on top of the one in flight: if the first is
//! refused, the second expects a version that never existed, is refused too, and both run again.

pub(crate) mod answers;
pub(crate) mod batch;
pub(crate) mod cache;
pub(crate) mod doubt;
mod gather;
mod hints;
pub(crate) mod task;

use crate::shared::Shared;
use crate::work::placement::{Gauge, InFlight};
use crate::{Error, binding};
use batch::{Applied, Flight, Hand, Pages, Prepared, Step};
use cache::Cache;
use doubt::{DOUBTS_MAX, Doubt};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesOrdered, FuturesUnordered};
use futures_util::{FutureExt, StreamExt};
use onward_core::record::Record;
use onward_core::{Command, Key, Millis, PartitionId, Rejection, Reply, Span, Verb, Want, limits};
use onward_store as store;
use std::collections::{BTreeSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use task::{Answer, SealedReply, Task};
use tokio::sync::mpsc;

/// Batches of one partition in flight at the same time.
const FLIGHTS_MAX: usize = 2;
/// While a batch is in flight, a second one is sent only with this many commands; fewer keep gathering.
const SECOND_COMMANDS_MIN: usize = 16;
/// How often a loop yields before it gathers a batch. A reply wakes many callers at once; without yielding, the first
/// of them would get a batch of its own and the others would wait behind it.
const YIELDS: usize = 2;

/// A batch, the local time it was sent, and the store's result.
type CommitResult = (Flight, Millis, store::Result<Vec<store::Outcome>>);

/// The loop's state.
pub(crate) struct Partition {
    id: PartitionId,
    shared: Arc<Shared>,
    inbox: mpsc::UnboundedReceiver<Vec<Task>>,
    gauge: Arc<Gauge>,
    calls: VecDeque<Task>,
    background: VecDeque<Task>,
    /// Tasks that met a conflict or a failure and pause before they run again.
    resting: FuturesUnordered<BoxFuture<'static, Task>>,
    cache: Cache,
    flights: FuturesOrdered<BoxFuture<'static, CommitResult>>,
    /// The keys that each flight writes, oldest first; they are dropped from the cache when an earlier one is refused.
    flight_keys: VecDeque<(store::Version, Vec<Key>)>,
    /// Doubts of batches lost since `flight_keys` was last empty: a batch built on a lost one may be written after it.
    lost: Vec<Arc<Doubt>>,
    /// A flight was refused. No batch is sent until those built on it have returned too: it would be refused as well.
    draining: bool,
}

impl Partition {
    pub(crate) fn new(
        id: PartitionId,
        shared: Arc<Shared>,
        inbox: mpsc::UnboundedReceiver<Vec<Task>>,
        gauge: Arc<Gauge>,
    ) -> Self {
        let cache = Cache::new(shared.cache_budget.clone());
        Self {
            id,
            shared,
            inbox,
            gauge,
            calls: VecDeque::new(),
            background: VecDeque::new(),
            resting: FuturesUnordered::new(),
            cache,
            flights: FuturesOrdered::new(),
            flight_keys: VecDeque::new(),
            lost: Vec::new(),
            draining: false,
        }
    }

    /// Runs until the engine stops and every accepted command is answered. A panic loses what was in flight, not the
    /// partition: its callers get an error, and the loop continues with an empty cache.
    pub(crate) async fn run(mut self) {
        while AssertUnwindSafe(self.run_loop()).catch_unwind().await.is_err() {
            tracing::error!(partition = %self.id, "a partition's loop panicked and continues");
            self.shared.metrics.job_restarts.add(1);
            self.flights = FuturesOrdered::new();
            self.flight_keys.clear();
            self.lost.clear();
            self.draining = false;
            self.cache = Cache::new(self.shared.cache_budget.clone());
        }
    }

    async fn run_loop(&mut self) {
        loop {
            let room = self.flights.len() < FLIGHTS_MAX && !self.draining;
            let waiting = self.calls.len() + self.background.len();
            let least = if self.flights.is_empty() { 1 } else { SECOND_COMMANDS_MIN };
            if room && waiting >= least {
                self.send_next().await;
                // The first poll sends the commit, so that it is in flight while the next batch is prepared.
                while let Some(Some((flight, sent, result))) = self.flights.next().now_or_never() {
                    self.returned(flight, sent, result);
                }
                continue;
            }
            let ended = waiting == 0 && self.flights.is_empty() && self.resting.is_empty();
            tokio::select! {
                biased;
                Some((flight, sent, result)) = self.flights.next(), if !self.flights.is_empty() => {
                    self.returned(flight, sent, result);
                }
                Some(task) = self.resting.next(), if !self.resting.is_empty() => self.run_again(vec![task]),
                Some(tasks) = self.inbox.recv(), if room => self.enqueue(tasks),
                () = self.shared.stopped(), if ended => {
                    match self.inbox.try_recv() {
                        Ok(tasks) => self.enqueue(tasks),
                        Err(_) => return,
                    }
                }
            }
        }
    }

    /// The queue that a task waits in.
    fn queue_of(&mut self, task: &Task) -> &mut VecDeque<Task> {
        if task.is_background() { &mut self.background } else { &mut self.calls }
    }

    fn enqueue(&mut self, tasks: Vec<Task>) {
        let mut next = Some(tasks);
        while let Some(tasks) = next {
            for task in tasks {
                self.queue_of(&task).push_back(task);
            }
            next = self.inbox.try_recv().ok();
        }
        // Others may need the room that this one does not use.
        self.cache.catch_up();
    }

    /// Takes what fits one batch.
    fn gather(&mut self) -> (Vec<Task>, InFlight) {
        let tasks = gather::gather(&mut self.calls, &mut self.background);
        let in_flight = self.gauge.send(tasks.len());
        (tasks, in_flight)
    }

    /// Prepares a batch and sends it.
    async fn send_next(&mut self) {
        for _ in 0..YIELDS {
            tokio::task::yield_now().await;
        }
        self.enqueue(Vec::new());
        let (mut tasks, mut in_flight) = self.gather();
        let keys = tasks.iter().flat_map(|task| task.command.keys(self.id));
        let mut wanted: BTreeSet<Want> = keys.filter(|key| self.cache.get(key).is_none()).map(Want::Key).collect();
        let mut pages = Pages::new();
        for round in 0..=limits::NEED_ROUNDS_MAX {
            if let Err(error) = self.read(wanted, &mut pages).await {
                return self.store_failed(tasks, &error);
            }
            let (now, last) = (self.shared.time.now(), round == limits::NEED_ROUNDS_MAX);
            match batch::apply(&self.shared, &Hand { id: self.id, cache: &self.cache, pages: &pages }, tasks, now, last)
            {
                Applied::Need(back, needs) => (tasks, wanted) = (back, needs),
                Applied::Ready(ready) => {
                    let Prepared { batch, flight, unmatched, left, unsettled } = *ready;
                    for waiter in unmatched {
                        self.shared.put_back(waiter);
                    }
                    in_flight.leave(left.len() + unsettled.len());
                    self.run_again(left);
                    self.store_failed(unsettled, &doubt::unknown());
                    return self.send(batch, flight, in_flight);
                }
            }
        }
    }

    /// Reads what the cache lacks, and pages of candidates, at once. A key that turns out not to exist is remembered as
    /// absent; pages are hints and serve one batch only.
    async fn read(&mut self, wanted: BTreeSet<Want>, pages: &mut Pages) -> store::Result<()> {
        let (mut missing, mut listed) = (Vec::new(), Vec::new());
        for want in wanted {
            match want {
                Want::Key(key) if self.cache.get(&key).is_none() => missing.push(key),
                Want::Key(_) => {}
                Want::Page(page) => listed.push(page),
            }
        }
        if missing.is_empty() && listed.is_empty() {
            return Ok(());
        }
        let names: Vec<store::Key> = missing.iter().map(binding::store_key).collect();
        let indexes: Vec<_> = listed.iter().map(binding::page).collect();
        let (store, here) = (self.shared.store.clone(), binding::partition(self.id));
        let partitions = store::Partitions::Some(vec![here]);
        let load = async { if names.is_empty() { Ok(Vec::new()) } else { store.load(here, &names).await } };
        let scan = store.scan_many(&indexes, &partitions, limits::CANDIDATES_MAX);
        let mut both = std::pin::pin!(async { futures_util::try_join!(load, scan) });
        // Batches that land meanwhile are answered: no caller waits for the records of another.
        let (rows, found) = loop {
            tokio::select! {
                biased;
                () = self.land_next(), if !self.flights.is_empty() => {}
                both = &mut both => break both?,
            }
        };
        for (key, row) in missing.into_iter().zip(rows) {
            // A batch that was refused meanwhile has brought what the store held later than this.
            if self.cache.get(&key).is_none() {
                let loaded = binding::load(&key, row.as_ref());
                self.cache.insert(key, loaded);
            }
        }
        pages.extend(listed.into_iter().zip(found.into_iter().map(binding::candidates)));
        Ok(())
    }

    /// Waits for the oldest batch in flight and handles its outcome.
    async fn land_next(&mut self) {
        if let Some((flight, sent, result)) = self.flights.next().await {
            self.returned(flight, sent, result);
        }
    }

    fn send(&mut self, batch: store::Batch, flight: Flight, in_flight: InFlight) {
        if self.cache.touch(flight.steps.iter().flat_map(|step| step.reads.iter())) {
            self.shared.make_room();
        }
        batch::speculate(&mut self.cache, &flight, &batch);
        self.flight_keys.push_back((flight.id, flight.changes.iter().map(|change| change.key.clone()).collect()));
        let store = self.shared.store.clone();
        let sent = self.shared.time.local();
        self.flights.push_back(Box::pin(async move {
            let result = store.commit(vec![batch]).await;
            drop(in_flight);
            (flight, sent, result)
        }));
    }

    /// Handles the outcome of the oldest batch in flight.
    fn returned(&mut self, flight: Flight, sent: Millis, result: store::Result<Vec<store::Outcome>>) {
        self.flight_keys.pop_front();
        self.settle(flight, sent, result);
        if self.flight_keys.is_empty() {
            self.lost.clear();
        }
    }

    fn settle(&mut self, flight: Flight, sent: Millis, result: store::Result<Vec<store::Outcome>>) {
        self.draining &= !self.flight_keys.is_empty();
        let outcome = result.map(|outcomes| outcomes.into_iter().next());
        if let Ok(Some(outcome)) = &outcome {
            self.shared.time.observe(sent, binding::outcome_time(outcome));
        }
        match outcome {
            Ok(Some(store::Outcome::Committed { .. })) => self.committed(flight),
            Ok(Some(store::Outcome::Conflict { current, .. })) => {
                self.shared.metrics.conflicts.add(1);
                self.forget(&flight);
                self.conflict(flight, &current);
            }
            Ok(Some(store::Outcome::Outside { now })) => {
                self.shared.metrics.outside.add(1);
                self.shared.time.correct(Millis(now));
                self.forget(&flight);
                self.outside(flight);
            }
            Ok(None) => {
                self.forget(&flight);
                let error = store::Error::new(store::ErrorKind::Invalid, "the store answered without an outcome");
                self.store_failed(flight.steps.into_iter().map(|step| step.task).collect(), &error);
            }
            Err(error) => {
                self.forget(&flight);
                if !error.is_unwritten() {
                    self.shared.metrics.unknown_outcomes.add(1);
                    hints::suspect(&self.shared, self.id, &flight.changes);
                }
                if !error.is_unwritten() {
                    self.lost.extend(Doubt::of(&flight, &self.cache));
                }
                for key in flight.steps.iter().flat_map(|step| step.reads.iter()) {
                    self.cache.remove(key);
                }
                let tasks = flight.steps.into_iter().map(|Step { mut task, writes, .. }| {
                    if writes && !error.is_unwritten() {
                        task.doubts.extend(self.lost.iter().cloned());
                    }
                    task
                });
                let tasks = tasks.collect();
                self.store_failed(tasks, &error);
            }
        }
    }

    fn committed(&mut self, flight: Flight) {
        self.shared.metrics.commits.add(1);
        self.shared.metrics.commands.add(flight.steps.len() as u64);
        hints::count_duties(&self.shared, &flight.steps, &flight.changes);
        hints::learn(&self.shared, self.id, &flight.changes);
        self.notice_paused_lanes(&flight);
        for Step { task, result, .. } in flight.steps {
            reply(&self.shared, task, result);
        }
        // After the replies: there may be many readers of events, and no caller should wait for them.
        self.shared.event_reads.tell();
    }

    /// Stalls the lanes that refused claims show to be paused. This runs in the loop, in the order of commits, so that
    /// it cannot outlast the commit by which this process resumes the lane.
    fn notice_paused_lanes(&self, flight: &Flight) {
        for (namespace, lane) in &flight.paused {
            self.shared.board.stall_lane(namespace, lane, flight.lane_news);
        }
        for step in &flight.steps {
            if let (Command::Claim(claim), Err(Error::Refused(Rejection::LanePaused(lane)))) =
                (&step.task.command, &step.result)
                && let Some(loaded) = self.cache.get(&Key::Execution(claim.execution))
                && let Some(Record::Execution(execution)) = loaded.record.as_deref()
            {
                self.shared.board.stall_lane(&execution.namespace, lane, flight.lane_news);
            }
        }
    }

    /// Removes from the cache what a refused flight and those built on it put there.
    fn forget(&mut self, flight: &Flight) {
        self.draining = !self.flight_keys.is_empty();
        for change in &flight.changes {
            self.cache.remove_version(&change.key, flight.id);
        }
        for (version, keys) in &self.flight_keys {
            for key in keys {
                self.cache.remove_version(key, *version);
            }
        }
    }

    /// Another commit changed what this batch had read. All commands run again; one that conflicts twice gets a batch
    /// of its own after a pause, so that it does not hold up the others.
    fn conflict(&mut self, flight: Flight, current: &[(store::Key, Option<store::Record>)]) {
        let mut changed = BTreeSet::new();
        for (name, row) in current {
            if let Ok(key) = name.as_str().parse::<Key>() {
                self.cache.insert(key.clone(), binding::load(&key, row.as_ref()));
                changed.insert(key);
            }
        }
        let mut again = Vec::new();
        for Step { mut task, reads, .. } in flight.steps {
            if !reads.iter().any(|key| changed.contains(key)) {
                again.push(task);
                continue;
            }
            task.conflicts += 1;
            if task.is_alone() {
                self.rest_or(task, Error::Contended);
            } else {
                again.push(task);
            }
        }
        self.run_again(again);
    }

    /// The store's clock was outside the window. The time has been corrected; a command that meets this repeatedly is
    /// slower than its own window and gets a batch of its own, after a pause.
    fn outside(&mut self, flight: Flight) {
        let mut again = Vec::new();
        for Step { mut task, .. } in flight.steps {
            task.outsides += 1;
            if task.outsides <= 2 {
                again.push(task);
            } else {
                task.conflicts += 1;
                self.rest_or(task, Error::Contended);
            }
        }
        self.run_again(again);
    }

    /// Puts tasks back at the head of their queue, in their order.
    fn run_again(&mut self, tasks: Vec<Task>) {
        self.gauge.queued(tasks.len());
        for task in tasks.into_iter().rev() {
            self.queue_of(&task).push_front(task);
        }
    }

    /// Runs a task again after a jittered pause, or replies with `error` after its deadline or when the engine stops.
    fn rest_or(&mut self, task: Task, error: Error) {
        if self.shared.is_stopping() || self.shared.clock.now() >= task.deadline {
            return reply(&self.shared, task, Err(error));
        }
        let pause = self.shared.chance.jittered(Span(4 << (task.conflicts + task.failures).clamp(2, 8)));
        let shared = self.shared.clone();
        self.resting.push(Box::pin(async move {
            let rest = shared.clock.rest(pause);
            tokio::select! { biased; () = shared.stopped() => {}, () = rest => {} }
            task
        }));
    }

    /// Handles a failed load or commit. Temporary errors except `Full` are retried until the deadline, or until too
    /// many tries are in doubt. By the ids in its command, a retry finds a commit that happened after all.
    fn store_failed(&mut self, tasks: Vec<Task>, error: &store::Error) {
        let may_pass = error.is_temporary() && error.kind() != store::ErrorKind::Full;
        for mut task in tasks {
            if may_pass && task.doubts.len() < DOUBTS_MAX {
                // A failure does not give the task a batch of its own, but each one makes its pause longer.
                task.failures += 1;
                self.rest_or(task, error.into());
            } else {
                reply(&self.shared, task, Err(error.into()));
            }
        }
    }
}

/// Sends the reply to the caller. If the caller is gone, the sealed reply is dropped and a lease in it is returned.
fn reply(shared: &Arc<Shared>, task: Task, result: Result<Reply, Error>) {
    match (task.answer, result) {
        (Answer::Discard, _) => {}
        (Answer::Part(ticket), result) => ticket.answer(result),
        (Answer::Caller(caller), result) => drop(caller.send(SealedReply::new(result, shared.clone()))),
        (Answer::Waiter(waiter, _), Ok(reply)) => drop(waiter.answer.send(SealedReply::new(Ok(reply), shared.clone()))),
        (waiter @ Answer::Waiter(..), Err(error)) => shared.claim_failed(waiter, &error),
    }
}
