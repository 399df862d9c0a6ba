//! Applying messages from another partition, each once by its id.

use crate::record::{Format, Inbox, Message, MessageBody, Record};
use crate::rules::lane;
use crate::view::unreadable;
use crate::{Key, Millis, PartitionId, Stop, Urgency, Verb, View, Weight, limits};
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

    fn keys(&self, partition: PartitionId) -> Vec<Key> {
        vec![Key::Inbox(partition, self.from)]
    }

    fn weight(&self, _: u16) -> Weight {
        Weight { rows: 8 * self.messages.len() + 2, bytes: 1_024 * self.messages.len() + 4_096 }
    }

    /// Applies what is new. It never refuses for a reason of the message's: what cannot be done is skipped, so that the
    /// queue moves on. A record here that this version cannot read stops it until a newer version delivers.
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
