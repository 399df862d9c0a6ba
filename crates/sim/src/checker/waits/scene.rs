//! What one commit shows about the waits of one execution: the record before and after, what was told, and all that stands beside it.

use crate::checker::{Change, Checker, execution};
use onward_core::record::{
    Execution, Mail, Over, Readiness, Record, SignalRecord, State, Suspension, Taken, WaitId, WaitOver, WaitRef,
    Waiting,
};
use onward_core::{Event, ExecutionId, Key, Millis, SignalId};
use onward_store as store;
use std::collections::{BTreeMap, BTreeSet};

/// One execution in one commit.
pub(super) struct Scene<'a> {
    pub(super) id: ExecutionId,
    /// The store's time of the commit.
    pub(super) now: Millis,
    pub(super) before: Option<&'a Execution>,
    pub(super) after: &'a Execution,
    pub(super) events: Vec<&'a Event>,
    pub(super) signals: BTreeMap<SignalId, &'a SignalRecord>,
    pub(super) waits: BTreeMap<WaitId, &'a WaitOver>,
    pub(super) new_signals: BTreeSet<SignalId>,
    pub(super) new_waits: BTreeSet<WaitId>,
}

impl<'a> Scene<'a> {
    /// The scene of an execution that is there and not being removed.
    pub(super) fn of(
        checker: &'a Checker,
        id: ExecutionId,
        now: Millis,
        (changes, events): (&'a [Change], &'a [Event]),
    ) -> Option<Self> {
        let after = checker.execution(id).filter(|execution| !execution.is_purging())?;
        let own = changes.iter().find(|change| change.key == Key::Execution(id));
        let before = match own {
            Some(change) => execution(change.before.as_deref()),
            None => Some(after),
        };
        let (mut signals, mut waits) = (BTreeMap::new(), BTreeMap::new());
        for (key, record) in checker.parts(id, "s").chain(checker.parts(id, "w")) {
            match (key, record) {
                (Key::Signal(_, signal), Record::Signal(record)) => drop(signals.insert(*signal, record)),
                (Key::Wait(_, wait), Record::Wait(over)) => drop(waits.insert(wait.clone(), over)),
                _ => {}
            }
        }
        let (mut new_signals, mut new_waits) = (BTreeSet::new(), BTreeSet::new());
        for change in changes.iter().filter(|change| change.before.is_none() && change.after.is_some()) {
            match &change.key {
                Key::Signal(of, signal) if *of == id => drop(new_signals.insert(*signal)),
                Key::Wait(of, wait) if *of == id => drop(new_waits.insert(wait.clone())),
                _ => {}
            }
        }
        let events = events.iter().filter(|event| event.execution() == Some(id)).collect();
        Some(Self { id, now, before, after, events, signals, waits, new_signals, new_waits })
    }

    /// The record of a wait of a life.
    pub(super) fn over(&self, life: u32, wait: &WaitRef) -> Option<&'a WaitOver> {
        self.waits.get(&WaitId { life, wait: wait.clone() }).copied()
    }

    /// Whether a wait got its record in this commit.
    pub(super) fn is_new(&self, life: u32, wait: &WaitRef) -> bool {
        self.new_waits.contains(&WaitId { life, wait: wait.clone() })
    }

    /// A signal as it would be taken by a wait.
    pub(super) fn as_taken(&self, signal: SignalId, wait: &WaitRef) -> Option<Taken> {
        let SignalRecord { name, actor, payload, .. } = self.signals.get(&signal)?;
        let (name, actor, beside) = (name.clone(), actor.clone(), payload.is_beside());
        Some(Taken { signal, wait: wait.clone(), name, actor, beside })
    }

    /// Whether a signal was meant for a wait: sent to its name, and to no other ordinal or life.
    pub(super) fn is_meant_for(&self, signal: SignalId, life: u32, wait: &WaitRef) -> bool {
        self.signals.get(&signal).is_some_and(|record| {
            let right = record.only.is_none_or(|only| (only.life, only.n) == (life, wait.n));
            record.wait == wait.name && right
        })
    }
}

impl Checker {
    /// The records of one kind beside an execution.
    pub(super) fn parts(&self, id: ExecutionId, kind: &str) -> impl Iterator<Item = (&Key, &Record)> {
        let prefix = format!("{id}/{kind}/");
        let first = store::Key::new(prefix.clone());
        let own = self.mirror.range(first..).take_while(move |(key, _)| key.as_str().starts_with(&prefix));
        own.map(|(_, seen)| (&seen.key, &*seen.record))
    }
}

/// The suspension of an execution, if it is suspended.
pub(super) fn suspension(execution: &Execution) -> Option<&Suspension> {
    match &execution.state {
        State::Waiting(Waiting { readiness: Readiness::Suspended(suspension), .. }) => Some(suspension),
        _ => None,
    }
}

/// The mailbox of an execution.
pub(super) fn mail(execution: &Execution) -> &[Mail] {
    execution.waits.as_ref().map_or(&[], |waits| &waits.mail)
}

/// The signals that an execution keeps or that count for it.
pub(super) fn placed(execution: &Execution) -> BTreeSet<SignalId> {
    let taken = suspension(execution).into_iter().flat_map(|suspension| &suspension.taken).map(|taken| taken.signal);
    mail(execution).iter().map(|mail| mail.signal).chain(taken).collect()
}

/// The waits of a suspension that were over before it.
pub(super) fn recorded(suspension: &Suspension) -> BTreeSet<WaitRef> {
    let known = |(wait, over): (&WaitRef, &Over)| over.recorded.then(|| wait.clone());
    suspension.over.iter().filter_map(known).collect()
}

/// Whether a suspension names a wait that is not over.
pub(super) fn open_in(suspension: &Suspension, wait: &WaitRef) -> bool {
    super::named(&suspension.condition).contains(wait) && !suspension.over.contains_key(wait)
}
