//! Sending messages to other partitions, each in the commit of its cause.

use crate::digest::digest;
use crate::record::{Format, Message, MessageBody, Outbox, Record};
use crate::view::unreadable;
use crate::{Key, MessageId, Millis, PartitionId, Stop, View};

/// Writes a message in the commit of its cause. The id is derived from the cause's, so that a cause that runs twice
/// sends the same message; for the same reason a cause sends at most one message to each partition.
pub(crate) fn send(
    view: &mut View,
    to: PartitionId,
    cause: MessageId,
    body: MessageBody,
    now: Millis,
) -> Result<(), Stop> {
    let from = view.partition();
    let key = Key::Outbox(from, to);
    let mut outbox = of(view, to)?;
    let seq = outbox.next;
    outbox.next += 1;
    view.put(key, Record::Outbox(outbox))?;
    let message = Message { format: Format, id: derive(cause, from, to), sent_at: now, body };
    view.put_new(Key::Message(from, to, seq), Record::Message(message))
}

fn derive(cause: MessageId, from: PartitionId, to: PartitionId) -> MessageId {
    MessageId(digest([&cause.0.to_le_bytes()[..], &from.0.to_le_bytes(), &to.0.to_le_bytes()]))
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
