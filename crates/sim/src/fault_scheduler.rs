//! Injects faults at certain times into whole processes or the whole store.

use crate::clock::sleep;
use crate::dice::Dice;
use crate::faults::Fault;
use crate::process_state::Pulse;
use crate::settings::SCHEDULED_FAULTS_MIN;
use crate::world::World;
use onward_core::{PartitionId, Span};
use onward_store::Partition;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The largest error of a process's clock.
const SKEW_MAX_MS: u64 = 40_000;

/// Injects one scheduled fault after the other until the run calms down.
#[derive(Debug)]
pub(crate) struct FaultScheduler {
    world: Arc<World>,
    dice: Dice,
    injected: Arc<AtomicU64>,
}

impl FaultScheduler {
    pub(crate) fn new(world: Arc<World>, dice: Dice) -> Self {
        Self { world, dice, injected: Arc::default() }
    }

    /// The number of faults injected so far; a run waits until there were enough.
    pub(crate) fn injected(&self) -> Arc<AtomicU64> {
        self.injected.clone()
    }

    pub(crate) async fn run(mut self) {
        while !self.world.is_calm() {
            let pause = self.world.settings.scheduled_pause.0;
            // The first faults come soon, so that short runs have their share.
            let soon = self.injected.load(Ordering::Relaxed) < SCHEDULED_FAULTS_MIN;
            sleep(self.dice.span(pause / 8, if soon { pause / 2 } else { pause })).await;
            if self.world.is_calm() {
                return;
            }
            self.inject().await;
            self.injected.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn inject(&mut self) {
        let process = self.dice.below(self.world.settings.processes as u64) as usize;
        match self.dice.pick(&self.world.settings.scheduled_faults).copied().unwrap_or(Fault::Outage) {
            Fault::Crash => self.crash(process).await,
            Fault::Pause => self.pause(process),
            Fault::ClockJump => self.jump(process),
            Fault::HomeMove => self.move_home(process, false).await,
            Fault::TwoHomes => self.move_home(process, true).await,
            Fault::LostHint => self.deafen(process),
            Fault::Rollback => self.roll_back(),
            _ => self.cut_off(process),
        }
    }

    /// The home of the dead moves first or its successor comes first, as chance will have it.
    async fn crash(&mut self, process: usize) {
        if !self.world.crash(process) {
            return;
        }
        let (moves_after, returns_after) = (self.dice.span(0, 2_000), self.dice.span(50, 5_000));
        let others = self.world.settings.processes as u64;
        let heir = self.dice.below(others) as usize;
        let world = self.world.clone();
        let was_home = world.home() == process;
        tokio::spawn(async move {
            if was_home && heir != process && moves_after < returns_after {
                sleep(moves_after).await;
                world.move_home(heir, false);
                sleep(returns_after).await;
            } else {
                sleep(returns_after).await;
            }
            world.boot(process).await;
        });
    }

    fn pause(&mut self, process: usize) {
        let Some(running) = self.world.running(process) else { return };
        let length = if self.dice.percent(50) { self.dice.span(50, 2_000) } else { self.dice.span(2_000, 15_000) };
        self.world.hub.fault(Fault::Pause, format_args!("p{process} for {length}"));
        running.state.set_pulse(Pulse::Stands);
        tokio::spawn(async move {
            sleep(length).await;
            running.state.set_pulse(Pulse::Runs);
        });
    }

    fn jump(&mut self, process: usize) {
        let size = if self.dice.percent(50) { self.dice.below(2_000) } else { self.dice.below(SKEW_MAX_MS) };
        let skew = i64::try_from(size).unwrap_or(0);
        let skew = if self.dice.percent(50) { -skew } else { skew };
        self.world.hub.fault(Fault::ClockJump, format_args!("p{process} shows {skew} ms"));
        self.world.jump(process, skew);
    }

    async fn move_home(&mut self, process: usize, both: bool) {
        if process == self.world.home() || self.world.settings.members {
            return self.jump_or_cut(process);
        }
        let fault = if both { Fault::TwoHomes } else { Fault::HomeMove };
        self.world.hub.fault(fault, format_args!("to p{process}"));
        self.world.move_home(process, both);
        if both {
            let (world, length) = (self.world.clone(), self.dice.span(10, 6_000));
            tokio::spawn(async move {
                sleep(length).await;
                world.appoint();
            });
        }
    }

    fn jump_or_cut(&mut self, process: usize) {
        if self.world.settings.scheduled_faults.contains(&Fault::ClockJump) {
            self.jump(process);
        } else {
            self.cut_off(process);
        }
    }

    fn deafen(&mut self, process: usize) {
        let length = self.dice.span(500, 15_000);
        self.world.hub.fault(Fault::LostHint, format_args!("p{process} hears nothing for {length}"));
        let until = self.world.hub.now() + length;
        self.world.hub.weather(|weather| weather.deafen(process, until));
    }

    fn cut_off(&mut self, process: usize) {
        let (length, everybody) = (self.dice.span(50, 3_000), self.dice.percent(50));
        let until = self.world.hub.now() + length;
        let who: Vec<usize> = if everybody { (0..self.world.settings.processes).collect() } else { vec![process] };
        self.world.hub.fault(Fault::Outage, format_args!("{who:?} for {length}"));
        self.world.hub.weather(|weather| who.iter().for_each(|process| weather.cut_off(*process, until)));
    }

    fn roll_back(&mut self) {
        let settings = &self.world.settings;
        let gates = self.dice.pick(&settings.namespaces).map(|ns| PartitionId::of_gates(ns, settings.partitions));
        let any = PartitionId(self.dice.below(u64::from(settings.partitions)) as u16);
        let partition = if self.dice.percent(60) { gates.unwrap_or(any) } else { any };
        let commits = self.dice.between(1, 12) as usize;
        if let Err(error) = self.world.hub.roll_back(Partition(partition.0), commits) {
            self.world.hub.violate("contract", format!("a partition could not be rolled back: {error}"));
        }
    }
}

/// The pause before somebody looks again whether it is time.
pub(crate) const LOOK_AGAIN: Span = Span(250);
