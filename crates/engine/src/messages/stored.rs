//! Delivers messages that are read from the store: sets aside what is damaged, and waits where a newer version wrote.

use crate::api::query;
use crate::members::handover;
use crate::messages::delivery;
use crate::messages::pairs::{Ids, Serving, key};
use crate::shared::Shared;
use crate::{Error, binding};
use bytes::Bytes;
use onward_core::record::{Message, Record};
use onward_core::{Bury, Deliver, Key, MessageId, PartitionId, Rejection, codec, limits};

/// What is stored under a sequence.
enum Content {
    Readable(Message),
    /// A newer version wrote it: it waits for a process that knows it, and so does all behind it.
    Newer,
    /// It is no message.
    Damaged,
}

/// Delivers what is stored of a pair, up to 64 messages, and removes it. `delivered` are those of them that were
/// delivered from memory.
pub(super) async fn deliver(shared: &Shared, serving: &Serving, delivered: &Ids) -> Result<(), Error> {
    let (from, to) = serving.pair;
    let Some((first, next)) = range(shared, from, to).await? else { return Ok(()) };
    let through = next.min(first + limits::MESSAGES_MAX as u64);
    if first == through {
        serving.read_up_to(next);
        return Ok(());
    }
    let (mut messages, mut gone) = (Vec::new(), Vec::new());
    let mut stopped = None;
    for (seq, body, content) in load(shared, from, to, first..through).await? {
        match content {
            Content::Readable(message) => {
                gone.push(message.id);
                if !is_delivered(delivered, seq, message.id) {
                    messages.push((seq, body, message));
                }
            }
            Content::Damaged if failed_too_often(shared, &key((from, to), seq)) => {
                bury(shared, from, to, seq, body).await?;
            }
            // Order is kept: nothing behind it is delivered before its fate is known.
            Content::Newer | Content::Damaged => {
                stopped = Some((seq, content));
                break;
            }
        }
    }
    hand_over(shared, from, to, messages).await?;
    let handled = stopped.as_ref().map_or(through, |(seq, _)| *seq);
    if handled > first {
        delivery::forget(shared, serving.pair, handled - 1, gone).await?;
    }
    match stopped {
        Some((seq, Content::Newer)) => {
            shared.metrics.messages_resting.add(1);
            handover::newer(shared, &key((from, to), seq));
            Err(Rejection::RecordUnreadable { key: key((from, to), seq).to_string() }.into())
        }
        Some((seq, _)) => Err(Error::Internal(format!("message {seq} cannot be read"))),
        None if through < next => {
            serving.unread();
            Ok(())
        }
        None => {
            serving.read_up_to(next);
            Ok(())
        }
    }
}

fn is_delivered(delivered: &Ids, seq: u64, id: MessageId) -> bool {
    delivered.binary_search_by_key(&seq, |(seq, _)| *seq).is_ok_and(|at| delivered[at].1 == id)
}

/// Delivers a group; when that fails, one by one, to find the culprit.
async fn hand_over(
    shared: &Shared,
    from: PartitionId,
    to: PartitionId,
    messages: Vec<(u64, Bytes, Message)>,
) -> Result<(), Error> {
    if messages.is_empty() {
        return Ok(());
    }
    let count = messages.len() as u64;
    let all = messages.iter().map(|(_, _, message)| message.clone()).collect();
    match shared.call(to, Deliver { from, messages: all }).await {
        Ok(_) => {
            shared.metrics.messages_delivered.add(count);
            return Ok(());
        }
        // A record at the destination that only a newer version can read is no fault of the message: it waits.
        Err(error @ Error::Refused(Rejection::RecordUnreadable { .. })) => return Err(error),
        Err(Error::Internal(_) | Error::Refused(_)) => {}
        Err(error) => return Err(error),
    }
    for (seq, body, message) in messages {
        match shared.call(to, Deliver { from, messages: vec![message] }).await {
            Ok(_) => shared.metrics.messages_delivered.add(1),
            Err(error @ Error::Refused(Rejection::RecordUnreadable { .. })) => return Err(error),
            Err(Error::Internal(_) | Error::Refused(_)) if failed_too_often(shared, &key((from, to), seq)) => {
                bury(shared, from, to, seq, body).await?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Counts a failed delivery; returns whether it was the last one allowed.
fn failed_too_often(shared: &Shared, key: &Key) -> bool {
    let mut failures = shared.delivery.failures.lock();
    if failures.len() > limits::DELIVERY_FAILURES_TRACKED_MAX {
        failures.clear();
    }
    let count = failures.entry(key.clone()).or_insert(0);
    *count += 1;
    let dead = *count >= limits::DELIVERY_FAILURES_MAX;
    if dead {
        failures.remove(key);
    }
    dead
}

async fn bury(shared: &Shared, from: PartitionId, to: PartitionId, seq: u64, body: Bytes) -> Result<(), Error> {
    shared.call(from, Bury { to, seq, body }).await?;
    shared.metrics.messages_dead.add(1);
    tracing::error!(%from, %to, seq, "a message could not be delivered and was set aside");
    Ok(())
}

/// Sequence numbers of the messages that may be stored: the first one, and the one after the last.
async fn range(shared: &Shared, from: PartitionId, to: PartitionId) -> Result<Option<(u64, u64)>, Error> {
    let key = Key::Outbox(from, to);
    match query::record(shared, from, &key).await? {
        None => Ok(None),
        Some(Record::Outbox(outbox)) => Ok(Some((outbox.first, outbox.next))),
        Some(unreadable) => {
            if matches!(&unreadable, Record::Unreadable(body) if codec::needs_newer(body, shared.options.formats_known))
            {
                handover::newer(shared, &key);
            }
            Err(Rejection::RecordUnreadable { key: key.to_string() }.into())
        }
    }
}

/// The messages of a range with their bytes.
async fn load(
    shared: &Shared,
    from: PartitionId,
    to: PartitionId,
    seqs: std::ops::Range<u64>,
) -> Result<Vec<(u64, Bytes, Content)>, Error> {
    let keys: Vec<(u64, Key)> = seqs.map(|seq| (seq, key((from, to), seq))).collect();
    let names: Vec<_> = keys.iter().map(|(_, key)| binding::store_key(key)).collect();
    let rows = shared.store.load(binding::partition(from), &names).await?;
    let stored = keys.iter().zip(rows).filter_map(|((seq, key), row)| {
        let body = row?.body;
        let content = match codec::decode(key, &body) {
            Record::Message(message) => Content::Readable(message),
            _ if Message::is_newer(&body) => Content::Newer,
            _ => Content::Damaged,
        };
        Some((*seq, body, content))
    });
    Ok(stored.collect())
}
