//! How often what waiting consists of happened, so that a summary shows that runs reach it.

use onward_core::record::{HowOver, OnTimeout, SignalEffect};
use onward_core::{Event, What};
use std::collections::BTreeMap;

/// Counts by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<&'static str, u64>);

impl Tally {
    /// Something happened.
    pub(crate) fn note(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }

    /// Every name with its count, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(what, count)| (*what, *count))
    }

    /// How often something happened.
    #[must_use]
    pub fn get(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    pub(super) fn events(&mut self, events: &[Event]) {
        events.iter().filter_map(|event| name(&event.what)).for_each(|name| self.note(name));
    }
}

/// The name under which an event is counted.
fn name(what: &What) -> Option<&'static str> {
    Some(match what {
        What::Suspended { .. } => "suspended",
        What::Resumed { attempt: None, .. } => "hold ended",
        What::Resumed { resumed_by: HowOver::Signals, .. } => "resumed by signals",
        What::Resumed { resumed_by: HowOver::Timeout, .. } => "resumed by timeout",
        What::Resumed { resumed_by: HowOver::Operator, .. } => "resumed by operator",
        What::SuspensionTimedOut { then, .. } => match then {
            OnTimeout::Resume => "timeout: resume",
            OnTimeout::Fail => "timeout: fail",
            OnTimeout::Cancel => "timeout: cancel",
            OnTimeout::Expire => "timeout: expire",
            OnTimeout::Escalate => "timeout: escalate",
        },
        What::Signalled { effect, .. } => match effect {
            SignalEffect::Resumed => "signal resumed",
            SignalEffect::Counted => "signal counted",
            SignalEffect::Ignored => "signal ignored",
            SignalEffect::Buffered => "signal buffered",
        },
        What::WaitClosed { .. } => "wait closed",
        What::Paused { attempt: Some(_), .. } => "held while running",
        What::Paused { .. } => "held",
        What::AttemptFailed { held: true, .. }
        | What::LeaseExpired { held: true, .. }
        | What::LeaseRevoked { held: true, .. }
        | What::TimedOut { held: true, .. } => "held as exhausted",
        _ => return None,
    })
}
