//! Sending messages to other partitions, each in the commit of its cause.

use crate::digest::digest;
use crate::record::{Format, Message, MessageBody, Outbox, Record};
use crate::view::unreadable;
use crate::{Key, MessageId, Millis, PartitionId, Stop, View};

/// What a message follows from. Its id is derived from both parts, so that a cause that runs twice sends the same message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cause {
    /// The command or message that led to it.
    pub(crate) id: MessageId,
    /// Tells the messages apart that one cause sends to one partition; without it the second would count as a repeat.
    pub(crate) nth: u32,
}

impl Cause {
    /// The cause of a single message to each partition.
    pub(crate) fn only(id: MessageId) -> Self {
        Self { id, nth: 0 }
    }

    fn derive(self, from: PartitionId, to: PartitionId) -> MessageId {
        let Self { id, nth } = self;
        let parts = (id.0.to_le_bytes(), nth.to_le_bytes(), from.0.to_le_bytes(), to.0.to_le_bytes());
        MessageId(digest([&parts.0[..], &parts.1, &parts.2, &parts.3]))
    }
}

/// Writes a message in the commit of its cause.
pub(crate) fn send(view: &mut View, to: PartitionId, cause: Cause, body: MessageBody, now: Millis) -> Result<(), Stop> {
    let from = view.partition();
    let key = Key::Outbox(from, to);
    let mut outbox = of(view, to)?;
    let seq = outbox.next;
    outbox.next += 1;
    view.put(key, Record::Outbox(outbox))?;
    let message = Message { format: Format, id: cause.derive(from, to), sent_at: now, body };
    view.put_new(Key::Message(from, to, seq), Record::Message(message))
}

/// The sequence of messages from here to another partition.
pub(crate) fn of(view: &mut View, to: PartitionId) -> Result<Outbox, Stop> {
    let key = Key::Outbox(view.partition(), to);
    match view.get(&key)?.as_deref() {
        None => Ok(Outbox { format: Format, first: 0, next: 0 }),
        Some(Record::Outbox(outbox)) => Ok(outbox.clone()),
        Some(_) => Err(unreadable(&key)),
    }
}
