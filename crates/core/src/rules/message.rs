//! Messages between partitions: written with their cause, applied once by their id, removed when delivered.

use crate::ids::{fingerprint, mix};
use crate::record::{Format, Inbox, Message, MessageBody, Outbox, Record};
use crate::rules::lane;
use crate::view::unreadable;
use crate::{Bury, Deliver, Forget, Key, MessageId, Millis, PartitionId, Reply, Stop, View, limits};

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
    let mut outbox = outbox(view, to)?;
    let seq = outbox.next;
    outbox.next += 1;
    view.put(key, Record::Outbox(outbox))?;
    let message = Message { format: Format, id: derive(cause, from, to), sent_at: now, body };
    view.put_new(Key::Message(from, to, seq), Record::Message(message))
}

fn derive(cause: MessageId, from: PartitionId, to: PartitionId) -> MessageId {
    let salt = fingerprint(&[&from.0.to_le_bytes(), &to.0.to_le_bytes()]);
    let high = mix((cause.0 >> 64) as u64 ^ salt);
    let low = mix(cause.0 as u64 ^ salt.rotate_left(32));
    MessageId((u128::from(high) << 64) | u128::from(low))
}

fn outbox(view: &mut View, to: PartitionId) -> Result<Outbox, Stop> {
    let key = Key::Outbox(view.partition(), to);
    match view.get(&key)?.as_deref() {
        None => Ok(Outbox { format: Format, first: 0, next: 0 }),
        Some(Record::Outbox(outbox)) => Ok(outbox.clone()),
        Some(_) => Err(unreadable(&key)),
    }
}

/// Applies what is new. It never refuses for a reason of the message's: what cannot be done is skipped, so that the
/// queue moves on. A record here that this version cannot read stops it until a newer version delivers.
pub(crate) fn deliver(view: &mut View, deliver: &Deliver, now: Millis) -> Result<Reply, Stop> {
    let key = Key::Inbox(view.partition(), deliver.from);
    let mut inbox = match view.get(&key)?.as_deref() {
        None => Inbox { format: Format, applied: std::collections::VecDeque::new() },
        Some(Record::Inbox(inbox)) => inbox.clone(),
        Some(_) => return Err(unreadable(&key)),
    };
    let mut applied = 0;
    view.for_each(deliver.messages.iter().take(limits::MESSAGES_MAX), |view, message| {
        if inbox.applied.contains(&message.id) {
            return Ok(());
        }
        inbox.applied.push_back(message.id);
        applied += 1;
        apply_one(view, deliver.from, message, now)
    })?;
    while inbox.applied.len() > limits::MESSAGES_MAX {
        inbox.applied.pop_front();
    }
    if applied > 0 {
        view.put(key, Record::Inbox(inbox))?;
    }
    Ok(Reply::Delivered { applied })
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

/// Removes delivered messages, at most as many as one delivery holds. Whatever else stands under their sequences stays.
pub(crate) fn forget(view: &mut View, forget: &Forget) -> Result<Reply, Stop> {
    let from = view.partition();
    let mut outbox = outbox(view, forget.to)?;
    let end = forget.through.saturating_add(1).min(outbox.next).min(outbox.first + limits::MESSAGES_MAX as u64);
    view.for_each(outbox.first..end, |view, seq| {
        let key = Key::Message(from, forget.to, seq);
        match view.get(&key)?.as_deref() {
            Some(Record::Message(message)) if forget.ids.contains(&message.id) => view.delete(key),
            _ => Ok(()),
        }
    })?;
    let first = outbox.first;
    while outbox.first < end && view.get(&Key::Message(from, forget.to, outbox.first))?.is_none() {
        outbox.first += 1;
    }
    if first < outbox.first {
        view.put(Key::Outbox(from, forget.to), Record::Outbox(outbox))?;
    }
    Ok(Reply::Forgotten)
}

/// Moves a message that cannot be delivered out of the queue, bytes and all.
pub(crate) fn bury(view: &mut View, bury: &Bury) -> Result<Reply, Stop> {
    let from = view.partition();
    let key = Key::Message(from, bury.to, bury.seq);
    if view.get(&key)?.is_none() {
        return Ok(Reply::Buried);
    }
    view.put(Key::Dead(from, bury.to, bury.seq), Record::Dead(bury.body.clone()))?;
    view.delete(key)?;
    Ok(Reply::Buried)
}
