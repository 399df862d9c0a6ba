//! Signals that came in a commit: each was sent, was good for something at its time, and did what the condition says.

use super::condition::{Use, gains, holds, named, times};
use super::scene::{Scene, suspension};
use super::walk::{Model, Place};
use super::{SentSignal, Waits};
use onward_core::record::{HowOver, SignalEffect, Taken};
use onward_core::{SignalId, What};
use std::collections::BTreeSet;

impl<'a> Scene<'a> {
    /// Every new signal was told once, as its record says, and somebody sent it.
    pub(super) fn signals_are_told(&self, waits: &Waits) -> Result<(), String> {
        let mut told = BTreeSet::new();
        for event in &self.events {
            let What::Signalled { signal, wait, name, effect } = &event.what else { continue };
            let record = self.signals.get(signal).filter(|_| self.new_signals.contains(signal));
            let right = record.is_some_and(|record| {
                (&record.wait, &record.name, record.effect) == (wait, name, *effect) && told.insert(*signal)
            });
            if !right {
                return Err(format!("signal {signal} for {wait} was told as {effect:?} and stored as {record:?}"));
            }
            self.was_sent(*signal, waits)?;
        }
        match self.new_signals.iter().find(|signal| !told.contains(*signal)) {
            Some(signal) => Err(format!("signal {signal} was stored and not told")),
            None => Ok(()),
        }
    }

    /// A signal is one that somebody sent, by a proof that was good for this wait and not over by the store's clock.
    fn was_sent(&self, signal: SignalId, waits: &Waits) -> Result<(), String> {
        let Some(record) = self.signals.get(&signal) else { return Ok(()) };
        let sent = waits.sent.get(&signal).map_or(&[][..], Vec::as_slice);
        let same =
            |sent: &&SentSignal| (&sent.wait, &sent.name, &sent.actor) == (&record.wait, &record.name, &record.actor);
        let alike: Vec<_> = sent.iter().filter(same).collect();
        if alike.is_empty() {
            return Err(format!("nobody sent {record:?}"));
        }
        let allowed = |sent: &&SentSignal| match &sent.proof {
            None => {
                record.only.is_none() == sent.n.is_none()
                    && sent.n.is_none_or(|n| record.only.is_some_and(|only| only.n == n))
            }
            Some(proof) => {
                let named = proof.names.is_empty() || proof.names.iter().any(|name| Some(name) == record.name.as_ref());
                let only = record.only.is_some_and(|only| (only.life, only.n) == (proof.wait.life, proof.wait.wait.n));
                named && only && proof.wait.wait.name == record.wait && self.now < proof.not_after
            }
        };
        if !alike.into_iter().any(|sent| allowed(&sent)) {
            return Err(format!("signal {signal} was accepted at {} against its proof: {sent:?}", self.now));
        }
        let Some(only) = record.only else { return Ok(()) };
        let lives = self.before.map_or(0, |before| before.life)..=self.after.life;
        if lives.contains(&only.life) {
            return Ok(());
        }
        Err(format!("signal {signal} was accepted for life {}, and it is in {lives:?}", only.life))
    }

    /// A signal came: it did what the condition says.
    pub(super) fn signalled(
        &self,
        signal: SignalId,
        effect: SignalEffect,
        mut place: Place<'a>,
        next: Option<&What>,
    ) -> Result<Place<'a>, String> {
        let goes_on = matches!(next, Some(What::Resumed { attempt: Some(_), resumed_by: HowOver::Signals, .. }));
        if (effect == SignalEffect::Resumed) != goes_on {
            return Err(format!("signal {signal} was {effect:?}, and then came {next:?}"));
        }
        let Place::Suspended(model) = &mut place else {
            let right = matches!(place, Place::Unseen) || effect == SignalEffect::Buffered;
            return if right { Ok(place) } else { Err(format!("signal {signal} was {effect:?} and nothing waited")) };
        };
        self.in_time(model, signal, effect)?;
        let open = named(&model.now.condition).into_iter().filter(|wait| {
            !model.come.over.contains(wait) && self.is_meant_for(signal, model.life, wait) && !model.escalated
        });
        let taken: Vec<Taken> = open.filter_map(|wait| self.as_taken(signal, &wait)).collect();
        let uses: Vec<Use> = taken.iter().map(|one| gains(&model.now.condition, &model.come, one)).collect();
        let best = uses.iter().copied().max().unwrap_or(Use::None);
        // What ends with the commit does not show which of its waits time had ended before the signal came.
        let hidden = suspension(self.after).is_none() && self.use_after_times(model, signal) == expected(effect);
        if best != expected(effect) && !hidden {
            return Err(format!("signal {signal} was {effect:?} and is good for {best:?} in {:?}", model.now));
        }
        if best == Use::Counts {
            let first = uses.iter().position(|one| *one == Use::Counts).unwrap_or(0);
            model.come.taken.push(self.placed(signal).unwrap_or_else(|| taken[first].clone()));
            let met = holds(&model.now.condition, &model.come);
            if met != (effect == SignalEffect::Resumed) {
                return Err(format!("signal {signal} was {effect:?}, and the condition holds: {met}"));
            }
        }
        Ok(place)
    }

    /// Where a signal of this commit went.
    fn placed(&self, signal: SignalId) -> Option<Taken> {
        let open = suspension(self.after).into_iter().flat_map(|now| &now.taken);
        let over = self.waits.values().flat_map(|over| &over.signals);
        open.chain(over).find(|taken| taken.signal == signal).cloned()
    }

    /// What a signal is good for when all waits are over whose time has come.
    fn use_after_times(&self, model: &Model<'_>, signal: SignalId) -> Use {
        let mut come = model.come.clone();
        come.over.extend(
            times(&model.now.condition).into_iter().filter(|(_, until)| *until <= self.now).map(|(wait, _)| wait),
        );
        let open = named(&model.now.condition).into_iter().filter(|wait| {
            !come.over.contains(wait) && self.is_meant_for(signal, model.life, wait) && !model.escalated
        });
        let taken = open.filter_map(|wait| self.as_taken(signal, &wait));
        taken.map(|one| gains(&model.now.condition, &come, &one)).max().unwrap_or(Use::None)
    }

    /// No signal counts at or after the time of what it counts for.
    fn in_time(&self, model: &Model<'_>, signal: SignalId, effect: SignalEffect) -> Result<(), String> {
        if !matches!(effect, SignalEffect::Counted | SignalEffect::Resumed) {
            return Ok(());
        }
        let whole = model.now.timeout.map(|timeout| timeout.at);
        if whole.is_some_and(|at| at <= self.now) {
            return Err(format!("signal {signal} was {effect:?} at {}, after the timeout at {whole:?}", self.now));
        }
        let taken = self.placed(signal);
        let own = times(&model.now.condition);
        let own = own.iter().filter(|(wait, _)| taken.as_ref().is_some_and(|taken| taken.wait == *wait));
        match own.map(|(_, until)| *until).min().filter(|until| *until <= self.now) {
            Some(until) => Err(format!("signal {signal} was {effect:?} at {}, after its wait at {until}", self.now)),
            None => Ok(()),
        }
    }
}

/// What a signal was good for that did this.
fn expected(effect: SignalEffect) -> Use {
    match effect {
        SignalEffect::Buffered => Use::None,
        SignalEffect::Ignored => Use::Again,
        SignalEffect::Counted | SignalEffect::Resumed => Use::Counts,
    }
}
