//! Turns waiting commands into one conditional batch: applies them in memory and hands ready work to parked workers.

use crate::Error;
use crate::binding::{self, Loaded};
use crate::members::topics;
use crate::partition::cache::Cache;
use crate::partition::doubt::{self, Settled};
use crate::partition::task::{Answer, Task};
use crate::shared::Shared;
use crate::work::waiters::Waiter;
use onward_core::record::{Execution, Readiness, Record, State, Waiting};
use onward_core::{
    Command, Key, Lane, Millis, Namespace, PartitionId, Rejection, Reply, Span, Stop, Touch, Verb, View, Window, limits,
};
use onward_store as store;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// How far the time given to the rules may be ahead of the store's. Less than the shortest lease, and more than the
/// estimate is ever off by itself.
const AHEAD_MAX: Span = Span(900);

/// A batch in flight to the store, with everything to do when it returns.
#[derive(Debug)]
pub(crate) struct Flight {
    pub(crate) id: store::Version,
    pub(crate) steps: Vec<Step>,
    pub(crate) changes: Vec<Change>,
    /// Lanes found paused, if what was read of them still holds when this is committed.
    pub(crate) paused: BTreeSet<(Namespace, Lane)>,
    /// How often lanes had changed when this was applied; see `Board::lane_news`.
    pub(crate) lane_news: u64,
    /// Store time from which on the batch cannot be written any more.
    pub(crate) until: Millis,
}

/// A command that was applied, and its result once the batch is committed.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) task: Task,
    /// Whether the command itself writes something.
    pub(crate) writes: bool,
    pub(crate) result: Result<Reply, Error>,
    pub(crate) reads: Vec<Key>,
}

/// A record that the batch changes.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) key: Key,
    /// The version that the batch expects; `None` for a record that does not exist.
    pub(crate) version: Option<store::Version>,
    pub(crate) before: Option<Arc<Record>>,
    pub(crate) after: Option<Arc<Record>>,
}

/// The result of applying: a batch, or the keys that must be loaded first.
pub(crate) enum Applied {
    Ready(Box<Prepared>),
    Need(Vec<Task>, BTreeSet<Key>),
}

/// A batch that is ready to be sent.
pub(crate) struct Prepared {
    pub(crate) batch: store::Batch,
    pub(crate) flight: Flight,
    /// Waiters whose hand-off was refused.
    pub(crate) unmatched: Vec<Waiter>,
    /// Tasks that did not fit: those before them touched more records than could be known beforehand.
    pub(crate) left: Vec<Task>,
    /// Tasks that cannot be answered while an earlier batch of theirs may still be written.
    pub(crate) unsettled: Vec<Task>,
}

/// Applies all tasks in order to the cached records. `last_round` turns a further need into an error, so that a rule
/// that keeps asking cannot block its partition.
pub(crate) fn apply(
    shared: &Shared,
    partition: PartitionId,
    cache: &Cache,
    mut tasks: Vec<Task>,
    now: Millis,
    last_round: bool,
) -> Applied {
    let lane_news = shared.board.lane_news();
    let mut view = View::over(partition, shared.partitions, cache);
    let mut results = Vec::with_capacity(tasks.len());
    let mut needs = BTreeSet::new();
    let mut fitting = 0;
    for task in &tasks {
        if view.len() > limits::BATCH_ROWS_MAX {
            break;
        }
        fitting += 1;
        if let Some(fresh) = task.command.fresh_key().filter(|key| cache.get(key).is_none()) {
            view.supply(fresh, None);
        }
        let result = match run(shared, &mut view, &task.command, now) {
            Ok(result) => Ok(result),
            Err(Stop::Refuse(rejection)) => Ok(Err(rejection.into())),
            Err(stop) => Err(stop),
        };
        let writes = !view.step().writes.is_empty();
        let result = result.and_then(|result| Ok((result, doubt::settle(task, &mut view, cache, now)?)));
        match result {
            Err(Stop::Need(keys)) if last_round => {
                let asked = keys.first().map(ToString::to_string).unwrap_or_default();
                let error = Error::Internal(format!("a rule asked too often, last for {asked}"));
                results.push(Some((Err(error), Vec::new(), false)));
            }
            Err(Stop::Need(keys)) => needs.extend(keys),
            Err(Stop::Refuse(rejection)) => results.push(Some((Err(rejection.into()), view.take_step().reads, writes))),
            Ok((result, Settled::Yes)) => results.push(Some((result, view.take_step().reads, writes))),
            Ok((_, Settled::No)) => results.push(None),
        }
    }
    if !needs.is_empty() {
        return Applied::Need(tasks, needs);
    }
    let left = tasks.split_off(fitting);
    let (mut steps, mut unsettled) = (Vec::with_capacity(tasks.len()), Vec::new());
    for (task, applied) in tasks.into_iter().zip(results) {
        match applied {
            Some((result, reads, writes)) => steps.push(Step { task, writes, result, reads }),
            None => unsettled.push(task),
        }
    }
    let HandedOff { unmatched, paused } = hand_off(shared, &mut view, &mut steps, now);
    let (batch, changes) = build(shared, &view, cache, now);
    let until = batch.window.not_after.map_or(Millis(u64::MAX), Millis);
    let flight = Flight { id: batch.id, steps, changes, paused, lane_news, until };
    Applied::Ready(Box::new(Prepared { batch, flight, unmatched, left, unsettled }))
}

/// Runs one command; a panic in a rule fails that command only.
fn run(shared: &Shared, view: &mut View, command: &Command, now: Millis) -> Result<Result<Reply, Error>, Stop> {
    match catch_unwind(AssertUnwindSafe(|| (shared.options.rules)(view, command, now))) {
        Ok(result) => result.map(Ok),
        Err(_) => {
            view.abandon();
            shared.metrics.rule_panics.add(1);
            tracing::error!(command = command.name(), "a rule panicked; the command had no effect");
            Ok(Err(Error::Internal(format!("the rule for {} panicked", command.name()))))
        }
    }
}

/// The result of a hand-off.
#[derive(Default)]
struct HandedOff {
    /// Waiters whose claim was refused.
    unmatched: Vec<Waiter>,
    /// Lanes found paused.
    paused: BTreeSet<(Namespace, Lane)>,
}

/// Hands what these commands made ready to workers parked here, in the same batch; returns the waiters without work.
fn hand_off(shared: &Shared, view: &mut View, steps: &mut Vec<Step>, now: Millis) -> HandedOff {
    let mut handed = HandedOff::default();
    if !shared.board.anybody_waits() {
        return handed;
    }
    let mut waiting: Vec<Arc<Record>> =
        view.writes().filter_map(|(_, record)| record.filter(|record| ready(record).is_some()).cloned()).collect();
    // Who came first is served first, also when there are fewer workers than work.
    waiting.sort_by_key(|record| ready(record).map(|execution| (execution.ready_rank(), execution.id)));
    for record in waiting.iter().take(limits::BATCH_COMMANDS_MAX) {
        let Some(execution) = ready(record) else { continue };
        if handed.paused.contains(&(execution.namespace.clone(), execution.lane.clone())) {
            continue;
        }
        let Some(waiter) = shared.board.waiter_for(execution) else { continue };
        let claim = waiter.wants.claim(execution.id, shared.chance.id()).into();
        match run(shared, view, &claim, now) {
            Ok(Ok(reply)) => {
                shared.metrics.hand_offs.add(1);
                let task = Task::new(claim, Answer::Waiter(waiter, None), Millis(u64::MAX));
                steps.push(Step { task, writes: true, result: Ok(reply), reads: view.take_step().reads });
            }
            refused => {
                if let Err(Stop::Refuse(Rejection::LanePaused(lane))) = refused {
                    handed.paused.insert((waiter.wants.namespace.clone(), lane));
                }
                handed.unmatched.push(waiter);
            }
        }
    }
    handed
}

/// The execution in a record, if it is ready for a worker.
pub(crate) fn ready(record: &Record) -> Option<&Execution> {
    match record {
        Record::Execution(execution)
            if matches!(execution.state, State::Waiting(Waiting { readiness: Readiness::Ready { .. }, .. })) =>
        {
            Some(execution)
        }
        _ => None,
    }
}

/// Turns what the view read and wrote into one conditional batch.
fn build(shared: &Shared, view: &View, cache: &Cache, now: Millis) -> (store::Batch, Vec<Change>) {
    let id = store::Version(shared.chance.id());
    let mut batch = store::Batch::new(binding::partition(view.partition()), id);
    let mut changes = Vec::new();
    for (key, touch) in view.touched() {
        let held = cache.get(key);
        let name = binding::store_key(key);
        let version = held.and_then(|held| held.version);
        batch.expect.push((name.clone(), version));
        let before = held.and_then(|held| held.record.clone());
        let after = match touch {
            Touch::Read => continue,
            Touch::Deleted if before.is_none() => continue,
            Touch::Deleted => {
                batch.delete.push(name);
                None
            }
            Touch::Written(record) => {
                batch.put.push(binding::row(name, record, id));
                Some(record.clone())
            }
        };
        changes.push(Change { key: key.clone(), version, before, after });
    }
    batch.events = binding::events(view.events());
    batch.window = binding::window(near(view.window(), now));
    batch.wake = topics::of(shared, view.partition(), &changes);
    (batch, changes)
}

/// Narrows a window so that the time given to the rules is right. Everything they wrote counts from it: a delay from an
/// hour ahead would last an hour too long, and one from an hour behind would be over at once.
fn near(window: Window, now: Millis) -> Window {
    let (from, until) = (now - AHEAD_MAX, now + limits::BATCH_LIFE);
    let not_before = Some(window.not_before.map_or(from, |time| time.max(from)));
    Window { not_before, not_after: Some(window.not_after.map_or(until, |time| time.min(until))) }
}

/// Puts a flight's changes into the cache while it is in flight.
pub(crate) fn speculate(cache: &mut Cache, flight: &Flight, batch: &store::Batch) {
    let mut bodies = batch.put.iter().map(|row| row.body.len());
    for change in &flight.changes {
        let loaded = match &change.after {
            Some(record) => Loaded {
                version: Some(flight.id),
                record: Some(record.clone()),
                bytes: bodies.next().unwrap_or(0) + 512,
            },
            None => Loaded::ABSENT,
        };
        cache.insert(change.key.clone(), loaded);
    }
}
