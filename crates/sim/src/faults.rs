//! What can go wrong: the kinds of faults, how likely each is in a run, and how often it happened.

use crate::dice::Dice;
use onward_core::{Millis, Span};
use std::collections::BTreeMap;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A commit was applied and its answer lost.
    LostReply,
    /// A commit failed and was not applied.
    NotApplied,
    /// A commit failed and was applied later, perhaps after its sender died.
    LateCommit,
    /// Another process touched a record just before a commit that read it.
    Conflict,
    /// A process died and another one took its place.
    Crash,
    /// A process stood still for a while and went on.
    Pause,
    /// A hint between processes was lost.
    LostHint,
    /// A process's clock jumped.
    ClockJump,
    /// The store could not be reached for a while.
    Outage,
    /// Another process became the home.
    HomeMove,
    /// Two processes took themselves for the home at once.
    TwoHomes,
    /// The store lost the last commits of one partition.
    Rollback,
    /// A caller left in the middle of its call.
    CallerGone,
    /// A worker held its lease for longer than it lasts.
    StalledWorker,
}

impl Fault {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::LostReply,
        Self::NotApplied,
        Self::LateCommit,
        Self::Conflict,
        Self::Crash,
        Self::Pause,
        Self::LostHint,
        Self::ClockJump,
        Self::Outage,
        Self::HomeMove,
        Self::TwoHomes,
        Self::Rollback,
        Self::CallerGone,
        Self::StalledWorker,
    ];

    /// Its name in summaries.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LostReply => "lost reply",
            Self::NotApplied => "failed commit",
            Self::LateCommit => "late commit",
            Self::Conflict => "conflict",
            Self::Crash => "crash",
            Self::Pause => "pause",
            Self::LostHint => "lost hint",
            Self::ClockJump => "clock jump",
            Self::Outage => "outage",
            Self::HomeMove => "home move",
            Self::TwoHomes => "two homes",
            Self::Rollback => "rollback",
            Self::CallerGone => "caller gone",
            Self::StalledWorker => "stalled worker",
        }
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
    /// The sender gets an error and the commit is applied later.
    Late { after: Span },
    /// The sender is cut off; that is the fault of the outage, not of this commit.
    CutOff,
}

/// The state of the world around the processes.
#[derive(Debug)]
pub(crate) struct Weather {
    dice: Dice,
    odds: Odds,
    calm: bool,
    counts: FaultCounts,
    /// Until when each process cannot reach the store, and until when it gets no hints.
    outages: Vec<Millis>,
    deaf: Vec<Millis>,
}

impl Weather {
    pub(crate) fn new(dice: Dice, odds: Odds, processes: usize) -> Self {
        let none = vec![Millis(0); processes];
        Self { dice, odds, calm: false, counts: FaultCounts::new(), outages: none.clone(), deaf: none }
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

    pub(crate) fn fate(&mut self) -> Fate {
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
        Fate::Late { after }
    }
}
