//! What callers sent and what became of it: an attempt ends by its holder's own call, and what was refused did not
//! happen.

use super::Change;
use onward_core::record::{EndedAttempt, Record};
use onward_core::{CommandId, ExecutionId, Fence, Key, Millis, Payload};
use onward_engine::{NewExecution, SubmitIds};
use std::collections::BTreeMap;

/// When a call began: its answer must be true at some moment from then on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Since {
    pub(super) seq: u64,
    pub(super) at: Millis,
    pub(super) rollbacks: u64,
}

/// A command that somebody sent.
#[derive(Debug, Default)]
struct Sent {
    fence: Option<Fence>,
    /// How often; with several copies on their way, one may be refused and another accepted.
    copies: u32,
    refused: bool,
}

/// Every command that callers chose an id for.
#[derive(Debug, Default)]
pub(super) struct Calls {
    sent: BTreeMap<CommandId, Sent>,
    ended: BTreeMap<CommandId, (ExecutionId, EndedAttempt)>,
    requests: BTreeMap<CommandId, NewExecution>,
    inputs: BTreeMap<ExecutionId, Payload>,
}

impl Calls {
    /// Somebody sends a command, perhaps again.
    pub(super) fn sent(&mut self, command: CommandId, fence: Option<Fence>) {
        let sent = self.sent.entry(command).or_default();
        sent.fence = fence;
        sent.copies += 1;
    }

    /// Somebody submits, perhaps again.
    pub(super) fn submits(&mut self, ids: SubmitIds, new: &NewExecution) {
        self.sent(ids.command, None);
        self.inputs.entry(ids.execution).or_insert_with(|| new.input.clone());
        self.requests.entry(ids.command).or_insert_with(|| new.clone());
    }

    /// What a submit asked for, if its caller chose the id.
    pub(super) fn request(&self, command: CommandId) -> Option<&NewExecution> {
        self.requests.get(&command)
    }

    pub(super) fn input(&self, id: ExecutionId) -> Option<&Payload> {
        self.inputs.get(&id)
    }

    /// The attempt that a call ended.
    pub(super) fn ended(&self, command: CommandId) -> Option<&(ExecutionId, EndedAttempt)> {
        self.ended.get(&command)
    }

    /// A caller was told that its command is refused. Says whether that was the only copy of it.
    pub(super) fn refused(&mut self, command: CommandId) -> bool {
        let sent = self.sent.entry(command).or_default();
        sent.refused = true;
        sent.copies == 1
    }

    pub(super) fn committed(&mut self, changes: &[Change]) -> Result<(), String> {
        for change in changes {
            match (&change.key, change.after.as_deref()) {
                (Key::Execution(id), Some(Record::Execution(execution))) => {
                    if change.before.is_none() {
                        self.happened(execution.created_by)?;
                    }
                    if let Some(last) = &execution.last {
                        self.ends(*id, last)?;
                    }
                }
                (Key::Attempt(id, _), Some(Record::Attempt(attempt))) => self.ends(*id, attempt)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn happened(&self, command: CommandId) -> Result<(), String> {
        match self.sent.get(&command) {
            Some(Sent { refused: true, copies: 1, .. }) => {
                Err(format!("command {command} was refused and happened nevertheless"))
            }
            _ => Ok(()),
        }
    }

    fn ends(&mut self, id: ExecutionId, attempt: &EndedAttempt) -> Result<(), String> {
        let Some(command) = attempt.ended_by else { return Ok(()) };
        if let Some((other, known)) = self.ended.get(&command) {
            return if (*other, known) == (id, attempt) {
                Ok(())
            } else {
                Err(format!("command {command} ended attempt {} of {other} and {} of {id}", known.index, attempt.index))
            };
        }
        self.happened(command)?;
        if let Some(fence) = self.sent.get(&command).and_then(|sent| sent.fence)
            && (fence.execution, fence.lease, fence.attempt) != (id, attempt.lease, attempt.index)
        {
            return Err(format!("the holder of attempt {} of {} ended attempt {}", fence.attempt, id, attempt.index));
        }
        self.ended.insert(command, (id, attempt.clone()));
        Ok(())
    }

    /// What a refusal was based on may be lost as well, so none counts from here on.
    pub(super) fn rolled_back(&mut self, changes: &[Change]) {
        for sent in self.sent.values_mut() {
            sent.copies += 1;
        }
        for change in changes {
            if let Key::Execution(id) = change.key {
                self.ended.retain(|_, (of, _)| *of != id);
            }
        }
    }
}
