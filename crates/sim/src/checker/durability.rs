//! What was acknowledged after a replica had it is still there when the replica has taken over.

use super::Checker;
use onward_core::record::{EndedAttempt, Execution, Record};
use onward_core::{CommandId, ExecutionId, Key, Lane, Namespace, SignalId, limits};
use std::collections::{BTreeMap, BTreeSet};

/// What callers were told that it happened.
#[derive(Debug, Default)]
pub(super) struct Acknowledged {
    submits: BTreeSet<ExecutionId>,
    /// The call that ended an attempt, with its execution and the attempt's number.
    ends: BTreeMap<CommandId, (ExecutionId, u32)>,
    /// The calls of operators, with their executions.
    operations: BTreeMap<CommandId, ExecutionId>,
    /// The signals of which their senders were told what they did.
    signals: BTreeSet<(ExecutionId, SignalId)>,
    /// The newest decision about each lane.
    lanes: BTreeMap<(Namespace, Lane), u64>,
}

impl Acknowledged {
    pub(super) fn submitted(&mut self, id: ExecutionId) {
        self.submits.insert(id);
    }

    pub(super) fn operated(&mut self, command: CommandId, id: ExecutionId) {
        self.operations.insert(command, id);
    }

    pub(super) fn decided(&mut self, namespace: &Namespace, lane: &Lane, revision: u64) {
        let newest = self.lanes.entry((namespace.clone(), lane.clone())).or_default();
        *newest = revision.max(*newest);
    }

    pub(super) fn signalled(&mut self, id: ExecutionId, signal: SignalId) {
        self.signals.insert((id, signal));
    }

    pub(super) fn ended(&mut self, command: CommandId, id: ExecutionId, attempt: u32) {
        self.ends.insert(command, (id, attempt));
    }
}

impl Checker {
    /// A replica has taken over, and whatever it did not have is gone.
    pub(crate) fn taken_over(&mut self) {
        let lost = self.acknowledged.submits.iter().find(|id| self.execution(**id).is_none() && !self.is_removed(**id));
        if let Some(id) = lost.copied() {
            return self.violate("durability", format!("{id} was acknowledged and is lost"));
        }
        let lost =
            self.acknowledged.ends.iter().find(|(command, (id, attempt))| !self.stands(**command, *id, *attempt));
        if let Some((command, (id, attempt))) = lost {
            let what = format!("the end of attempt {attempt} of {id} by {command} was acknowledged and is lost");
            return self.violate("durability", what);
        }
        let lost = self.acknowledged.operations.iter().find(|(command, id)| !self.remembers(**command, **id));
        if let Some((command, id)) = lost {
            return self.violate("durability", format!("what {command} did to {id} was acknowledged and is lost"));
        }
        let lost = self.acknowledged.signals.iter().find(|(id, signal)| {
            let goes = self.execution(*id).map_or_else(|| self.is_removed(*id), Execution::is_purging);
            !goes && self.record(&Key::Signal(*id, *signal)).is_none()
        });
        if let Some((id, signal)) = lost {
            return self.violate("durability", format!("signal {signal} of {id} was acknowledged and is lost"));
        }
        let lost = self.acknowledged.lanes.iter().find(|((namespace, lane), revision)| {
            let master = self.record(&Key::LaneMaster(namespace.clone(), lane.clone()));
            !matches!(master, Some(Record::LaneMaster(master)) if master.revision >= **revision)
        });
        if let Some(((_, lane), revision)) = lost {
            self.violate("durability", format!("revision {revision} of lane {lane} was acknowledged and is lost"));
        }
    }

    /// Whether an execution still knows an operator's call, as far as it remembers any that old.
    fn remembers(&self, command: CommandId, id: ExecutionId) -> bool {
        let Some(execution) = self.execution(id) else { return self.is_removed(id) };
        let knows = execution.operated.iter().any(|operated| operated.by == command);
        knows || execution.is_purging() || execution.operated.len() >= limits::OPERATOR_COMMANDS_KEPT
    }

    /// Whether an attempt is still ended by a call. What is being removed need not remember.
    fn stands(&self, command: CommandId, id: ExecutionId, attempt: u32) -> bool {
        let Some(execution) = self.execution(id) else { return self.is_removed(id) };
        let by_call = |ended: &EndedAttempt| ended.number == attempt && ended.ended_by == Some(command);
        let beside = || match self.record(&Key::Attempt(id, attempt)) {
            Some(Record::Attempt(ended)) => by_call(ended),
            _ => false,
        };
        execution.is_purging() || execution.last.as_ref().is_some_and(by_call) || beside()
    }
}
