//! The loop of one partition: gather what waits, load what the cache lacks, apply, commit, answer.
//!
//! Versions are chosen here, so a second batch can be prepared and sent on top of the one in flight: if the first is
//! refused, the second expects a version that never came to be, is refused too, and both run again.

use crate::batch::{self, Applied, Flight, Step};
use crate::binding;
use crate::cache::Cache;
use crate::shared::Shared;
use crate::task::{Answer, Parcel, Task};
use crate::{Error, hints};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesOrdered;
use onward_core::{Key, Millis, PartitionId, Rejection, Reply, Span, limits};
use onward_store as store;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::mpsc;

/// Batches of one partition on their way at the same time.
const FLIGHTS_MAX: usize = 2;

type Landing = (Flight, Millis, store::Result<Vec<store::Outcome>>);

pub(crate) struct Partition {
    id: PartitionId,
    shared: Arc<Shared>,
    inbox: mpsc::UnboundedReceiver<Task>,
    depth: Arc<AtomicUsize>,
    calls: VecDeque<Task>,
    background: VecDeque<Task>,
    cache: Cache,
    flights: FuturesOrdered<BoxFuture<'static, Landing>>,
    /// What each flight writes, oldest first, to forget it when an earlier one is refused.
    aloft: VecDeque<(store::Version, Vec<Key>)>,
}

impl Partition {
    pub(crate) fn new(
        id: PartitionId,
        shared: Arc<Shared>,
        inbox: mpsc::UnboundedReceiver<Task>,
        depth: Arc<AtomicUsize>,
    ) -> Self {
        let cache = Cache::new(shared.options.cache_records, shared.options.cache_bytes);
        Self {
            id,
            shared,
            inbox,
            depth,
            calls: VecDeque::new(),
            background: VecDeque::new(),
            cache,
            flights: FuturesOrdered::new(),
            aloft: VecDeque::new(),
        }
    }

    /// Runs until the engine stops and everything accepted is answered.
    pub(crate) async fn run(mut self) {
        loop {
            let idle = self.calls.is_empty() && self.background.is_empty();
            let room = self.flights.len() < FLIGHTS_MAX;
            if room && !idle {
                self.launch().await;
                if self.flights.len() < FLIGHTS_MAX {
                    // Let the commit be sent and what arrived meanwhile be gathered before the next batch is made.
                    tokio::task::yield_now().await;
                }
            }
            let idle = self.calls.is_empty() && self.background.is_empty();
            let room = self.flights.len() < FLIGHTS_MAX;
            if room && !idle {
                continue;
            }
            tokio::select! {
                biased;
                Some((flight, sent, result)) = self.flights.next(), if !self.flights.is_empty() => {
                    self.land(flight, sent, result);
                }
                Some(task) = self.inbox.recv(), if room => self.sort_in(task),
                () = self.shared.stopped(), if idle && self.flights.is_empty() => {
                    match self.inbox.try_recv() {
                        Ok(task) => self.sort_in(task),
                        Err(_) => return,
                    }
                }
            }
        }
    }

    /// The line in which a task waits.
    fn line(&mut self, task: &Task) -> &mut VecDeque<Task> {
        if task.is_background() { &mut self.background } else { &mut self.calls }
    }

    fn sort_in(&mut self, task: Task) {
        self.line(&task).push_back(task);
        while let Ok(task) = self.inbox.try_recv() {
            self.line(&task).push_back(task);
        }
    }

    /// Takes what fits one batch, in order of arrival; background work gets at most half while calls wait.
    fn gather(&mut self) -> Vec<Task> {
        let mut tasks: Vec<Task> = Vec::new();
        let (mut rows, mut bytes) = (0, 0);
        let background_max =
            if self.calls.is_empty() { limits::BATCH_COMMANDS_MAX } else { limits::BATCH_COMMANDS_MAX / 2 };
        for (queue, max) in [(&mut self.background, background_max), (&mut self.calls, limits::BATCH_COMMANDS_MAX)] {
            while tasks.len() < max {
                let Some(task) = queue.front() else { break };
                let (more_rows, more_bytes) = task.weight(self.shared.partitions);
                let full = rows + more_rows > limits::BATCH_ROWS_MAX || bytes + more_bytes > limits::BATCH_BYTES_MAX;
                let alone = task.conflicts > 1;
                if !tasks.is_empty() && (full || alone) {
                    break;
                }
                (rows, bytes) = (rows + more_rows, bytes + more_bytes);
                tasks.extend(queue.pop_front());
                if alone {
                    break;
                }
            }
            if tasks.first().is_some_and(|task| task.conflicts > 1) {
                break;
            }
        }
        self.depth.fetch_sub(tasks.len(), Ordering::Relaxed);
        tasks
    }

    /// Prepares a batch and sends it off.
    async fn launch(&mut self) {
        let mut tasks = self.gather();
        let mut wanted: BTreeSet<Key> = tasks.iter().flat_map(|task| task.command.keys(self.id)).collect();
        for round in 0..=limits::NEED_ROUNDS_MAX {
            if let Err(error) = self.load(wanted).await {
                return self.store_failed(tasks, &error);
            }
            let (now, last) = (self.shared.time.now(), round == limits::NEED_ROUNDS_MAX);
            match batch::apply(&self.shared, self.id, &self.cache, tasks, now, last) {
                Applied::Need(back, keys) => (tasks, wanted) = (back, keys),
                Applied::Ready(ready) => {
                    let (batch, flight, matches) = *ready;
                    self.shared.claim_matches(matches);
                    return self.send(batch, flight);
                }
            }
        }
    }

    /// Loads what the cache lacks. A key that turns out not to exist is remembered as absent.
    async fn load(&mut self, wanted: BTreeSet<Key>) -> store::Result<()> {
        let missing: Vec<Key> = wanted.into_iter().filter(|key| self.cache.get(key).is_none()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let names: Vec<store::Key> = missing.iter().map(binding::store_key).collect();
        let rows = self.shared.store.load(binding::partition(self.id), &names).await?;
        for (key, row) in missing.into_iter().zip(rows) {
            let loaded = binding::load(&key, row.as_ref());
            self.cache.insert(key, loaded);
        }
        Ok(())
    }

    fn send(&mut self, batch: store::Batch, flight: Flight) {
        self.cache.touch(flight.steps.iter().flat_map(|step| step.reads.iter()));
        batch::speculate(&mut self.cache, &flight, &batch);
        self.aloft.push_back((flight.id, flight.changes.iter().map(|change| change.key.clone()).collect()));
        let store = self.shared.store.clone();
        let sent = self.shared.time.local();
        self.flights.push_back(Box::pin(async move {
            let result = store.commit(vec![batch]).await;
            (flight, sent, result)
        }));
    }

    /// A batch came back.
    fn land(&mut self, flight: Flight, sent: Millis, result: store::Result<Vec<store::Outcome>>) {
        self.aloft.pop_front();
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
            Ok(Some(store::Outcome::Outside { .. })) => {
                self.shared.metrics.outside.add(1);
                self.forget(&flight);
                self.run_again(flight.steps.into_iter().map(|step| step.task).collect());
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
                for key in flight.steps.iter().flat_map(|step| step.reads.iter()) {
                    self.cache.remove(key);
                }
                self.store_failed(flight.steps.into_iter().map(|step| step.task).collect(), &error);
            }
        }
    }

    fn committed(&mut self, flight: Flight) {
        self.shared.metrics.commits.add(1);
        self.shared.metrics.commands.add(flight.steps.len() as u64);
        hints::count_duties(&self.shared, &flight.steps, &flight.changes);
        hints::learn(&self.shared, self.id, &flight.changes);
        for Step { task, result, .. } in flight.steps {
            self.answer(task, result);
        }
    }

    /// Takes back what a refused flight, and those that were built on it, put into the cache.
    fn forget(&mut self, flight: &Flight) {
        for change in &flight.changes {
            self.cache.remove_version(&change.key, flight.id);
        }
        for (version, keys) in &self.aloft {
            for key in keys {
                self.cache.remove_version(key, *version);
            }
        }
    }

    /// Others changed what this batch had read. Everything runs again; whoever meets a conflict twice does so alone,
    /// after a pause, so that its neighbours are not held up.
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
            if reads.is_disjoint(&changed) {
                again.push(task);
                continue;
            }
            task.conflicts += 1;
            if task.conflicts < 2 {
                again.push(task);
            } else if self.shared.clock.now() >= task.deadline {
                self.answer(task, Err(Error::Contended));
            } else {
                let pause = Span(4 << task.conflicts.min(8));
                self.later(task, pause);
            }
        }
        self.run_again(again);
    }

    /// Puts tasks back at the head of the line, in their order.
    fn run_again(&mut self, tasks: Vec<Task>) {
        self.depth.fetch_add(tasks.len(), Ordering::Relaxed);
        for task in tasks.into_iter().rev() {
            self.line(&task).push_front(task);
        }
    }

    /// Sends a task to this loop again after a jittered pause.
    fn later(&self, task: Task, pause: Span) {
        let (shared, id) = (self.shared.clone(), self.id);
        let pause = shared.chance.jittered(pause);
        self.shared.jobs.spawn(async move {
            shared.clock.sleep(pause).await;
            if let Err(refused) = shared.post(id, task) {
                reply(&shared, refused.task, Err(refused.error));
            }
        });
    }

    /// The store could not load or commit. What may pass is tried until the caller's deadline; the ids in the commands
    /// make a repeat find itself if the commit happened after all.
    fn store_failed(&mut self, tasks: Vec<Task>, error: &store::Error) {
        let may_pass = error.is_temporary() && error.kind() != store::ErrorKind::Full;
        for task in tasks {
            let in_time = self.shared.clock.now() < task.deadline;
            if may_pass && in_time {
                self.later(task, Span(50));
            } else {
                self.answer(task, Err(error.into()));
            }
        }
    }

    fn answer(&self, task: Task, result: Result<Reply, Error>) {
        reply(&self.shared, task, result);
    }
}

/// Tells whoever asked. Whoever has gone away drops the parcel, and a lease in it goes back.
fn reply(shared: &Arc<Shared>, task: Task, result: Result<Reply, Error>) {
    match (task.answer, result) {
        (Answer::Nobody, _) => {}
        (Answer::Caller(caller), result) => drop(caller.send(Parcel::new(result, shared.clone()))),
        (Answer::Waiter(waiter), Ok(reply)) => drop(waiter.answer.send(Parcel::new(Ok(reply), shared.clone()))),
        // The ready work was gone; the worker waits on.
        (Answer::Waiter(waiter), Err(error)) => {
            if let Error::Refused(Rejection::LanePaused(lane)) = &error {
                shared.board.stall_lane(&waiter.wants.namespace, lane);
            }
            shared.claim_matches(shared.board.put_back(waiter));
        }
    }
}
