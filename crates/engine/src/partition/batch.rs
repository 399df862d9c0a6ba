//! Turns waiting commands into one conditional batch: applies them in memory and hands ready work to parked workers.

use crate::Error;
use crate::binding::{self, Loaded};
use crate::members::topics;
use crate::partition::cache::Cache;
use crate::partition::doubt::{self, Settled};
use crate::partition::task::{Answer, Task};
use crate::shared::Shared;
use crate::work::waiters::Waiter;
use onward_core::record::{Execution, Record};
use onward_core::{
    Candidate, Command, Key, Lane, Millis, Namespace, PageOf, PartitionId, Rejection, Reply, Size, Source, Span, Stop,
    Touch, Verb, View, Want, Window, limits,
};
use onward_store as store;
use std::collections::{BTreeMap, BTreeSet};
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

/// The result of applying: a batch, or what must be read first.
pub(crate) enum Applied {
    Ready(Box<Prepared>),
    Need(Vec<Task>, BTreeSet<Want>),
}

/// A batch that is ready to be sent.
pub(crate) struct Prepared {
    pub(crate) batch: store::Batch,
    pub(crate) flight: Flight,
    /// Waiters whose hand-off was refused.
    pub(crate) unmatched: Vec<Waiter>,
    /// Tasks that did not fit, in their order.
    pub(crate) left: Vec<Task>,
    /// Tasks that cannot be answered while an earlier batch of theirs may still be written.
    pub(crate) unsettled: Vec<Task>,
}

/// Pages of candidates that were read for one batch.
pub(crate) type Pages = BTreeMap<PageOf, Arc<[Candidate]>>;

/// What one partition has at hand for its rules: records, and pages that were read for this batch.
#[derive(Debug)]
pub(crate) struct Hand<'a> {
    pub(crate) id: PartitionId,
    pub(crate) cache: &'a Cache,
    pub(crate) pages: &'a Pages,
}

impl Source for Hand<'_> {
    fn find(&self, key: &Key) -> Option<Option<Arc<Record>>> {
        self.cache.find(key)
    }

    fn page(&self, page: &PageOf) -> Option<Arc<[Candidate]>> {
        self.pages.get(page).cloned()
    }
}

/// What became of one task.
enum Tried {
    /// It has its result.
    Done { result: Result<Reply, Error>, reads: Vec<Key>, writes: bool },
    /// It cannot be answered while an earlier batch of it may still be written.
    Unsettled,
    /// The batch is full.
    Left,
}

/// Applies all tasks in order to the cached records. `last_round` turns a further need into an error, so that a rule
/// that keeps asking cannot block its partition.
pub(crate) fn apply(shared: &Shared, hand: &Hand, tasks: Vec<Task>, now: Millis, last_round: bool) -> Applied {
    let lane_news = shared.board.lane_news();
    let mut view = View::over(hand.id, shared.partitions, hand);
    let mut room = Room::new(&tasks);
    let mut tried = Vec::with_capacity(tasks.len());
    let mut needs = BTreeSet::new();
    for task in &tasks {
        if room.is_full_for(task) {
            tried.push(Tried::Left);
            continue;
        }
        match attempt(shared, &mut view, hand.cache, task, now) {
            Err(Stop::Need(wanted)) if last_round => {
                let error = Error::Internal(format!("a rule asked too often, last for {:?}", wanted.first()));
                tried.push(Tried::Done { result: Err(error), reads: Vec::new(), writes: false });
            }
            Err(Stop::Need(wanted)) => needs.extend(wanted),
            Err(Stop::Refuse(rejection)) => {
                let writes = !view.step().writes.is_empty();
                tried.push(Tried::Done { result: Err(rejection.into()), reads: view.take_step().reads, writes });
            }
            Ok(_) if !room.take(task, view.size()) => {
                view.abandon();
                tried.push(Tried::Left);
            }
            Ok(done) => tried.push(done),
        }
    }
    if !needs.is_empty() {
        return Applied::Need(tasks, needs);
    }
    let HandedOff { unmatched, paused, steps: handed, needs } = hand_off(shared, &mut view, now, last_round);
    if !needs.is_empty() {
        for waiter in unmatched {
            shared.put_back(waiter);
        }
        return Applied::Need(tasks, needs);
    }
    let (mut steps, mut left, mut unsettled) = (Vec::with_capacity(tasks.len()), Vec::new(), Vec::new());
    for (task, tried) in tasks.into_iter().zip(tried) {
        match tried {
            Tried::Done { result, reads, writes } => steps.push(Step { task, writes, result, reads }),
            Tried::Unsettled => unsettled.push(task),
            Tried::Left => left.push(task),
        }
    }
    steps.extend(handed);
    let (batch, changes) = build(shared, &view, hand.cache, now);
    let until = batch.window.not_after.map_or(Millis(u64::MAX), Millis);
    let flight = Flight { id: batch.id, steps, changes, paused, lane_news, until };
    Applied::Ready(Box::new(Prepared { batch, flight, unmatched, left, unsettled }))
}

/// Runs one task, and makes earlier batches of it impossible.
fn attempt(shared: &Shared, view: &mut View, cache: &Cache, task: &Task, now: Millis) -> Result<Tried, Stop> {
    if let Some(fresh) = task.command.fresh_key().filter(|key| cache.get(key).is_none()) {
        view.supply(fresh, None);
    }
    let result = match run(shared, view, &task.command, now) {
        Ok(result) => result,
        Err(Stop::Refuse(rejection)) => Err(rejection.into()),
        Err(need) => return Err(need),
    };
    let writes = !view.step().writes.is_empty();
    Ok(match doubt::settle(task, view, cache, now)? {
        Settled::Yes => Tried::Done { result, reads: view.take_step().reads, writes },
        Settled::No => Tried::Unsettled,
    })
}

/// The room of one batch, and who has to leave some to others.
struct Room {
    /// Whether calls wait behind the background work, which then gets half.
    shared_with_calls: bool,
    begun: bool,
    background_full: bool,
    full: bool,
}

impl Room {
    fn new(tasks: &[Task]) -> Self {
        let shared_with_calls = tasks.iter().any(|task| !task.is_background());
        Self { shared_with_calls, begun: false, background_full: false, full: false }
    }

    fn is_full_for(&self, task: &Task) -> bool {
        self.full || (self.background_full && task.is_background())
    }

    /// Whether the batch can keep what a task wrote; the first one always fits.
    fn take(&mut self, task: &Task, size: Size) -> bool {
        let share = if task.is_background() && self.shared_with_calls { 2 } else { 1 };
        let fits = size.rows <= limits::BATCH_ROWS_MAX / share && size.bytes <= limits::BATCH_BYTES_MAX / share;
        let keep = fits || !self.begun;
        self.begun = true;
        if !fits {
            *(if share == 2 { &mut self.background_full } else { &mut self.full }) = true;
        }
        keep
    }
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
    /// The claims that were applied.
    steps: Vec<Step>,
    /// Waiters without work.
    unmatched: Vec<Waiter>,
    /// Lanes found paused.
    paused: BTreeSet<(Namespace, Lane)>,
    /// What a claim needs that is not at hand; then nothing is handed off in this round.
    needs: BTreeSet<Want>,
}

impl HandedOff {
    /// Takes everything back, since the batch is applied again when what is needed is at hand.
    fn undone(self) -> Self {
        let waiters = self.steps.into_iter().filter_map(|step| match step.task.answer {
            Answer::Waiter(waiter, _) => Some(waiter),
            _ => None,
        });
        let unmatched = waiters.chain(self.unmatched).collect();
        Self { unmatched, needs: self.needs, ..Self::default() }
    }
}

/// Hands what these commands made ready to workers parked here, in the same batch.
fn hand_off(shared: &Shared, view: &mut View, now: Millis, last_round: bool) -> HandedOff {
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
                let task = Task::new(claim, Answer::Waiter(waiter, None), Millis(u64::MAX));
                let reads = view.take_step().reads;
                handed.steps.push(Step { task, writes: true, result: Ok(reply), reads });
                continue;
            }
            Err(Stop::Need(wanted)) if !last_round => handed.needs.extend(wanted),
            Err(Stop::Refuse(Rejection::LanePaused(lane))) => {
                handed.paused.insert((waiter.wants.namespace.clone(), lane));
            }
            _ => {}
        }
        handed.unmatched.push(waiter);
    }
    if !handed.needs.is_empty() {
        return handed.undone();
    }
    shared.metrics.hand_offs.add(handed.steps.len() as u64);
    handed
}

/// The execution in a record, if it is ready for a worker.
pub(crate) fn ready(record: &Record) -> Option<&Execution> {
    match record {
        Record::Execution(execution) if execution.is_ready() => Some(execution),
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
                batch.put.push(binding::row(name, key, record, id));
                Some(record.clone())
            }
        };
        changes.push(Change { key: key.clone(), version, before, after });
    }
    binding::logs(&mut batch, view.logs());
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
