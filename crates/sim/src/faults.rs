//! What can go wrong: the kinds of faults, how likely each is in a run, and how often it happened.

use crate::dice::Dice;
use crate::later_faults::LaterFaults;
use crate::named::named;
use onward_core::{Millis, Span};
use onward_store::Batch;
use std::collections::BTreeMap;

named! {
    /// A kind of fault.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Fault {
        /// A commit was applied and its answer lost.
        LostReply = "lost reply",
        /// A commit failed and was not applied.
        NotApplied = "failed commit",
        /// A commit failed and was applied later, perhaps after its sender died.
        LateCommit = "late commit",
        /// Another process touched a record just before a commit that read it.
        Conflict = "conflict",
        /// A process died and another one took its place.
        Crash = "crash",
        /// A process stood still for a while and went on.
        Pause = "pause",
        /// A hint between processes was lost.
        LostHint = "lost hint",
        /// A process's clock jumped.
        ClockJump = "clock jump",
        /// The store could not be reached for a while.
        Outage = "outage",
        /// Another process became the home.
        HomeMove = "home move",
        /// Two processes took themselves for the home at once.
        TwoHomes = "two homes",
        /// The store lost the last commits of one partition.
        Rollback = "rollback",
        /// A caller left in the middle of its call.
        CallerGone = "caller gone",
        /// A worker held its lease for longer than it lasts.
        StalledWorker = "stalled worker",
        /// A commit landed minutes after its sender was told that its outcome is unknown.
        VeryLateCommit = "very late commit",
        /// The answer of a commit took so long that hints overtook it.
        SlowAnswer = "slow answer",
        /// What was read was seconds old when it arrived.
        StaleRead = "stale read",
        /// A page of candidates missed some.
        ShortPage = "short page",
        /// Several callers reached for one thing at the same moment.
        Crowd = "crowd",
        /// A worker repeated an old report.
        OldRepeat = "old repeat",
        /// The store acknowledged nothing for a while because its replica was away, and may have lost what the replica lacked.
        ReplicaAway = "replica away",
        /// A process that had stopped delivered messages that others had long delivered.
        Redelivery = "redelivery",
    }
}

/// How often each kind of fault happened.
pub type FaultCounts = BTreeMap<Fault, u64>;

/// How likely the faults of single calls are in a run, in a thousand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Odds {
    pub(crate) lost_reply: u64,
    pub(crate) not_applied: u64,
    pub(crate) late: u64,
    pub(crate) conflict: u64,
    pub(crate) failed_read: u64,
    pub(crate) lost_hint: u64,
    /// How long a call to the store takes at most, in the usual case.
    pub(crate) latency_ms: u64,
}

impl Odds {
    /// Some kinds are absent in a run and others frequent, because faults that come together hide each other.
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let mut odds = |absent_percent, most| if dice.percent(absent_percent) { 0 } else { dice.between(1, most) };
        Self {
            lost_reply: odds(30, 60),
            not_applied: odds(30, 60),
            late: odds(30, 60),
            conflict: odds(30, 80),
            failed_read: odds(50, 20),
            lost_hint: if odds(60, 2) == 0 { 0 } else { odds(0, 600) },
            latency_ms: odds(20, 12),
        }
    }
}

/// What becomes of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is applied after a while and answered after another.
    Plain { before: Span, after: Span },
    /// It is applied and the answer is lost.
    LostReply { before: Span },
    /// It is not applied, and the sender knows or does not.
    NotApplied { known: bool },
    /// The sender gets an error and the commit is applied later, or even minutes later.
    Late { after: Span, very: bool },
    /// It is applied at once, and hints overtake its answer.
    SlowAnswer { after: Span },
    /// The sender is cut off; that is the fault of the outage, not of this commit.
    CutOff,
}

/// The state of the world around the processes.
#[derive(Debug)]
pub(crate) struct Weather {
    dice: Dice,
    odds: Odds,
    /// The later faults have a stream of their own, so that they move no draw of the others.
    later: (LaterFaults, Dice),
    calm: bool,
    counts: FaultCounts,
    /// Until when each process cannot reach the store, and until when it gets no hints.
    outages: Vec<Millis>,
    deaf: Vec<Millis>,
    /// The next batch that writes a record whose key begins so is late.
    holds_up: Option<String>,
}

impl Weather {
    pub(crate) fn new(dice: Dice, odds: Odds, later: (LaterFaults, Dice), processes: usize) -> Self {
        let none = vec![Millis(0); processes];
        Self {
            dice,
            odds,
            later,
            calm: false,
            counts: FaultCounts::new(),
            outages: none.clone(),
            deaf: none,
            holds_up: None,
        }
    }

    /// From now on nothing goes wrong any more.
    pub(crate) fn calm_down(&mut self) {
        self.calm = true;
        self.outages.fill(Millis(0));
        self.deaf.fill(Millis(0));
    }

    pub(crate) fn count(&mut self, fault: Fault) {
        *self.counts.entry(fault).or_default() += 1;
    }

    pub(crate) fn counts(&self) -> &FaultCounts {
        &self.counts
    }

    pub(crate) fn cut_off(&mut self, process: usize, until: Millis) {
        if let Some(outage) = self.outages.get_mut(process) {
            *outage = until;
        }
    }

    pub(crate) fn deafen(&mut self, process: usize, until: Millis) {
        if let Some(deaf) = self.deaf.get_mut(process) {
            *deaf = until;
        }
    }

    /// Whether a call of this process fails because the store cannot be reached.
    pub(crate) fn is_cut_off(&self, process: usize, now: Millis) -> bool {
        self.outages.get(process).is_some_and(|until| now < *until)
    }

    /// Whether a read fails by itself.
    pub(crate) fn read_fails(&mut self) -> bool {
        !self.calm && self.dice.per_mille(self.odds.failed_read)
    }

    /// Whether a hint does not arrive.
    pub(crate) fn hint_is_lost(&mut self, process: usize, now: Millis) -> bool {
        let deaf = self.deaf.get(process).is_some_and(|until| now < *until);
        !self.calm && (deaf || self.dice.per_mille(self.odds.lost_hint))
    }

    /// How long a call is on its way.
    pub(crate) fn latency(&mut self) -> Span {
        match self.dice.below(10) {
            _ if self.odds.latency_ms == 0 => Span(0),
            0..=4 => Span(0),
            5..=8 => self.dice.span(0, self.odds.latency_ms),
            _ => self.dice.span(0, self.odds.latency_ms * 10),
        }
    }

    /// Whether somebody else touches a record that a commit expects.
    pub(crate) fn touches(&mut self) -> bool {
        !self.calm && self.dice.per_mille(self.odds.conflict)
    }

    /// A number for a choice that belongs to a fault.
    pub(crate) fn draw(&mut self) -> u128 {
        self.dice.wide()
    }

    /// How old what is read is when it arrives; nothing in the usual case.
    pub(crate) fn staleness(&mut self) -> Option<Span> {
        let (LaterFaults { stale_read, .. }, dice) = &mut self.later;
        (!self.calm && dice.per_mille(*stale_read)).then(|| dice.span(500, 6_000))
    }

    /// Several callers are about to reach for records whose keys begin so, and one of them may be held up.
    pub(crate) fn hold_up(&mut self, begin: &str, percent: u64) {
        let chosen = self.later.1.percent(percent);
        self.holds_up = chosen.then(|| begin.to_owned());
    }

    /// Whether a batch is the one that is to be held up.
    fn holds_up(&mut self, group: &[Batch]) -> bool {
        let Some(begin) = &self.holds_up else { return false };
        let hit = group.iter().flat_map(|batch| &batch.put).any(|row| row.key.as_str().starts_with(begin));
        if hit {
            self.holds_up = None;
        }
        hit
    }

    /// What becomes of a commit.
    pub(crate) fn fate(&mut self, group: &[Batch]) -> Fate {
        let usual = self.usual_fate();
        let held_up = self.holds_up(group);
        let (LaterFaults { very_late, slow_answer, .. }, dice) = &mut self.later;
        if self.calm {
            usual
        } else if held_up && (*very_late == 0 || dice.percent(50)) {
            Fate::Late { after: dice.span(20, 3_000), very: false }
        } else if held_up || dice.per_mille(*very_late) {
            Fate::Late { after: dice.span(15_000, 235_000), very: true }
        } else if dice.per_mille(*slow_answer) {
            Fate::SlowAnswer { after: dice.span(200, 3_000) }
        } else {
            usual
        }
    }

    fn usual_fate(&mut self) -> Fate {
        let draw = self.dice.below(1_000);
        let before = self.latency();
        let Odds { lost_reply, not_applied, late, .. } = self.odds;
        if self.calm || draw >= lost_reply + not_applied + late {
            return Fate::Plain { before, after: self.latency() };
        }
        if draw < lost_reply {
            return Fate::LostReply { before };
        }
        if draw < lost_reply + not_applied {
            return Fate::NotApplied { known: self.dice.percent(40) };
        }
        let after = if self.dice.percent(60) { self.dice.span(1, 200) } else { self.dice.span(200, 12_000) };
        Fate::Late { after, very: false }
    }
}
