//! Applying messages from another partition, each once while its id is remembered.

use crate::record::{Format, Inbox, Message, MessageBody, Record};
use crate::rules::lane;
use crate::verb::USUAL_BYTES;
use crate::view::unreadable;
use crate::{Key, Millis, PartitionId, Stop, Urgency, Verb, View, limits};
use std::collections::VecDeque;

/// Applies messages from another partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deliver {
    /// The sender.
    pub from: PartitionId,
    /// In the order of their sequence.
    pub messages: Vec<Message>,
}

impl Verb for Deliver {
    const URGENCY: Urgency = Urgency::Background;
    /// How many were new.
    type Reply = usize;

    /// The inbox, and what applying the messages reads, so that a delivery to a cold partition reads the store once.
    fn keys(&self, partition: PartitionId) -> Vec<Key> {
        let inbox = Key::Inbox(partition, self.from);
        std::iter::once(inbox).chain(self.messages.iter().flat_map(|one| reads(partition, self.from, one))).collect()
    }

    fn bytes(&self) -> usize {
        USUAL_BYTES * (1 + self.messages.len())
    }

    /// Applies what is new, as far as the inbox remembers: of more than 64 messages it knows the last 64, so that one
    /// which is older may be applied again. It never refuses for a reason of the message's: what cannot be done is
    /// skipped, so that the queue moves on. A record here that this version cannot read stops all of it until a newer
    /// version delivers.
    fn run(&self, view: &mut View, now: Millis) -> Result<usize, Stop> {
        let key = Key::Inbox(view.partition(), self.from);
        let mut inbox = match view.get(&key)?.as_deref() {
            None => Inbox { format: Format, applied: VecDeque::new() },
            Some(Record::Inbox(inbox)) => inbox.clone(),
            Some(_) => return Err(unreadable(&key)),
        };
        let mut applied = 0;
        view.for_each(self.messages.iter().take(limits::MESSAGES_MAX), |view, message| {
            if inbox.applied.contains(&message.id) {
                return Ok(());
            }
            inbox.applied.push_back(message.id);
            applied += 1;
            apply_one(view, self.from, message, now)
        })?;
        while inbox.applied.len() > limits::MESSAGES_MAX {
            inbox.applied.pop_front();
        }
        if applied > 0 {
            view.put(key, Record::Inbox(inbox))?;
        }
        Ok(applied)
    }
}

/// The records that applying a message reads.
fn reads(partition: PartitionId, from: PartitionId, message: &Message) -> Vec<Key> {
    match &message.body {
        MessageBody::LaneChanged { namespace, lane, .. } => {
            vec![Key::LaneCopy(namespace.clone(), lane.clone(), partition), Key::Outbox(partition, from)]
        }
        MessageBody::LaneCopied { namespace, lane, .. } => vec![Key::LaneMaster(namespace.clone(), lane.clone())],
    }
}

fn apply_one(view: &mut View, from: PartitionId, message: &Message, now: Millis) -> Result<(), Stop> {
    match &message.body {
        MessageBody::LaneChanged { namespace, lane, settings, revision } => {
            lane::changed(view, from, message.id, (namespace, lane), (settings, *revision), now)
        }
        MessageBody::LaneCopied { namespace, lane, revision, by } => {
            lane::copied(view, (namespace, lane), *revision, *by)
        }
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use super::*;
    use crate::record::LaneState;
    use crate::rules::table::Row;
    use crate::rules::world::make::{self, HOME};

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("deliver", |world, _| {
            world.accept(&make::set_lane(5, LaneState::Draining));
            let messages = world.outgoing(HOME, HOME).into_iter().map(|(_, message)| message).collect();
            Deliver { from: HOME, messages }.into()
        }, &[
            ("=", "*"),
        ]),
    ];
}
