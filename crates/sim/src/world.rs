//! The processes of a run: started, crashed, stopped, moved, and asked.

use crate::clock::{SimClock, Timeline, sleep};
use crate::dice::Dice;
use crate::fault_scheduler::LOOK_AGAIN;
use crate::faults::Fault;
use crate::hub::Hub;
use crate::mutants::{self, Mutant};
use crate::process_state::{ProcessState, Pulse};
use crate::settings::Settings;
use crate::store::SimStore;
use onward_core::{ExecutionId, Millis, Span, WorkerName};
use onward_engine::clock::Chance;
use onward_engine::{Engine, Options, Rules, Wants};
use onward_store::Home;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// How long a caller that is not in a hurry waits for an answer before the run is declared stuck.
const PATIENCE: Span = Span::minutes(15);
/// The same once all is calm: the longest wait for work and the longest that a call is tried.
const CALM_PATIENCE: Span = Span::seconds(60);
/// How long after the last fault a late commit may still arrive.
pub(crate) const LATEST: Span = Span::seconds(15);
/// How long after that hints may still be missing and clocks be wrong: the longest time between two sweeps, and some.
const SWEPT_AFTER: Span = Span::seconds(20);

/// A process that is up.
#[derive(Debug, Clone)]
pub(crate) struct Running {
    pub(crate) engine: Engine,
    pub(crate) state: Arc<ProcessState>,
}

/// The place of a process; it may be empty for a while.
#[derive(Debug, Default)]
struct Slot {
    running: Mutex<Option<Running>>,
    skew: AtomicI64,
    lives: AtomicU64,
}

/// All processes of a run.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) hub: Arc<Hub>,
    pub(crate) settings: Settings,
    timeline: Timeline,
    seed: u64,
    mutant: Option<Mutant>,
    slots: Vec<Slot>,
    home: Mutex<usize>,
    /// Workers that wait for work, and since when.
    idle: Mutex<BTreeMap<WorkerName, (Wants, Millis)>>,
    /// Ends for which callers wait, and since when.
    waits: Mutex<BTreeMap<u64, (ExecutionId, Millis)>>,
    calm: AtomicBool,
    /// When everything that faults had cost is mended.
    quiet_from: AtomicU64,
    over: AtomicBool,
}

impl World {
    pub(crate) fn new(
        hub: Arc<Hub>,
        timeline: Timeline,
        settings: Settings,
        seed: u64,
        mutant: Option<Mutant>,
    ) -> Arc<Self> {
        let slots = (0..settings.processes).map(|_| Slot::default()).collect();
        let (calm, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let (home, idle, waits) = (Mutex::new(0), Mutex::default(), Mutex::default());
        let quiet_from = AtomicU64::new(u64::MAX);
        Arc::new(Self { hub, settings, timeline, seed, mutant, slots, home, idle, waits, calm, quiet_from, over })
    }

    /// Starts a process and keeps trying until the store lets it. Whoever empties a slot fills it again, and nobody else.
    pub(crate) async fn boot(&self, process: usize) {
        let Some(slot) = self.slots.get(process) else { return };
        let life = slot.lives.fetch_add(1, Ordering::Relaxed);
        let state = Arc::new(ProcessState::new(process, slot.skew.load(Ordering::Relaxed)));
        let store = Arc::new(SimStore::new(self.hub.clone(), state.clone()));
        let mut seeds = Dice::new(self.seed ^ (process as u64 + 1) ^ (life << 8));
        loop {
            let options = Options {
                clock: Arc::new(SimClock { timeline: self.timeline, state: state.clone() }),
                chance: Arc::new(Chance::seeded(seeds.word())),
                call_timeout: self.settings.call_timeout,
                sweep_every: self.sweep_every(),
                watched_every: self.watched_every(),
                cache_bytes: self.settings.cache_bytes,
                rules: self.rules(),
                ..Options::default()
            };
            match Engine::start(store.clone(), options).await {
                Ok(engine) => {
                    self.hub.trace(format_args!("p{process} starts"));
                    *slot.running.lock() = Some(Running { engine, state });
                    return self.appoint();
                }
                Err(_) => sleep(Span(100)).await,
            }
        }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// The rules that every process runs.
    pub(crate) fn rules(&self) -> Rules {
        mutants::rules(self.mutant)
    }

    fn sweep_every(&self) -> Span {
        if self.mutant == Some(Mutant::NeverSwept) { Span::days(365) } else { self.settings.sweep_every }
    }

    fn watched_every(&self) -> Span {
        if self.mutant == Some(Mutant::WakeTrusted) { Span::days(365) } else { self.sweep_every() }
    }

    /// The process in a slot, if it is up.
    pub(crate) fn running(&self, process: usize) -> Option<Running> {
        self.slots.get(process)?.running.lock().clone()
    }

    /// Any process that is up; once it is calm, always the same.
    pub(crate) fn any(&self, dice: &mut Dice) -> Option<Running> {
        if self.is_calm() {
            return self.running(self.settings.refuge);
        }
        let up: Vec<Running> = self.processes().collect();
        dice.pick(&up).cloned()
    }

    /// Ends a process where it stands.
    pub(crate) fn crash(&self, process: usize) -> bool {
        let Some(slot) = self.slots.get(process) else { return false };
        let running = slot.running.lock().take();
        let Some(running) = running else { return false };
        self.hub.fault(Fault::Crash, format_args!("p{process}"));
        running.state.set_pulse(Pulse::Dead);
        running.engine.abort();
        true
    }

    /// Moves a process's clock for good.
    pub(crate) fn jump(&self, process: usize, skew: i64) {
        let Some(slot) = self.slots.get(process) else { return };
        slot.skew.store(skew, Ordering::Relaxed);
        if let Some(running) = self.running(process) {
            running.state.set_skew(skew);
        }
    }

    /// Makes another process the home. With `both`, the old one does not notice yet.
    pub(crate) fn move_home(&self, process: usize, both: bool) {
        *self.home.lock() = process;
        if both && !self.settings.members {
            if let Some(running) = self.running(process) {
                running.state.set_home(Home::Everywhere);
            }
        } else {
            self.appoint();
        }
    }

    pub(crate) fn home(&self) -> usize {
        *self.home.lock()
    }

    /// Tells every process whether it is the home.
    pub(crate) fn appoint(&self) {
        let home = self.home();
        for running in self.processes() {
            running.state.set_home(match () {
                () if self.settings.members => Home::ByMembership,
                () if running.state.process == home => Home::Everywhere,
                () => Home::Nowhere,
            });
        }
    }

    /// Ends all faults: everything runs, one process is the home. A process that is down has a successor on its way.
    pub(crate) async fn calm_down(&self) {
        self.hub.weather(crate::faults::Weather::calm_down);
        self.calm.store(true, Ordering::Relaxed);
        self.processes().for_each(|process| process.state.set_pulse(Pulse::Runs));
        while self.processes().count() < self.slots.len() {
            sleep(LOOK_AGAIN).await;
        }
        self.appoint();
        let quiet_from = self.hub.now() + Span(LATEST.0 + SWEPT_AFTER.0);
        self.quiet_from.store(quiet_from.0, Ordering::Relaxed);
        self.hub.trace(format_args!("calm"));
    }

    /// Commits that landed late have cost hints, which only a sweep makes up for.
    pub(crate) fn wait_for_sweep(&self) {
        self.quiet_from.fetch_max((self.hub.now() + SWEPT_AFTER).0, Ordering::Relaxed);
    }

    /// When everything that faults had cost is mended, so that nothing may be late any more.
    pub(crate) fn quiet_from(&self) -> Millis {
        Millis(self.quiet_from.load(Ordering::Relaxed))
    }

    pub(crate) fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Relaxed)
    }

    /// Nobody begins anything any more.
    pub(crate) fn close(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// A worker begins to wait for work.
    pub(crate) fn waits(&self, wants: &Wants) {
        let mut idle = self.idle.lock();
        idle.insert(wants.worker.clone(), (wants.clone(), self.hub.now()));
    }

    /// A worker waits no more.
    pub(crate) fn wakes(&self, wants: &Wants) {
        self.idle.lock().remove(&wants.worker);
    }

    pub(crate) fn idle(&self) -> Vec<(Wants, Millis)> {
        self.idle.lock().values().cloned().collect()
    }

    /// Somebody begins to wait for an end; returns the number of the wait.
    pub(crate) fn begin_wait(&self, id: ExecutionId) -> u64 {
        let mut waits = self.waits.lock();
        let number = waits.last_key_value().map_or(0, |(last, _)| last + 1);
        waits.insert(number, (id, self.hub.now()));
        number
    }

    /// Somebody waits no more.
    pub(crate) fn end_wait(&self, number: u64) {
        self.waits.lock().remove(&number);
    }

    pub(crate) fn awaited(&self) -> Vec<(ExecutionId, Millis)> {
        self.waits.lock().values().copied().collect()
    }

    pub(crate) fn processes(&self) -> impl Iterator<Item = Running> {
        (0..self.slots.len()).filter_map(|process| self.running(process))
    }

    /// Waits for an answer; there is none when the process dies or the caller leaves. A caller in a hurry leaves in the
    /// middle of the call.
    pub(crate) async fn ask<T>(
        &self,
        process: &Running,
        hurry: Option<Span>,
        call: impl Future<Output = T>,
    ) -> Option<T> {
        let patience = if self.is_calm() { CALM_PATIENCE } else { PATIENCE };
        tokio::select! {
            biased;
            answer = call => Some(answer),
            () = process.state.death() => None,
            () = sleep(hurry.unwrap_or(patience)) => {
                if hurry.is_some() {
                    self.hub.fault(Fault::CallerGone, format_args!("p{}", process.state.process));
                } else {
                    self.hub.violate("liveness", format!("a call was not answered for {patience}"));
                }
                None
            }
        }
    }
}
