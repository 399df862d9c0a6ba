//! What operators do with an execution: find it, answer a repeat as before, do it, remember it.

use crate::act::{Act, ActOutcome};
use crate::record::{Execution, Operated};
use crate::rules::purge;
use crate::{
    Actor, Addressed, CommandId, ExecutionId, Key, Millis, Namespace, PartitionId, Rejection, Stop, Verb, View, limits,
};
use std::sync::Arc;

/// Does what an operator wants with an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operate {
    /// This call.
    pub command: CommandId,
    /// Whose execution; one of another namespace does not exist for the caller.
    pub namespace: Namespace,
    /// Which.
    pub execution: ExecutionId,
    /// Who wants it, when the caller is known by name.
    pub by: Option<Actor>,
    /// What to do with it.
    pub act: Act,
}

impl Addressed for Operate {
    fn home(&self, _: u16) -> PartitionId {
        self.execution.partition()
    }
}

impl Verb for Operate {
    type Reply = ActOutcome;

    fn part(&self) -> Option<&'static str> {
        Some(self.act.name())
    }

    fn keys(&self, _: PartitionId) -> Vec<Key> {
        vec![Key::Execution(self.execution)]
    }

    fn actor(&self) -> Option<&Actor> {
        self.by.as_ref()
    }

    fn run(&self, view: &mut View, now: Millis) -> Result<ActOutcome, Stop> {
        let mut execution = match view.execution(self.execution)? {
            Some(execution) if execution.namespace == self.namespace => execution,
            // What belongs to others does not exist, and must not be told apart.
            _ => return Err(Rejection::ExecutionNotFound(self.execution).into()),
        };
        if let Some(earlier) = execution.operated.iter().find(|earlier| earlier.by == self.command) {
            return if self.act.can_answer(earlier.outcome) {
                Ok(earlier.outcome)
            } else {
                Err(Rejection::invalid("command", "this id did something else to the execution before").into())
            };
        }
        if execution.is_purging() {
            return if matches!(self.act, Act::Purge(_)) {
                Ok(ActOutcome::Purged)
            } else {
                Err(Rejection::Purged(self.execution).into())
            };
        }
        let (event, outcome) = self.act.act(view, Arc::make_mut(&mut execution), now)?;
        if outcome == ActOutcome::Purged {
            let stamp = execution.stamp(now);
            purge::remove(view, execution, Some(self.command), stamp)?;
        } else {
            remember(Arc::make_mut(&mut execution), self.command, outcome);
            view.put_execution(execution, event)?;
        }
        Ok(outcome)
    }
}

/// Remembers a call, so that a repeat finds itself.
pub(crate) fn remember(execution: &mut Execution, by: CommandId, outcome: ActOutcome) {
    while execution.operated.len() >= limits::OPERATOR_COMMANDS_KEPT {
        execution.operated.pop_front();
    }
    execution.operated.push_back(Operated { by, outcome });
}

#[cfg(test)]
pub(crate) mod rows {
    /// Every act has rows of its own.
    pub(crate) const ROWS: &[crate::rules::table::Row] = &[];
}
