//! Messages between partitions: sent once, applied once, removed after that, never set aside.

use super::{Change, Checker};
use onward_core::record::Record;
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
            match (&change.key, change.before.as_deref(), change.after.as_deref()) {
                (Key::Message(from, to, seq), None, Some(Record::Message(message))) => {
                    if self.sent.insert(message.id, (*from, *to, *seq)).is_some() && !self.void.contains(&message.id) {
                        return Err(format!("message {} was sent twice", message.id));
                    }
                }
                (Key::Message(..), Some(Record::Message(message)), None) => {
                    if !self.applied.contains(&message.id) && !self.void.contains(&message.id) {
                        return Err(format!("message {} was removed before it was applied", message.id));
                    }
                }
                (Key::Inbox(to, from), before, Some(Record::Inbox(inbox))) => {
                    let known = match before {
                        Some(Record::Inbox(before)) => before.applied.iter().copied().collect(),
                        _ => BTreeSet::new(),
                    };
                    for id in inbox.applied.iter().filter(|id| !known.contains(*id)) {
                        self.apply(*id, *from, *to)?;
                    }
                }
                (Key::Outbox(..), before, Some(Record::Outbox(outbox))) => {
                    let backwards = matches!(before, Some(Record::Outbox(before)) if before.first > outbox.first || before.next > outbox.next);
                    if backwards || outbox.first > outbox.next {
                        return Err(format!("{} went back", change.key));
                    }
                }
                (Key::Dead(..), ..) => return Err(format!("{} was set aside", change.key)),
                _ => {}
            }
        }
        Ok(())
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
            match (change.before.as_deref(), change.after.as_deref()) {
                (Some(Record::Inbox(before)), after) => {
                    let kept = match after {
                        Some(Record::Inbox(after)) => after.applied.iter().copied().collect(),
                        _ => BTreeSet::new(),
                    };
                    for id in before.applied.iter().filter(|id| !kept.contains(*id)) {
                        self.applied.remove(id);
                        self.void.insert(*id);
                    }
                }
                _ => {}
            }
        }
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
