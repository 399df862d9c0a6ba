//! Repeats: a call that was accepted gets its first answer again and writes nothing, whatever happened in between.

use crate::drive::Driver;
use onward_core::record::{Record, State};
use onward_core::{
    Act, Claimed, Command, CommandId, End, Fence, Key, Millis, Operate, PartitionId, Reply, Report, Submit, Submitted,
    Suspend, Suspended, act, limits,
};
use std::collections::BTreeMap;

/// A call that was accepted.
pub(crate) struct Accepted {
    pub(crate) partition: PartitionId,
    pub(crate) command: Command,
    pub(crate) reply: Reply,
    /// Whether it changed anything; a repeat does not.
    pub(crate) wrote: bool,
}

impl Driver {
    pub(crate) fn repeat_everything(&mut self) {
        for index in 0..self.accepted.len() {
            self.repeat(index);
        }
    }

    /// Repeats a call that was accepted: the first answer, and nothing written. Says whether that must hold now.
    pub(crate) fn repeat(&mut self, index: usize) -> bool {
        let command = &self.accepted[index].command;
        // A call that was forgotten and did its work again is remembered by its newest answer.
        let newest = self.accepted.iter().rev().find(|one| one.wrote && one.command == *command);
        let Accepted { partition, command, reply, .. } = newest.unwrap_or(&self.accepted[index]);
        if !self.must_be_the_same(command, reply) {
            return false;
        }
        let (partition, command, first) = (*partition, command.clone(), reply.clone());
        let done = self.run(partition, &command);
        self.see("repeated", command.name());
        let answer = done.result.unwrap_or_else(|refusal| panic!("the repeat of {command:?} was refused: {refusal}"));
        assert_eq!(comparable(answer), comparable(first), "the repeat of {command:?}");
        assert!(done.step.writes.is_empty() && done.events.is_empty(), "the repeat of {command:?} wrote");
        true
    }

    /// Whether a repeat is due the first answer now.
    fn must_be_the_same(&self, command: &Command, reply: &Reply) -> bool {
        match command {
            Command::Submit(submit) => match reply {
                Reply::Submit(Submitted { created: true, .. }) => self.world.find(submit.id).is_some(),
                _ => self.key_stands(submit, reply),
            },
            Command::Claim(claim) => match (self.world.find(claim.execution), reply) {
                (Some(execution), Reply::Claim(claimed)) => match &execution.state {
                    State::Active(active) => {
                        let acts = execution.acts_until(active).is_none_or(|until| self.world.now < until);
                        active.lease.epoch == claimed.fence.epoch && acts
                    }
                    State::Waiting(_) | State::Finished(_) => false,
                },
                _ => false,
            },
            Command::Report(report) => match report.end {
                End::Complete(_) | End::Fail(_) | End::Cancel(_) => self.is_kept(&report.fence),
                End::Unclaim(_) | End::Delay(_) => self.pause_stands(&report.fence, report.command),
            },
            Command::Suspend(suspend) => match (reply, self.world.find(suspend.fence.execution)) {
                (Reply::Suspend(Suspended { met: None }), _) => self.pause_stands(&suspend.fence, suspend.command),
                (_, Some(execution)) => match &execution.state {
                    State::Active(active) => {
                        let acts = execution.acts_until(active).is_none_or(|until| self.world.now < until);
                        // A claim that was forgotten and repeated gives its lease out again, in a new epoch.
                        (active.lease.id, active.lease.epoch) == (suspend.fence.lease, suspend.fence.epoch) && acts
                    }
                    State::Waiting(_) | State::Finished(_) => false,
                },
                (_, None) => false,
            },
            Command::Signal(signal) => self.world.record(&Key::Signal(signal.execution, signal.signal_id())).is_some(),
            Command::Operate(operate) => self.operation_stands(operate),
            Command::SetLane(set) => {
                let sets = self.accepted.iter().filter_map(|one| match &one.command {
                    Command::SetLane(set) if one.wrote => Some(set.command),
                    _ => None,
                });
                is_among_newest(sets, set.command)
            }
            Command::Forget(_) | Command::Bury(_) | Command::IssueKey(_) | Command::RevokeKey(_) => true,
            // Its answer is the ring as it is by then.
            Command::RotateTokenKeys(_) => false,
            Command::Renew(_) | Command::Progress(_) | Command::Due(_) | Command::Deliver(_) | Command::Prune(_) => {
                false
            }
        }
    }

    /// Whether an attempt is there: all of them until their execution is removed, then only the last one.
    fn is_kept(&self, fence: &Fence) -> bool {
        self.world.find(fence.execution).is_some_and(|execution| {
            let last = execution.last.as_ref().is_some_and(|last| last.number == fence.attempt);
            !execution.is_purging() || last
        })
    }

    /// Whether the attempt still remembers the call that paused or ended it: it keeps the newest pauses.
    fn pause_stands(&self, fence: &Fence, command: CommandId) -> bool {
        let pauses = self.accepted.iter().filter(|one| one.wrote).filter_map(|one| match &one.command {
            Command::Report(Report { command, fence: other, end: End::Unclaim(_) | End::Delay(_) })
            | Command::Suspend(Suspend { command, fence: other, .. })
                if other.attempt == fence.attempt && is_pause(&one.reply) =>
            {
                Some((other.execution, *command))
            }
            _ => None,
        });
        let of_this = pauses.filter(|(execution, _)| *execution == fence.execution).map(|(_, command)| command);
        self.is_kept(fence) && is_among_newest(of_this, command)
    }

    /// Whether the execution still remembers an operator's call. What is gone remembers nothing, but is purged.
    fn operation_stands(&self, operate: &Operate) -> bool {
        let Some(execution) = self.world.find(operate.execution) else { return false };
        if operate.act == Act::Purge(act::Purge {}) && execution.is_purging() {
            return true;
        }
        let calls = self.accepted.iter().filter(|one| one.wrote).filter_map(|one| match &one.command {
            Command::Operate(one) if one.execution == operate.execution => Some(one.command),
            _ => None,
        });
        is_among_newest(calls, operate.command)
    }

    /// Whether the submit's key still stands for what it stood for. Only time can change that for an idempotency key,
    /// and only the end of the execution for a unique one.
    fn key_stands(&self, submit: &Submit, reply: &Reply) -> bool {
        let same = |execution| matches!(reply, Reply::Submit(Submitted { id, created: false, .. }) if *id == execution);
        let namespace = &submit.new.namespace;
        if self.world.find(submit.id).is_some() {
            return false;
        }
        let idempotency =
            submit.new.idempotency_key.as_ref().map(|key| Key::Idempotency(namespace.clone(), key.clone()));
        if let Some(Record::Idempotency(known)) = idempotency.and_then(|key| self.world.record(&key))
            && known.expires_at > self.world.now
        {
            return same(known.execution);
        }
        let unique = submit.new.unique_key.as_ref().map(|key| Key::Unique(namespace.clone(), key.clone()));
        match unique.and_then(|key| self.world.record(&key)) {
            Some(Record::Unique(known)) => known.holder().is_some_and(same),
            _ => false,
        }
    }
}

/// Whether an answer says that the attempt was paused.
fn is_pause(reply: &Reply) -> bool {
    !matches!(reply, Reply::Suspend(Suspended { met: Some(_) }))
}

/// Whether a call is among the newest that a record remembers.
fn is_among_newest(calls: impl Iterator<Item = CommandId>, command: CommandId) -> bool {
    let order: BTreeMap<CommandId, usize> = calls.enumerate().map(|(place, command)| (command, place)).collect();
    let place = order.get(&command);
    place.is_some_and(|place| order.values().filter(|later| *later > place).count() < limits::OPERATOR_COMMANDS_KEPT)
}

/// Between a claim and its repeat the lease may have been renewed, the execution labelled otherwise, and waits met.
fn comparable(reply: Reply) -> Reply {
    match reply {
        Reply::Claim(claimed) => {
            // Both times come nearer after the time was set back.
            let times_out_at = claimed.times_out_at.map(|_| Millis(0));
            let (expires_at, tags, open_waits) = (Millis(0), BTreeMap::new(), BTreeMap::new());
            Reply::Claim(Box::new(Claimed { expires_at, times_out_at, tags, open_waits, ..*claimed }))
        }
        other => other,
    }
}
