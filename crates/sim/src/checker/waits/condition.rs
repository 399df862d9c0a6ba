//! Whether a condition holds: a second statement of what conditions mean, which shares no code with the rules.
//!
//! Every leaf of a condition collects keys: its waits, its signals or its people. It is met with enough of them, or when all its
//! waits are over.

use onward_core::record::{Taken, WaitRef};
use onward_core::{Condition, Distinct, SignalName};
use std::collections::BTreeSet;

/// What has come: signals, each with the wait that took it, and the waits that are over.
#[derive(Debug, Clone, Default)]
pub(super) struct Come {
    pub(super) taken: Vec<Taken>,
    pub(super) over: BTreeSet<WaitRef>,
}

/// What one more signal is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Use {
    None,
    /// It counts for people, and its sender counts already or is nobody.
    Again,
    Counts,
}

/// A leaf of a condition.
struct Leaf<'a> {
    waits: &'a [WaitRef],
    names: &'a [SignalName],
    distinct: Distinct,
    enough: usize,
}

impl Leaf<'_> {
    fn fits(&self, signal: &Taken) -> bool {
        let named = self.names.is_empty() || self.names.iter().any(|name| Some(name) == signal.name.as_ref());
        named && self.waits.contains(&signal.wait)
    }

    fn key(&self, signal: &Taken) -> Option<String> {
        match self.distinct {
            Distinct::Waits => Some(signal.wait.to_string()),
            Distinct::Signals => Some(signal.signal.to_string()),
            Distinct::Actors => signal.actor.as_ref().map(ToString::to_string),
        }
    }

    fn keys(&self, come: &Come) -> BTreeSet<String> {
        let mut keys: BTreeSet<String> =
            come.taken.iter().filter(|signal| self.fits(signal)).filter_map(|signal| self.key(signal)).collect();
        if self.distinct == Distinct::Waits {
            keys.extend(self.waits.iter().filter(|wait| come.over.contains(wait)).map(ToString::to_string));
        }
        keys
    }

    fn is_met(&self, come: &Come) -> bool {
        self.keys(come).len() >= self.enough || self.waits.iter().all(|wait| come.over.contains(wait))
    }

    fn gains(&self, come: &Come, signal: &Taken) -> Use {
        if !self.fits(signal) {
            return Use::None;
        }
        let is_new = self.key(signal).is_some_and(|key| !self.keys(come).contains(&key));
        match (is_new, self.distinct) {
            (false, Distinct::Actors) => Use::Again,
            (true, _) if !self.is_met(come) => Use::Counts,
            _ => Use::None,
        }
    }
}

fn leaf(condition: &Condition) -> Option<Leaf<'_>> {
    match condition {
        Condition::Wait { wait, names, .. } => {
            Some(Leaf { waits: std::slice::from_ref(wait), names, distinct: Distinct::Waits, enough: 1 })
        }
        Condition::Count { n, distinct, waits, names, .. } => {
            Some(Leaf { waits, names, distinct: *distinct, enough: *n as usize })
        }
        _ => None,
    }
}

/// Whether a condition holds.
pub(super) fn holds(condition: &Condition, come: &Come) -> bool {
    match condition {
        Condition::All { of } => of.iter().all(|part| holds(part, come)),
        Condition::Any { of } => of.iter().any(|part| holds(part, come)),
        _ => leaf(condition).is_some_and(|leaf| leaf.is_met(come)),
    }
}

/// What one more signal is good for.
pub(super) fn gains(condition: &Condition, come: &Come, signal: &Taken) -> Use {
    match condition {
        Condition::All { of } | Condition::Any { of } => {
            of.iter().map(|part| gains(part, come, signal)).max().unwrap_or(Use::None)
        }
        _ => leaf(condition).map_or(Use::None, |leaf| leaf.gains(come, signal)),
    }
}

/// Every wait that a condition names.
pub(crate) fn named(condition: &Condition) -> BTreeSet<WaitRef> {
    match condition {
        Condition::All { of } | Condition::Any { of } => of.iter().flat_map(named).collect(),
        _ => leaf(condition).map(|leaf| leaf.waits.iter().cloned().collect()).unwrap_or_default(),
    }
}

/// The waits that end with a condition: all but those of alternatives that are not met, even with the others at their end.
pub(super) fn closing(condition: &Condition, come: &Come) -> BTreeSet<WaitRef> {
    let mut come = come.clone();
    loop {
        let ends = ending(condition, &come);
        let before = come.over.len();
        come.over.extend(ends.iter().cloned());
        if come.over.len() == before {
            return ends;
        }
    }
}

fn ending(condition: &Condition, come: &Come) -> BTreeSet<WaitRef> {
    match condition {
        Condition::All { of } => of.iter().flat_map(|part| ending(part, come)).collect(),
        Condition::Any { of } => {
            of.iter().filter(|part| holds(part, come)).flat_map(|part| ending(part, come)).collect()
        }
        _ => named(condition),
    }
}

/// The times at which single waits are over.
pub(super) fn times(condition: &Condition) -> Vec<(WaitRef, onward_core::Millis)> {
    match condition {
        Condition::All { of } | Condition::Any { of } => of.iter().flat_map(times).collect(),
        Condition::Wait { until: Some(until), .. } | Condition::Count { until: Some(until), .. } => {
            named(condition).into_iter().map(|wait| (wait, *until)).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether people are counted for a wait with this name.
pub(super) fn counts_people(condition: &Condition, name: &str) -> bool {
    match condition {
        Condition::All { of } | Condition::Any { of } => of.iter().any(|part| counts_people(part, name)),
        Condition::Count { distinct: Distinct::Actors, waits, .. } => {
            waits.iter().any(|wait| wait.name.to_string() == name)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_core::SignalId;

    fn wait(text: &str) -> WaitRef {
        text.parse().unwrap()
    }

    fn signal(id: u128, to: &str, by: Option<&str>) -> Taken {
        let actor = by.map(|by| by.parse().unwrap());
        Taken { signal: SignalId(id), wait: wait(to), name: None, actor, beside: false }
    }

    #[test]
    fn people_count_once_and_ended_waits_count_as_waits() {
        let (a, b) = (wait("a"), wait("b"));
        let people = Condition::count(2, Distinct::Actors, vec![a.clone()]);
        let mut come = Come::default();
        assert_eq!(gains(&people, &come, &signal(1, "a", None)), Use::Again);
        assert_eq!(gains(&people, &come, &signal(1, "a", Some("ada"))), Use::Counts);
        come.taken.push(signal(1, "a", Some("ada")));
        assert_eq!(gains(&people, &come, &signal(2, "a", Some("ada"))), Use::Again);
        assert_eq!(gains(&people, &come, &signal(2, "b", Some("bob"))), Use::None);
        come.taken.push(signal(2, "a", Some("bob")));
        assert!(holds(&people, &come));
        let any = Condition::Any { of: vec![Condition::wait(b.clone()), people] };
        assert_eq!(closing(&any, &come), BTreeSet::from([a]));
        let waits = Condition::count(2, Distinct::Waits, vec![b.clone(), wait("c")]);
        let over = Come { taken: vec![signal(3, "c", None)], over: BTreeSet::from([b]) };
        assert!(holds(&waits, &over) && !holds(&waits, &come));
    }
}
