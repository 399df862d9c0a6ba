//! What callers sent and what became of it: an attempt ends by its holder's own call, and what was refused did not
//! happen.

use super::Change;
use onward_core::record::{EndedAttempt, Execution, Record, State};
use onward_core::{Act, CommandId, ExecutionId, Fence, Key, LeaseId, Millis, NewExecution, Operate, Payload, Submit};
use std::collections::{BTreeMap, BTreeSet};

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
    requests: BTreeMap<CommandId, Box<NewExecution>>,
    inputs: BTreeMap<ExecutionId, Payload>,
    /// What operators wanted to remove.
    unwanted: BTreeSet<ExecutionId>,
    /// The leases whose holders were told of them.
    told: BTreeSet<LeaseId>,
    /// How far attempts said they were, by their lease.
    said: BTreeSet<(LeaseId, u8)>,
    /// What each operator's call wants.
    acts: BTreeMap<CommandId, Act>,
}

impl Calls {
    /// Somebody sends a command, perhaps again.
    pub(super) fn sent(&mut self, command: CommandId, fence: Option<Fence>) {
        let sent = self.sent.entry(command).or_default();
        sent.fence = fence;
        sent.copies += 1;
    }

    /// Somebody submits, perhaps again.
    pub(super) fn submits(&mut self, submit: &Submit) {
        let Submit { command, id, new, .. } = submit;
        self.sent(*command, None);
        if let Ok(input) = new.payload() {
            self.inputs.entry(*id).or_insert(input);
        }
        self.requests.entry(*command).or_insert_with(|| new.clone());
    }

    /// What a submit asked for, if its caller chose the id.
    pub(super) fn request(&self, command: CommandId) -> Option<&NewExecution> {
        self.requests.get(&command).map(|new| &**new)
    }

    pub(super) fn input(&self, id: ExecutionId) -> Option<&Payload> {
        self.inputs.get(&id)
    }

    /// An execution was born with this input. What its caller sent counts more, where that is known.
    pub(super) fn born(&mut self, id: ExecutionId, input: Payload) {
        self.inputs.entry(id).or_insert(input);
    }

    /// An operator's call goes out, perhaps again.
    pub(super) fn operates(&mut self, operate: &Operate) {
        self.sent(operate.command, None);
        self.acts.entry(operate.command).or_insert_with(|| operate.act.clone());
        if matches!(operate.act, Act::Purge(_)) {
            self.unwanted.insert(operate.execution);
        }
    }

    /// The holder of a lease is told of it.
    pub(super) fn tell(&mut self, lease: LeaseId) {
        self.told.insert(lease);
    }

    pub(super) fn is_told(&self, lease: LeaseId) -> bool {
        self.told.contains(&lease)
    }

    /// A worker reports the progress of an attempt.
    pub(super) fn says(&mut self, lease: LeaseId, percent: u8) {
        self.said.insert((lease, percent));
    }

    /// Whether this progress of an attempt was ever reported.
    pub(super) fn said(&self, lease: LeaseId, percent: u8) -> bool {
        self.said.contains(&(lease, percent))
    }

    /// What an operator's call wants.
    pub(super) fn act(&self, command: CommandId) -> Option<&Act> {
        self.acts.get(&command)
    }

    pub(super) fn is_unwanted(&self, id: ExecutionId) -> bool {
        self.unwanted.contains(&id)
    }

    /// The call that ended the attempt of a lease.
    pub(super) fn ender(&self, fence: Fence) -> Option<CommandId> {
        let of = |(id, attempt): &(ExecutionId, EndedAttempt)| (*id, attempt.lease) == (fence.execution, fence.lease);
        self.ended.iter().find(|(_, ended)| of(ended)).map(|(command, _)| *command)
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
                    let before = super::execution(change.before.as_deref());
                    self.pauses(before, execution)?;
                    self.operated(before, execution)?;
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

    /// A pause is the call of whoever held the attempt.
    fn pauses(&self, before: Option<&Execution>, after: &Execution) -> Result<(), String> {
        let State::Waiting(waiting) = &after.state else { return Ok(()) };
        let paused = waiting.next.paused();
        let known = before.is_some_and(|before| matches!(&before.state, State::Waiting(_)));
        let Some((paused, (command, _))) = paused.and_then(|paused| Some((paused, paused.attempt.pauses.back()?)))
        else {
            return Ok(());
        };
        // An operator's pause is no call of the holder: what is remembered last is then an older one.
        let old = match before.map(|before| &before.state) {
            Some(State::Active(active)) => active.attempt.pauses.iter().any(|(by, _)| by == command),
            _ => false,
        };
        if known || old {
            return Ok(());
        }
        self.happened(*command)?;
        let held = (after.id, paused.lease, paused.attempt.number);
        match self.sent.get(command).and_then(|sent| sent.fence) {
            Some(fence) if (fence.execution, fence.lease, fence.attempt) != held => {
                Err(format!("the holder of attempt {} of {} paused {held:?}", fence.attempt, fence.execution))
            }
            _ => Ok(()),
        }
    }

    /// What operators were told to be refused did not happen.
    fn operated(&self, before: Option<&Execution>, after: &Execution) -> Result<(), String> {
        let known = |by| before.is_some_and(|before| before.operated.iter().any(|operated| operated.by == by));
        after.operated.iter().filter(|operated| !known(operated.by)).try_for_each(|operated| self.happened(operated.by))
    }

    fn ends(&mut self, id: ExecutionId, attempt: &EndedAttempt) -> Result<(), String> {
        let Some(command) = attempt.ended_by else { return Ok(()) };
        if let Some((other, known)) = self.ended.get(&command) {
            return if (*other, known) == (id, attempt) {
                Ok(())
            } else {
                Err(format!(
                    "command {command} ended attempt {} of {other} and {} of {id}",
                    known.number, attempt.number
                ))
            };
        }
        self.happened(command)?;
        if let Some(fence) = self.sent.get(&command).and_then(|sent| sent.fence)
            && (fence.execution, fence.lease, fence.attempt) != (id, attempt.lease, attempt.number)
        {
            return Err(format!("the holder of attempt {} of {} ended attempt {}", fence.attempt, id, attempt.number));
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
