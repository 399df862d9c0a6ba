//! The life of an execution: what it went through, what is still to do about it, who neglects it, when it may be removed.

use super::Stage;
use crate::checker::{Change, Checker, execution};
use onward_core::record::{Execution, Record, State};
use onward_core::{Class, Event, Key, Millis, Span, What};
use onward_engine::Wants;

/// What one execution went through.
#[derive(Debug, Default)]
pub(super) struct Life {
    /// Every stage with the number of the commit that made it.
    pub(super) versions: Vec<(u64, Stage)>,
    /// The highest epoch ever given out.
    pub(super) epoch: u64,
    pub(super) claims: u32,
    /// Since when it waits for a worker, if it does.
    pub(super) ready_since: Option<Millis>,
    /// The store lost a commit that touched it, so nothing that was said about it before counts.
    pub(super) void: bool,
    /// It was removed once.
    pub(super) removed: bool,
}

/// Whether something is still to do about an execution, now or at its time.
pub(crate) fn is_open(execution: &Execution) -> bool {
    match &execution.state {
        // What has ended is due one day, and only the days within a run are worth waiting for; what a removal leaves
        // only answers repeats, for longer than a calm lasts. Its errand is a record of its own.
        State::Finished(finished) => finished.purging.is_none() && execution.policy.retention.is_some(),
        State::Waiting(_) | State::Active(_) => true,
    }
}

/// What is still to do about an execution that is open, given what workers can do.
pub(crate) fn unfinished(execution: &Execution, capabilities: &Class) -> Option<String> {
    match Stage::of(execution) {
        Stage::Finished(_) => None,
        Stage::Ready(_) if !execution.requires.missing_from(capabilities).is_empty() => None,
        stage => Some(format!("{stage:?} in lane {}", execution.lane)),
    }
}

impl Checker {
    /// Work that is ready while somebody who can do it has been waiting, both for longer than hints and sweeps need.
    pub(crate) fn neglected(&self, now: Millis, idle: &[(Wants, Millis)], patience: Span) -> Option<String> {
        self.still_open().find_map(|seen| {
            let Record::Execution(execution) = &*seen.record else { return None };
            let lane = (execution.namespace.clone(), execution.lane.clone());
            let open_since = self.lanes.lets_claim_since(&lane, execution.id.partition())?;
            let since = self.executions.ready_since(execution.id)?.max(open_since);
            let (wants, waits_since) = idle.iter().find(|(wants, waits_since)| {
                let fits = wants.namespace == execution.namespace && wants.lanes.contains(&execution.lane);
                let asks = wants.kinds.as_ref().is_none_or(|kinds| kinds.contains(&execution.kind));
                let able = asks && execution.requires.missing_from(&wants.capabilities).is_empty();
                fits && able && (*waits_since).max(since) + patience < now
            })?;
            Some(format!("{} is ready since {since} and {} waits since {waits_since}", execution.id, wants.worker))
        })
    }

    /// Only what has ended is removed, when somebody asked for it or its time was over.
    pub(in crate::checker) fn removals(&self, changes: &[Change], events: &[Event], now: Millis) -> Result<(), String> {
        for id in events.iter().filter(|event| event.what == What::Purged).filter_map(|event| event.execution()) {
            let change = changes.iter().find(|change| change.key == Key::Execution(id));
            let before = change.and_then(|change| execution(change.before.as_deref()));
            let kept_until = before.and_then(|before| match &before.state {
                State::Finished(finished) => Some(finished.at + before.policy.retention()),
                _ => None,
            });
            if !self.calls.is_unwanted(id) && kept_until.is_none_or(|until| now < until) {
                return Err(format!(
                    "{id} was removed at {now}, nobody wanted that, and it is kept until {kept_until:?}"
                ));
            }
        }
        Ok(())
    }
}
