//! What kind of world a seed makes: how large, how busy, and which faults it has.

use crate::dice::Dice;
use crate::faults::{Fault, Odds};
use crate::later_faults::LaterFaults;
use onward_core::{Capability, Class, Kind, Lane, Namespace, Span, WorkerName};
use onward_engine::{Kinds, Wants};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Commands after which a run calms down; what is left to do then takes about as many again.
pub(crate) const FAULTY_COMMANDS: u64 = 240;
/// Commands that a run has at least.
pub(crate) const COMMANDS_MIN: u64 = 300;
/// The kinds of work there are.
pub(crate) const KINDS: &[&str] = &["send-email", "resize-image", "bill"];
/// Faults at certain times that a run has at least.
pub(crate) const SCHEDULED_FAULTS_MIN: u64 = 6;

/// One world.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) partitions: u16,
    pub(crate) processes: usize,
    pub(crate) namespaces: Vec<Namespace>,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) workers: Vec<Wants>,
    pub(crate) submitters: usize,
    pub(crate) operators: usize,
    pub(crate) cache_bytes: usize,
    pub(crate) sweep_every: Span,
    pub(crate) call_timeout: Span,
    pub(crate) odds: Odds,
    /// The faults that happen at certain times; one that is listed twice is twice as likely.
    pub(crate) scheduled_faults: Vec<Fault>,
    /// How long it is quiet between two of them at most.
    pub(crate) scheduled_pause: Span,
    /// Whether a quiet time follows that is longer than idempotency keys are remembered and ended work is kept.
    pub(crate) long_night: bool,
    /// Whether somebody submits work that nobody keeps, until so much stands beside it that removing it takes steps.
    pub(crate) boomerang: bool,
    /// The process that all workers use once it is calm.
    pub(crate) refuge: usize,
    /// Whether the processes share the partitions among themselves, instead of being told which one is the home.
    pub(crate) members: bool,
    /// Whether callers wait for ends.
    pub(crate) waiters: bool,
    /// The faults that were added later.
    pub(crate) later_faults: LaterFaults,
    /// How much attempts wait for the world; not at all in worlds of older generations, and in some of the newest.
    pub(crate) waiting: Option<WaitingOdds>,
}

/// How much attempts wait for the world.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WaitingOdds {
    /// Turns of a worker in which it suspends its attempt, in a hundred.
    pub(crate) suspends: u64,
    /// The longest pause between two signals.
    pub(crate) signals: Span,
    /// The longest pause between two acts of operators on waits and holds.
    pub(crate) keeps: Span,
    /// Submits whose policy holds what is exhausted, in a hundred.
    pub(crate) held_exhausted: u64,
    /// The longest timeout of a suspension.
    pub(crate) patience: Span,
}

impl WaitingOdds {
    fn draw(dice: &mut Dice) -> Self {
        Self {
            suspends: dice.between(20, 70),
            signals: dice.span(100, 1_500),
            keeps: dice.span(300, 3_000),
            held_exhausted: if dice.percent(50) { dice.between(5, 40) } else { 0 },
            patience: dice.span(1_500, 15_000),
        }
    }
}

impl Settings {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let processes = *dice.pick(&[1, 2, 2, 3]).unwrap_or(&2);
        let namespaces = names(&["default", "acme"][..if dice.percent(80) { 1 } else { 2 }]);
        let lanes = names(&["default", "mail", "bulk"][..dice.between(1, 3) as usize]);
        let workers = workers(dice, &namespaces, &lanes);
        Self {
            partitions: dice.between(1, 5) as u16,
            processes,
            namespaces,
            lanes,
            workers,
            submitters: dice.between(1, 3) as usize,
            operators: usize::from(dice.percent(80)),
            cache_bytes: *dice.pick(&[4 * 1024, 32 * 1024, 1024 * 1024]).unwrap_or(&1024),
            sweep_every: dice.span(2_000, 10_000),
            call_timeout: dice.span(2_000, 30_000),
            odds: Odds::draw(dice),
            scheduled_faults: scheduled_faults(dice, processes),
            scheduled_pause: dice.span(1_000, 8_000),
            long_night: dice.percent(10),
            boomerang: dice.percent(6),
            refuge: dice.below(processes as u64) as usize,
            members: dice.percent(35),
            waiters: false,
            later_faults: LaterFaults::default(),
            waiting: None,
        }
    }

    /// Lets attempts wait for the world in most worlds. The others have more of everything else.
    pub(crate) fn add_waiting(&mut self, dice: &mut Dice) {
        self.waiting = dice.percent(85).then(|| WaitingOdds::draw(dice));
    }

    /// Commands after which a run calms down.
    pub(crate) fn faulty_commands(&self) -> u64 {
        // Suspensions and signals come on top.
        if self.waiting.is_some() { 2 * FAULTY_COMMANDS } else { FAULTY_COMMANDS }
    }

    /// Adds the later faults.
    pub(crate) fn add_later_faults(&mut self, dice: &mut Dice) {
        self.later_faults = LaterFaults::draw(dice, self.is_forgetful());
        if self.later_faults.replica {
            // As where commits are lost whatever was waited for.
            self.scheduled_faults.retain(|fault| *fault != Fault::ClockJump);
        }
    }

    /// Whether the store of this world loses commits.
    pub(crate) fn is_forgetful(&self) -> bool {
        self.scheduled_faults.contains(&Fault::Rollback)
    }

    /// Everything that any worker can do.
    pub(crate) fn capabilities(&self) -> Class {
        let all = self.workers.iter().flat_map(|wants| wants.capabilities.capabilities().cloned());
        Class::new(all).unwrap_or_default()
    }
}

/// Parses names that are known to be good.
fn names<T: std::str::FromStr>(texts: &[&str]) -> Vec<T> {
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}

/// A class of capabilities by their names.
pub(crate) fn class(texts: &[&str]) -> Class {
    Class::new(names::<Capability>(texts)).unwrap_or_default()
}

fn workers(dice: &mut Dice, namespaces: &[Namespace], lanes: &[Lane]) -> Vec<Wants> {
    let mut workers = Vec::new();
    let mut add = |namespace: &Namespace, lanes: Vec<Lane>, kinds: Kinds, capabilities: Class, dice: &mut Dice| {
        let Ok(worker) = format!("w{}", workers.len()).parse::<WorkerName>() else { return };
        let (lease, max) = (dice.span(1_000, 8_000), dice.between(1, 3) as usize);
        let namespace = namespace.clone();
        workers.push(Wants { namespace, lanes, kinds, capabilities, worker, build: None, lease, max });
    };
    for namespace in namespaces {
        // Somebody can do everything that can be done at all.
        add(namespace, lanes.to_vec(), None, class(&["gpu", "eu"]), dice);
        for _ in 0..dice.between(1, 3) {
            let some = lanes.iter().filter(|_| dice.percent(70)).cloned().collect::<Vec<_>>();
            let lanes = if some.is_empty() { lanes.to_vec() } else { some };
            let capabilities = class(match dice.below(3) {
                0 => &[],
                1 => &["gpu"],
                _ => &["gpu", "eu"],
            });
            let some = names::<Kind>(KINDS).into_iter().filter(|_| dice.percent(50)).collect::<BTreeSet<_>>();
            let kinds = (!some.is_empty() && dice.percent(60)).then(|| Arc::new(some));
            add(namespace, lanes, kinds, capabilities, dice);
        }
    }
    workers
}

fn scheduled_faults(dice: &mut Dice, processes: usize) -> Vec<Fault> {
    let mut scheduled_faults = vec![Fault::Outage];
    let several = processes > 1;
    for (fault, percent, times) in [
        (Fault::Crash, 75, 3),
        (Fault::Pause, 65, 3),
        (Fault::ClockJump, 55, 3),
        (Fault::HomeMove, if several { 70 } else { 0 }, 2),
        (Fault::TwoHomes, if several { 60 } else { 0 }, 2),
        (Fault::LostHint, if several { 60 } else { 0 }, 2),
    ] {
        if dice.percent(percent) {
            scheduled_faults.extend(std::iter::repeat_n(fault, times));
        }
    }
    if dice.percent(14) {
        // Revisions of a lane follow the clock where commits are lost, so the two are not broken at once.
        scheduled_faults.retain(|fault| *fault != Fault::ClockJump);
        scheduled_faults.extend([Fault::Rollback; 6]);
    }
    scheduled_faults
}
