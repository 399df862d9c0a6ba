//! Messages between partitions: sent once, applied once, removed after that, never set aside.

use super::{Change, Checker};
use onward_core::record::{Outbox, Record};
use onward_core::{Key, MessageId, PartitionId};
use std::collections::{BTreeMap, BTreeSet};

/// Every message ever seen.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// By id: sender, receiver, sequence.
    sent: BTreeMap<MessageId, (PartitionId, PartitionId, u64)>,
    applied: BTreeSet<MessageId>,
    /// The store lost a commit that sent or applied them.
    void: BTreeSet<MessageId>,
}

impl Messages {
    pub(super) fn committed(&mut self, changes: &[Change]) -> Result<(), String> {
        for change in changes {
            let (before, after) = (change.before.as_deref(), change.after.as_deref());
            match (&change.key, before, after) {
                (Key::Message(from, to, seq), None, Some(Record::Message(message))) => {
                    self.send(message.id, (*from, *to, *seq))?;
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
                self.void.extend(self.sent.iter().filter(|(_, sent)| **sent == place).map(|(id, _)| *id));
            }
            for id in applied_only_in(change.before.as_deref(), change.after.as_deref()) {
                self.applied.remove(&id);
                self.void.insert(id);
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
}
