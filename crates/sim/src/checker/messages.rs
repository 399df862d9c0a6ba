//! Messages between partitions: sent once, applied once unless an old delivery comes again, removed after that, never set
//! aside.

use super::{Change, Checker};
use onward_core::record::{Message, MessageBody, Outbox, Record};
use onward_core::{Key, MessageId, PartitionId};
use std::collections::{BTreeMap, BTreeSet};

/// Every message ever seen.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// By id: sender, receiver, sequence.
    sent: BTreeMap<MessageId, (PartitionId, PartitionId, u64)>,
    applied: BTreeSet<MessageId>,
    /// What was sent, in order, with sender and receiver.
    log: Vec<(PartitionId, PartitionId, Message)>,
    /// The store lost a commit that sent or applied them, or an old delivery came again.
    void: BTreeSet<MessageId>,
    /// The store lost commits that sent or applied them.
    lost: BTreeSet<MessageId>,
}

impl Messages {
    /// Whether a record is a message that was applied, so that it has only to be removed.
    pub(super) fn is_applied(&self, record: &Record) -> bool {
        matches!(record, Record::Message(message) if self.applied.contains(&message.id))
    }

    pub(super) fn committed(&mut self, changes: &[Change]) -> Result<(), String> {
        for change in changes {
            let (before, after) = (change.before.as_deref(), change.after.as_deref());
            match (&change.key, before, after) {
                (Key::Message(from, to, seq), None, Some(Record::Message(message))) => {
                    self.send(message.id, (*from, *to, *seq))?;
                    self.log.push((*from, *to, message.clone()));
                }
                (Key::Message(..), Some(Record::Message(message)), None) => self.remove(message.id)?,
                (Key::Inbox(to, from), ..) => {
                    for id in applied_only_in(after, before) {
                        self.apply(id, *from, *to)?;
                    }
                }
                (Key::Outbox(..), Some(Record::Outbox(before)), Some(Record::Outbox(after)))
                    if before.first > after.first || before.next > after.next || after.first > after.next =>
                {
                    return Err(format!("{} went back", change.key));
                }
                (Key::Dead(..), ..) => return Err(format!("{} was set aside", change.key)),
                _ => {}
            }
        }
        Ok(())
    }

    fn send(&mut self, id: MessageId, place: (PartitionId, PartitionId, u64)) -> Result<(), String> {
        if self.sent.insert(id, place).is_some() && !self.void.contains(&id) {
            return Err(format!("message {id} was sent twice"));
        }
        Ok(())
    }

    fn remove(&self, id: MessageId) -> Result<(), String> {
        if self.applied.contains(&id) || self.void.contains(&id) {
            return Ok(());
        }
        Err(format!("message {id} was removed before it was applied"))
    }

    fn apply(&mut self, id: MessageId, from: PartitionId, to: PartitionId) -> Result<(), String> {
        match self.sent.get(&id) {
            Some((sender, receiver, _)) if (*sender, *receiver) == (from, to) => {}
            _ if self.void.contains(&id) => {}
            _ => return Err(format!("partition {to} applied message {id}, which {from} never sent it")),
        }
        if !self.applied.insert(id) && !self.void.contains(&id) {
            return Err(format!("message {id} was applied twice"));
        }
        Ok(())
    }

    pub(super) fn rolled_back(&mut self, changes: &[Change]) {
        for change in changes {
            if let Key::Message(from, to, seq) = change.key {
                let place = (from, to, seq);
                let lost: Vec<_> = self.sent.iter().filter(|(_, sent)| **sent == place).map(|(id, _)| *id).collect();
                self.void.extend(&lost);
                self.lost.extend(lost);
            }
            for id in applied_only_in(change.before.as_deref(), change.after.as_deref()) {
                self.applied.remove(&id);
                self.void.insert(id);
                self.lost.insert(id);
            }
        }
    }
}

/// The messages that one state of an inbox remembers and another does not.
fn applied_only_in(one: Option<&Record>, other: Option<&Record>) -> Vec<MessageId> {
    let Some(Record::Inbox(one)) = one else { return Vec::new() };
    let known = |id: &MessageId| matches!(other, Some(Record::Inbox(other)) if other.applied.contains(id));
    one.applied.iter().filter(|id| !known(id)).copied().collect()
}

/// What is still to do about a message or a sequence of them, if something is.
pub(super) fn unfinished(record: &Record) -> Option<String> {
    match record {
        Record::Message(_) => Some("not delivered".to_owned()),
        Record::Outbox(Outbox { first, next, .. }) if first < next => Some(format!("holds {first} to {next}")),
        _ => None,
    }
}

impl Checker {
    /// The sequence under which a message was sent.
    pub(crate) fn seq(&self, id: MessageId) -> Option<u64> {
        self.messages.sent.get(&id).map(|(_, _, seq)| *seq)
    }

    /// The highest sequence that a partition remembers to have applied from another.
    pub(crate) fn mark(&self, to: PartitionId, from: PartitionId) -> Option<u64> {
        match self.record(&Key::Inbox(to, from)) {
            Some(Record::Inbox(inbox)) => inbox.applied.iter().filter_map(|id| self.seq(*id)).max(),
            _ => None,
        }
    }
    /// An old delivery comes again: these are applied or sent once more.
    pub(crate) fn delivered_again(&mut self, ids: &[MessageId]) {
        self.messages.void.extend(ids);
    }

    /// The messages that were applied, with sender and receiver: a process that stopped may have loaded any of them.
    pub(crate) fn applied_before(&self) -> Vec<(PartitionId, PartitionId, Message)> {
        let Messages { applied, lost, log, .. } = &self.messages;
        log.iter().filter(|(_, _, one)| applied.contains(&one.id) && !lost.contains(&one.id)).cloned().collect()
    }

    /// Those of them that brought a decision about a lane that a newer one has replaced where they went.
    pub(crate) fn replaced(&self) -> Vec<(PartitionId, PartitionId, Message)> {
        let mut replaced = self.applied_before();
        replaced.retain(|(_, to, message)| {
            let MessageBody::LaneChanged { namespace, lane, revision, .. } = &message.body else { return false };
            let copy = self.record(&Key::LaneCopy(namespace.clone(), lane.clone(), *to));
            matches!(copy, Some(Record::LaneCopy(copy)) if copy.revision > *revision)
        });
        replaced
    }

    /// Those of them by which a partition acknowledged a decision about a lane that others still owe.
    pub(crate) fn acknowledged_early(&self) -> Vec<(PartitionId, PartitionId, Message)> {
        let mut early = self.applied_before();
        early.retain(|(_, _, message)| {
            let MessageBody::LaneCopied { namespace, lane, revision, by } = &message.body else { return false };
            matches!(self.record(&Key::LaneMaster(namespace.clone(), lane.clone())), Some(Record::LaneMaster(master))
                if master.revision == *revision && !master.owed.is_empty() && !master.owed.contains(by))
        });
        early
    }
}
