//! What all parts of one run share: the time, the store behind all connections, the checkers, the trace and the faults.

use crate::checker::{Checker, Violation};
use crate::clock::Timeline;
use crate::faults::{Fault, FaultCounts, Weather};
use crate::mutants::Mutant;
use crate::trace::{Keep, Shown, Trace};
use futures_util::FutureExt;
use onward_core::Millis;
use onward_store::memory::Memory;
use onward_store::{Batch, Error, ErrorKind, IndexName, Key, Outcome, Page, Partition, Record, Result, Store, Version};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use tokio::sync::watch;

/// A committed batch as it can be taken back: its partition and what its keys held before.
type Undo = (Partition, Vec<(Key, Option<Record>)>);

/// Calls to the store within one millisecond after which nothing moves on: far beyond what any burst of work needs.
const CALLS_AT_ONCE_MAX: u32 = 20_000;

/// Shared by everybody in one run.
#[derive(Debug)]
pub(crate) struct Hub {
    timeline: Timeline,
    memory: Memory,
    mutant: Option<Mutant>,
    state: Mutex<State>,
    /// Set when a checker has found something: the run is over.
    alarm: watch::Sender<bool>,
}

#[derive(Debug)]
struct State {
    trace: Trace,
    checker: Checker,
    weather: Weather,
    commands: u64,
    /// The newest time at which the store was called, and how often.
    calls: (Millis, u32),
    /// Kept only in runs in which the store loses commits.
    journal: Option<Vec<Undo>>,
    /// Whether the replica, for which the store waits, is away.
    replica_is_away: bool,
    /// Commits that land long after their senders have gone on.
    in_flight: u32,
}

impl Hub {
    pub(crate) fn new(
        timeline: Timeline,
        partitions: u16,
        weather: Weather,
        mutant: Option<Mutant>,
        keep: Keep,
        loses: bool,
    ) -> Arc<Self> {
        let clock = Arc::new(move || timeline.now().0);
        Arc::new(Self {
            timeline,
            memory: Memory::new(partitions, clock, 1),
            mutant,
            state: Mutex::new(State {
                trace: Trace::new(keep),
                checker: Checker::new(partitions),
                weather,
                commands: 0,
                calls: (Millis(0), 0),
                journal: loses.then(Vec::new),
                replica_is_away: false,
                in_flight: 0,
            }),
            alarm: watch::Sender::new(false),
        })
    }

    pub(crate) fn now(&self) -> Millis {
        self.timeline.now()
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }

    pub(crate) fn weather<T>(&self, act: impl FnOnce(&mut Weather) -> T) -> T {
        act(&mut self.state.lock().weather)
    }

    pub(crate) fn trace(&self, what: fmt::Arguments<'_>) {
        let now = self.now();
        self.state.lock().trace.step(now, what);
    }

    /// A process reads.
    pub(crate) fn read(&self, process: usize, what: fmt::Arguments<'_>) {
        let now = self.now();
        self.state.lock().trace.read(now, format_args!("p{process} {what}"));
    }

    /// A fault happened.
    pub(crate) fn fault(&self, fault: Fault, detail: fmt::Arguments<'_>) {
        let now = self.now();
        let mut state = self.state.lock();
        state.weather.count(fault);
        state.trace.step(now, format_args!("fault {}: {detail}", fault.name()));
    }

    /// Somebody sends a command.
    pub(crate) fn command(&self, what: fmt::Arguments<'_>) {
        let now = self.now();
        let mut state = self.state.lock();
        state.commands += 1;
        state.trace.step(now, what);
    }

    /// Lets the checkers look at something; the first violation ends the run.
    pub(crate) fn check<T>(&self, look: impl FnOnce(&mut Checker) -> T) -> T {
        let mut state = self.state.lock();
        let seen = look(&mut state.checker);
        let alarm = state.checker.violation().is_some();
        drop(state);
        if alarm {
            self.alarm.send_replace(true);
        }
        seen
    }

    /// The store is called. Time stands still while anybody works, so a loop that never rests would never end.
    pub(crate) async fn called(&self) {
        if self.count_call() > CALLS_AT_ONCE_MAX {
            self.violate("livelock", format!("the store is called without end at {}", self.now()));
            std::future::pending::<()>().await;
        }
    }

    fn count_call(&self) -> u32 {
        let now = self.now();
        let calls = &mut self.state.lock().calls;
        *calls = if calls.0 == now { (now, calls.1 + 1) } else { (now, 1) };
        calls.1
    }

    /// Something that no checker of records or answers can see is wrong.
    pub(crate) fn violate(&self, checker: &'static str, what: String) {
        self.check(|checks| checks.violate(checker, what));
    }

    /// Waits until a checker has found something.
    pub(crate) async fn alarm(&self) {
        // The sender lives in `self`.
        let _alarm = self.alarm.subscribe().wait_for(|alarm| *alarm).await.is_ok();
    }

    pub(crate) fn commands(&self) -> u64 {
        self.state.lock().commands
    }

    /// Ends the bookkeeping with a look at what is stored: hash, steps, commands, faults, the violation and the last steps.
    pub(crate) fn finish(&self) -> (u64, u64, FaultCounts, Option<Violation>, Vec<String>) {
        let snapshot = self.memory.snapshot();
        let mut state = self.state.lock();
        state.trace.snapshot(&snapshot);
        let counts = state.weather.counts().clone();
        let last = state.trace.take_last();
        (state.trace.hash(), state.commands, counts, state.checker.violation().cloned(), last)
    }

    /// Whether a page of candidates misses some: what a commit in flight lists is not in it yet. It takes no draw, so that
    /// it moves no other fault, and happens in the calm too: most pages are read where all that has ended is removed.
    fn hides_candidates(&self, index: &IndexName) -> bool {
        let hides = (self.now().0 / 250).is_multiple_of(3);
        if hides {
            self.fault(Fault::ShortPage, format_args!("of {}", index.as_str()));
        }
        hides
    }

    /// What a process gets of a page that the store found.
    pub(crate) fn page(&self, index: &IndexName, mut page: Page) -> Page {
        if self.mutant == Some(Mutant::ListingCut) && index.as_str().starts_with("list/") {
            // A page that is not full is the last one.
            page.items.pop();
        }
        if index.as_str().starts_with("parts/") && self.hides_candidates(index) {
            // The commit that lists them is in flight.
            page.items.retain(|found| found.rank % 2 == 0);
        }
        page
    }

    /// Applies what arrives at the store, each batch on its own.
    pub(crate) fn commit(&self, memory: &Memory, process: usize, group: Vec<Batch>) -> Result<Vec<Outcome>> {
        group.into_iter().map(|batch| self.commit_one(memory, process, batch)).collect()
    }

    fn commit_one(&self, memory: &Memory, process: usize, batch: Batch) -> Result<Outcome> {
        let touched = self.state.lock().touch(&batch);
        if let Some(touch) = touched {
            self.fault(Fault::Conflict, format_args!("{}", touch.put[0].key));
            self.apply(&self.memory, process, &touch)?;
        }
        let unwritten = match self.mutant {
            Some(Mutant::RefusalAnsweredEarly) => batch.is_check_only(),
            Some(Mutant::AcknowledgedUnwritten) => batch.id.0.is_multiple_of(64),
            _ => false,
        };
        if unwritten {
            return Ok(Outcome::Committed { now: self.now().0 });
        }
        let batch = match self.mutant {
            None => batch,
            Some(mutant) => mutant.alter(batch, |key| self.state.lock().checker.stored(key).cloned()),
        };
        let outcome = self.apply(memory, process, &batch)?;
        let refused = !matches!(outcome, Outcome::Committed { .. });
        if self.mutant == Some(Mutant::EventBeforeCommit) && refused && !batch.events.is_empty() {
            let mut early = Batch::new(batch.partition, Version(self.weather(Weather::draw)));
            early.events = batch.events;
            at_once(memory, early)?;
        }
        Ok(outcome)
    }

    /// Applies one batch and shows it to the checkers.
    fn apply(&self, memory: &Memory, process: usize, batch: &Batch) -> Result<Outcome> {
        let outcome = match at_once(memory, batch.clone()) {
            Ok(outcome) => outcome,
            Err(error) => {
                self.violate("contract", format!("the store refuses a batch of the engine: {error}"));
                return Err(error);
            }
        };
        let now = self.now();
        let mut state = self.state.lock();
        let answer = match &outcome {
            Outcome::Committed { .. } => "committed",
            Outcome::Conflict { .. } => "conflict",
            Outcome::Outside { .. } => "outside",
        };
        state.trace.step(now, format_args!("p{process} {answer} {}", Shown(batch)));
        state.trace.batch(batch);
        if matches!(outcome, Outcome::Committed { .. }) {
            state.remember(batch);
            state.checker.committed(batch, now);
            state.checker.read_feed(memory);
        }
        drop(state);
        self.check(|_| ());
        Ok(outcome)
    }

    /// A batch is on a way that takes minutes.
    pub(crate) fn departs(&self) {
        self.state.lock().in_flight += 1;
    }

    /// It arrives.
    pub(crate) fn arrives(&self) {
        self.state.lock().in_flight -= 1;
    }

    /// Whether commits may still land whose senders have long gone on.
    pub(crate) fn is_any_in_flight(&self) -> bool {
        self.state.lock().in_flight > 0
    }

    /// From now on no replica gets what is committed.
    pub(crate) fn cut_replica(&self) {
        let mut state = self.state.lock();
        state.replica_is_away = true;
        state.journal = Some(Vec::new());
    }

    /// Whether what was committed just now may be lost, so that it must not be acknowledged.
    pub(crate) fn is_unacknowledged(&self, only_checks: bool) -> bool {
        let forgotten = self.mutant == Some(Mutant::CheckNotWaitedFor) && only_checks;
        self.state.lock().replica_is_away && !forgotten
    }

    /// The replica has everything again.
    pub(crate) fn replica_caught_up(&self) {
        self.state.lock().replica_is_away = false;
    }

    /// The replica takes over, and everything that it does not have is gone.
    pub(crate) fn fail_over(&self) -> Result<()> {
        let partitions: BTreeSet<Partition> =
            self.state.lock().journal.iter().flatten().map(|(partition, _)| *partition).collect();
        for partition in partitions {
            self.roll_back(partition, usize::MAX)?;
        }
        self.state.lock().replica_is_away = false;
        self.check(Checker::taken_over);
        Ok(())
    }

    /// Whether a planted fault loses what is told of lanes while a commit is on its way back.
    pub(crate) fn loses_lane_news(&self) -> bool {
        self.mutant == Some(Mutant::StaleAnswerStallsLane)
    }

    /// The store loses the last commits of a partition, as an unplanned failover of a replicated one does.
    pub(crate) fn roll_back(&self, partition: Partition, commits: usize) -> Result<usize> {
        let (lost, before) = self.state.lock().take_back(partition, commits);
        let mut groups: BTreeMap<Option<Version>, Vec<(&Key, Option<&Record>)>> = BTreeMap::new();
        for (key, record) in &before {
            groups.entry(record.as_ref().map(|record| record.version)).or_default().push((key, record.as_ref()));
        }
        for (version, rows) in groups {
            let id = version.unwrap_or_else(|| Version(self.weather(Weather::draw)));
            let mut batch = Batch::new(partition, id);
            for (key, record) in rows {
                batch.expect.push((key.clone(), self.state.lock().checker.version(key)));
                match record {
                    Some(record) => batch.put.push(record.clone()),
                    None => batch.delete.push(key.clone()),
                }
            }
            at_once(&self.memory, batch)?;
        }
        self.fault(Fault::Rollback, format_args!("partition {partition} loses {lost} commits"));
        let now = self.now();
        self.check(|checker| checker.rolled_back(partition, &before, now));
        Ok(lost)
    }
}

impl State {
    /// A batch by which somebody else touches a record that this one expects.
    fn touch(&mut self, batch: &Batch) -> Option<Batch> {
        if !self.weather.touches() {
            return None;
        }
        let known: Vec<&Key> =
            batch.expect.iter().filter(|(_, version)| version.is_some()).map(|(key, _)| key).collect();
        let draw = self.weather.draw();
        let key = *known.get((draw % known.len().max(1) as u128) as usize)?;
        let stored = self.checker.stored(key)?;
        let id = Version(draw);
        let mut touch = Batch::new(batch.partition, id);
        touch.expect.push((key.clone(), Some(stored.version)));
        touch.put.push(Record { version: id, ..stored.clone() });
        Some(touch)
    }

    fn remember(&mut self, batch: &Batch) {
        if batch.is_check_only() {
            return;
        }
        if let Some(journal) = &mut self.journal {
            let keys = batch.put.iter().map(|record| &record.key).chain(&batch.delete);
            let before = keys.map(|key| (key.clone(), self.checker.stored(key).cloned())).collect();
            journal.push((batch.partition, before));
        }
    }

    /// Takes the newest commits of a partition out of the journal; answers how many and what they had found.
    fn take_back(&mut self, partition: Partition, commits: usize) -> (usize, BTreeMap<Key, Option<Record>>) {
        let (mut lost, mut before) = (0, BTreeMap::new());
        let Some(journal) = &mut self.journal else { return (lost, before) };
        for at in (0..journal.len()).rev() {
            if lost == commits {
                break;
            }
            if journal[at].0 == partition {
                before.extend(journal.remove(at).1);
                lost += 1;
            }
        }
        (lost, before)
    }
}

/// The reference store answers without waiting.
fn at_once(memory: &Memory, batch: Batch) -> Result<Outcome> {
    let odd = || Error::new(ErrorKind::Invalid, "the reference store did not answer at once");
    let outcomes = memory.commit(vec![batch]).now_or_never().ok_or_else(odd)??;
    outcomes.into_iter().next().ok_or_else(odd)
}
