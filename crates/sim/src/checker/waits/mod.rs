//! Waits and signals: no signal is lost or applied twice, a condition is met when it holds and then at once, and a wait is
//! answered in one way only.
//!
//! Conditions are evaluated by `condition`, which shares no code with the rules. `walk` follows what was told of an execution,
//! step by step: `arrivals` judges signals, `resumed` what ends waits. `places` says where each signal is, `standing` judges
//! what goes on waiting, `answers` and `refusals` what callers were told.

mod answers;
mod arrivals;
mod condition;
mod places;
mod refusals;
mod resumed;
mod scene;
mod standing;
mod tally;
mod walk;

pub(crate) use answers::is_same;
pub(crate) use condition::named;
pub use tally::Tally;

use super::{Change, Checker, When, execution};
use onward_core::record::{Record, SignalEffect, WaitRef};
use onward_core::{
    CommandId, Event, ExecutionId, Key, NewSuspension, Proof, Signal, SignalId, SignalName, Submit, Suspend, WaitName,
    WaitResult, What,
};
use scene::Scene;
use std::collections::{BTreeMap, BTreeSet};

/// A signal that somebody sent.
#[derive(Debug, Clone)]
struct SentSignal {
    wait: WaitName,
    n: Option<u32>,
    name: Option<SignalName>,
    actor: Option<onward_core::Actor>,
    proof: Option<Proof>,
    payload: Option<onward_core::Payload>,
}

impl SentSignal {
    fn of(signal: &Signal) -> Self {
        let new = &signal.signal;
        let proof = signal.proof.clone();
        let actor = proof.as_ref().map(|proof| proof.actor.clone()).or_else(|| signal.by.clone());
        let (wait, n, name) = (new.wait.name.clone(), new.wait.n, new.name.clone());
        Self { wait, n, name, actor, proof, payload: new.carried().ok() }
    }
}

/// What callers sent, and what the checker remembers of what came of it.
#[derive(Debug, Default)]
pub(super) struct Waits {
    /// Every signal under its id; repeats and others with the same key share one.
    sent: BTreeMap<SignalId, Vec<SentSignal>>,
    /// Every suspension that a worker asked for.
    asked: BTreeMap<CommandId, Suspend>,
    /// What every accepted signal did.
    effects: BTreeMap<(ExecutionId, SignalId), SignalEffect>,
    /// Signals that left the mailbox because their sender counted already.
    dropped: BTreeSet<(ExecutionId, SignalId)>,
    /// What workers were first told of each wait of each life.
    told: BTreeMap<(ExecutionId, u32, WaitRef), WaitResult>,
    tally: Tally,
}

impl Waits {
    /// What a worker asked for by one call.
    fn request(&self, command: CommandId) -> Option<&NewSuspension> {
        self.asked.get(&command).map(|suspend| &*suspend.new)
    }

    fn asked_for(&self, id: ExecutionId) -> impl Iterator<Item = &NewSuspension> {
        self.asked.values().filter(move |suspend| suspend.fence.execution == id).map(|suspend| &*suspend.new)
    }
}

impl Checker {
    /// A signal goes out, perhaps again.
    pub(crate) fn signals(&mut self, signal: &Signal) {
        self.calls.sent(signal.command, None);
        self.waits.sent.entry(signal.signal_id()).or_default().push(SentSignal::of(signal));
    }

    /// A submit goes out, perhaps with a signal.
    pub(super) fn sends_along(&mut self, submit: &Submit) {
        let Some(signal) = &submit.new.signal else { return };
        let (command, namespace, execution) = (submit.command, submit.new.namespace.clone(), submit.id);
        let signal = Signal { command, namespace, execution, by: None, proof: None, signal: signal.clone() };
        self.waits.sent.entry(signal.signal_id()).or_default().push(SentSignal::of(&signal));
    }

    /// A worker asks for a suspension, perhaps again.
    pub(crate) fn suspends(&mut self, suspend: &Suspend) {
        self.calls.sent(suspend.command, Some(suspend.fence));
        self.waits.asked.entry(suspend.command).or_insert_with(|| suspend.clone());
    }

    /// How often what waiting consists of happened.
    pub(crate) fn tally(&self) -> &Tally {
        &self.waits.tally
    }

    /// Looks at the waits of all executions that a commit touched.
    pub(super) fn waiting(&mut self, (_, now): When, changes: &[Change], events: &[Event]) -> Result<(), String> {
        let mut touched = BTreeSet::new();
        for change in changes {
            match change.key {
                Key::Execution(id) | Key::Signal(id, _) | Key::Wait(id, _) => drop(touched.insert(id)),
                _ => {}
            }
            let same = change.before == change.after || change.before.is_none() || change.after.is_none();
            if matches!(change.key, Key::Signal(..) | Key::Wait(..)) && !same {
                return Err(format!("{} was changed after it was written", change.key));
            }
        }
        let mut learned = Learned::default();
        for id in touched {
            let Some(scene) = Scene::of(self, id, now, (changes, events)) else { continue };
            if scene.after.waits.is_none() && scene::suspension(scene.after).is_none() && scene.before.is_none() {
                continue;
            }
            scene.judge(&self.waits, &mut learned).map_err(|what| format!("{id}: {what}"))?;
        }
        self.waits.tally.events(events);
        self.waits.dropped.extend(learned.dropped);
        // Also those of an execution that ended and is being removed within the commit.
        for event in events {
            if let (Some(id), What::Signalled { signal, effect, .. }) = (event.execution(), &event.what) {
                self.waits.effects.insert((id, *signal), *effect);
            }
        }
        Ok(())
    }

    /// The store went back to an earlier state of these executions: what is nowhere now was dropped before.
    pub(super) fn waits_rolled_back(&mut self, changes: &[Change]) {
        for change in changes {
            let Key::Execution(id) = change.key else { continue };
            let after = execution(change.after.as_deref());
            let mut somewhere: BTreeSet<SignalId> = after.map(scene::placed).unwrap_or_default();
            somewhere.extend(self.parts(id, "w").flat_map(|(_, record)| match record {
                Record::Wait(over) => over.signals.iter().map(|taken| taken.signal).collect(),
                _ => Vec::new(),
            }));
            let own = self.waits.dropped.iter().filter(|(of, _)| *of == id).map(|(_, signal)| *signal);
            let is_nowhere =
                |signal: &SignalId| !somewhere.contains(signal) && self.record(&Key::Signal(id, *signal)).is_some();
            let dropped: Vec<SignalId> = own.filter(is_nowhere).collect();
            self.waits.dropped.retain(|(of, _)| *of != id);
            self.waits.dropped.extend(dropped.into_iter().map(|signal| (id, signal)));
            self.waits.told.retain(|(of, ..), _| *of != id);
            let lost: Vec<_> = self.waits.effects.keys().filter(|(of, _)| *of == id).copied().collect();
            for (id, signal) in lost {
                if self.record(&Key::Signal(id, signal)).is_none() {
                    self.waits.effects.remove(&(id, signal));
                }
            }
        }
    }
}

/// What a commit teaches.
#[derive(Default)]
struct Learned {
    dropped: Vec<(ExecutionId, SignalId)>,
}

impl Scene<'_> {
    fn judge(&self, waits: &Waits, learned: &mut Learned) -> Result<(), String> {
        self.counted()?;
        let walked = self.walk(waits)?;
        let dropped = self.mailbox(waits)?;
        let is_dropped = |signal: &SignalId| dropped.contains(signal) || waits.dropped.contains(&(self.id, *signal));
        self.placed_once(is_dropped)?;
        self.stands(waits)?;
        self.answered(waits, &walked)?;
        learned.dropped.extend(dropped.into_iter().map(|signal| (self.id, signal)));
        Ok(())
    }
}
