//! Where signals are: every accepted one is in the mailbox, taken by one wait, was ignored, or was for a wait that is over.

use super::condition::counts_people;
use super::scene::{Scene, mail, suspension};
use super::{Waits, scene};
use onward_core::record::{SignalEffect, SignalRecord, Suspension, WaitRef};
use onward_core::{SignalId, limits};
use std::collections::BTreeSet;

impl Scene<'_> {
    /// The execution counts what stands beside it.
    pub(super) fn counted(&self) -> Result<(), String> {
        let beside = self.signals.values().filter(|record| record.payload.is_beside()).count();
        let found = (self.signals.len(), beside, self.waits.len());
        let waits = self.after.waits.as_ref();
        let counted =
            waits.map_or((0, 0, 0), |waits| (waits.signals as usize, waits.payloads as usize, waits.over as usize));
        if counted == found {
            return Ok(());
        }
        Err(format!("it counts {counted:?} signals, payloads and waits, and {found:?} are beside it"))
    }

    /// What left the mailbox in this commit was taken, or came from people that count already; what came stands behind what
    /// was there. Returns the signals that nobody took.
    pub(super) fn mailbox(&self, waits: &Waits) -> Result<Vec<SignalId>, String> {
        let ids = |mail: &[onward_core::record::Mail]| mail.iter().map(|mail| mail.signal).collect::<Vec<_>>();
        let (old, new) = (self.before.map(|before| ids(mail(before))).unwrap_or_default(), ids(mail(self.after)));
        if let Some(wrong) = mail(self.after)
            .iter()
            .find(|mail| self.signals.get(&mail.signal).is_none_or(|record| record.wait != mail.wait))
        {
            return Err(format!("its mailbox has {wrong:?}, which is no signal of it"));
        }
        let hopeless =
            new.iter().find(|signal| self.signals.get(signal).is_some_and(|record| self.is_hopeless(record)));
        if let Some(signal) = hopeless {
            return Err(format!("signal {signal} stays in its mailbox, and no wait can ever take it"));
        }
        let stayed: Vec<SignalId> = old.iter().filter(|signal| new.contains(signal)).copied().collect();
        let stays: Vec<SignalId> = new.iter().filter(|signal| old.contains(signal)).copied().collect();
        if stayed != stays {
            return Err("the order of its mailbox changed".to_owned());
        }
        let back = self.given_back();
        for signal in new.iter().filter(|signal| !old.contains(signal)) {
            let is_new = self.new_signals.contains(signal)
                && self.signals.get(signal).is_some_and(|record| record.effect == SignalEffect::Buffered);
            if !is_new && !back.contains(signal) {
                return Err(format!("signal {signal} came into its mailbox and is no new one"));
            }
        }
        let buffered = self
            .new_signals
            .iter()
            .filter(|signal| self.signals.get(signal).is_some_and(|record| record.effect == SignalEffect::Buffered));
        let taken = self.taken();
        let gone = old.iter().chain(buffered).filter(|signal| !new.contains(signal) && !taken.contains(signal));
        let mut dropped = Vec::new();
        for signal in gone.copied() {
            let Some(record) = self.signals.get(&signal) else { continue };
            if self.is_hopeless(record) {
                dropped.push(signal);
                continue;
            }
            let name = record.wait.to_string();
            let now = suspension(self.after).is_some_and(|now| counts_people(&now.condition, &name));
            if !now && !waits.asked_for(self.id).any(|asked| counts_people(&asked.condition, &name)) {
                return Err(format!("signal {signal} for {name} left its mailbox and nothing took it"));
            }
            dropped.push(signal);
        }
        Ok(dropped)
    }

    /// Whether a signal was sent to one wait only, which is over or of an earlier life.
    fn is_hopeless(&self, record: &SignalRecord) -> bool {
        record.only.is_some_and(|only| {
            let wait = WaitRef::new(record.wait.clone(), only.n);
            only.life < self.after.life || self.over(only.life, &wait).is_some()
        })
    }

    /// What a suspension had taken that ended with its execution.
    fn given_back(&self) -> BTreeSet<SignalId> {
        let before = self.before.and_then(suspension);
        let own = |suspension: &Suspension| {
            let recorded = scene::recorded(suspension);
            let taken = suspension.taken.iter().filter(|taken| !recorded.contains(&taken.wait));
            taken.map(|taken| taken.signal).collect()
        };
        let counted =
            |signal: &&SignalId| self.signals.get(signal).is_some_and(|record| record.effect == SignalEffect::Counted);
        let mut back: BTreeSet<SignalId> = before.map(own).unwrap_or_default();
        back.extend(self.new_signals.iter().filter(counted));
        back
    }

    /// The signals that waits took, those that are over and those that go on.
    fn taken(&self) -> BTreeSet<SignalId> {
        let over = self.waits.values().flat_map(|over| &over.signals).map(|taken| taken.signal);
        let open = suspension(self.after).into_iter().flat_map(|now| &now.taken).map(|taken| taken.signal);
        over.chain(open).collect()
    }

    /// Every signal is in one place.
    pub(super) fn placed_once(&self, is_dropped: impl Fn(&SignalId) -> bool) -> Result<(), String> {
        let mail: Vec<SignalId> = mail(self.after).iter().map(|mail| mail.signal).collect();
        // A sender finds room for so many; what a suspension had taken comes back to them.
        if mail.len() > limits::MAILBOX_MAX + limits::CONDITION_SIGNALS_MAX as usize {
            return Err(format!("its mailbox holds {} signals", mail.len()));
        }
        let mut places: Vec<SignalId> = mail;
        places.extend(self.waits.values().flat_map(|over| &over.signals).map(|taken| taken.signal));
        if let Some(now) = suspension(self.after) {
            let recorded = scene::recorded(now);
            let own = now.taken.iter().filter(|taken| !recorded.contains(&taken.wait));
            places.extend(own.map(|taken| taken.signal));
        }
        let once: BTreeSet<SignalId> = places.iter().copied().collect();
        if once.len() < places.len() {
            return Err(format!("a signal is in two places: {places:?}"));
        }
        for (signal, record) in &self.signals {
            let is_known_to_be_nowhere = record.effect == SignalEffect::Ignored || is_dropped(signal);
            if once.contains(signal) == is_known_to_be_nowhere {
                let effect = record.effect;
                return Err(format!(
                    "signal {signal} for {} was {effect:?} and is in {} places",
                    record.wait,
                    u8::from(once.contains(signal))
                ));
            }
        }
        match once.iter().find(|signal| !self.signals.contains_key(signal)) {
            Some(signal) => Err(format!("signal {signal} has no record")),
            None => Ok(()),
        }
    }
}
