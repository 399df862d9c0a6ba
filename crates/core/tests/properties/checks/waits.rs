//! The invariants of waits and signals: counted, taken once, never changed, and evaluated as the specification says.

use super::Change;
use onward_core::record::{Execution, Readiness, Record, State, Suspension, Taken, WaitRef, Waiting};
use onward_core::{Condition, Distinct, Key, PayloadSlot, SignalId, SignalName, limits};
use std::collections::BTreeSet;

/// Every signal and every wait that is over is one record, which the execution counts and nothing changes.
pub(super) fn waits(change: &Change<'_>) {
    for (_, execution) in change.whole() {
        let mine = |key: &&Key| key.to_string().starts_with(&format!("{}/", execution.id));
        let keys: Vec<&Key> = change.after.records.keys().filter(mine).collect();
        let count = |of: fn(&Key) -> bool| keys.iter().filter(|key| of(key)).count() as u32;
        let signals = count(|key| matches!(key, Key::Signal(..)));
        let payloads = count(|key| matches!(key, Key::Payload(_, PayloadSlot::Signal(_))));
        let over = count(|key| matches!(key, Key::Wait(..)));
        let waits = execution.waits.as_ref();
        let counted = waits.map_or((0, 0, 0), |waits| (waits.signals, waits.payloads, waits.over));
        assert_eq!(counted, (signals, payloads, over), "what belongs to an execution is counted");
        taken_once(change, execution, &keys);
    }
    for (key, record) in &change.before.records {
        if let (Record::Signal(_) | Record::Wait(_), Some(after)) = (&**record, change.after.record(key)) {
            assert_eq!(&**record, after, "what a signal did and how a wait ended never changes");
        }
    }
}

/// A signal is in the mailbox, or taken by one wait, or was ignored; never two of them.
fn taken_once(change: &Change<'_>, execution: &Execution, keys: &[&Key]) {
    let mail: Vec<SignalId> = execution.waits.iter().flat_map(|waits| &waits.mail).map(|mail| mail.signal).collect();
    // A sender finds room for so many; what a suspension had taken that ended with its execution comes back to them.
    assert!(mail.len() <= limits::MAILBOX_MAX + limits::CONDITION_SIGNALS_MAX as usize);
    let recorded = keys.iter().filter_map(|key| match change.after.record(key) {
        Some(Record::Wait(over)) => Some(&over.signals),
        _ => None,
    });
    let recorded: Vec<SignalId> = recorded.flatten().map(|taken| taken.signal).collect();
    let taking: Vec<SignalId> =
        suspension(execution).iter().flat_map(|suspension| &suspension.taken).map(|taken| taken.signal).collect();
    let before: BTreeSet<SignalId> = recorded.iter().copied().collect();
    let taking = taking.into_iter().filter(|signal| !before.contains(signal));
    let all: Vec<SignalId> = mail.into_iter().chain(recorded).chain(taking).collect();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "a signal serves one wait: {all:?}");
    for signal in all {
        let known = change.after.record(&Key::Signal(execution.id, signal)).is_some();
        assert!(known, "{signal} is no signal of {}", execution.id);
    }
}

fn suspension(execution: &Execution) -> Option<&Suspension> {
    match &execution.state {
        State::Waiting(Waiting { readiness: Readiness::Suspended(suspension), .. }) => Some(suspension),
        _ => None,
    }
}

/// What is suspended lacks something, by the specification's own words; what went on by signals lacked nothing.
pub(super) fn conditions(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        if let Some(suspension) = suspension(execution).filter(|suspension| !suspension.escalated) {
            let over: BTreeSet<&WaitRef> = suspension.over.keys().collect();
            assert!(
                !holds(&suspension.condition, &suspension.taken, &over),
                "it waits for what has come: {suspension:?}"
            );
        }
    }
}

fn holds(condition: &Condition, taken: &[Taken], over: &BTreeSet<&WaitRef>) -> bool {
    let fits = |names: &[SignalName], signal: &Taken| {
        names.is_empty() || names.iter().any(|name| signal.name.as_ref() == Some(name))
    };
    match condition {
        Condition::Wait { wait, names, .. } => {
            over.contains(wait) || taken.iter().any(|signal| signal.wait == *wait && fits(names, signal))
        }
        Condition::All { of } => of.iter().all(|part| holds(part, taken, over)),
        Condition::Any { of } => of.iter().any(|part| holds(part, taken, over)),
        Condition::Count { n, distinct, waits, names, .. } => {
            let matching: Vec<&Taken> =
                taken.iter().filter(|signal| waits.contains(&signal.wait) && fits(names, signal)).collect();
            let ended = waits.iter().filter(|wait| over.contains(wait)).map(ToString::to_string);
            let key = |signal: &&Taken| match distinct {
                Distinct::Waits => Some(signal.wait.to_string()),
                Distinct::Signals => Some(signal.signal.to_string()),
                Distinct::Actors => signal.actor.as_ref().map(ToString::to_string),
            };
            let mut keys: BTreeSet<String> = matching.iter().filter_map(key).collect();
            if *distinct == Distinct::Waits {
                keys.extend(ended);
            }
            keys.len() >= *n as usize || waits.iter().all(|wait| over.contains(wait))
        }
        Condition::Operator | Condition::Timeout => false,
    }
}
