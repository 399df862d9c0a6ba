//! Delivers messages between partitions in order, once, and sets aside what cannot be delivered.

use crate::api::query;
use crate::shared::Shared;
use crate::{Error, binding};
use onward_core::record::{Message, Record};
use onward_core::{Bury, Deliver, Forget, Key, PartitionId, Rejection, Span, codec, limits};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Pause before the delivery of a pair that failed is tried again.
const RETRY_AFTER: Span = Span(200);
/// The longest such pause; it doubles with every failure.
const RETRY_MAX: Span = Span::seconds(10);

/// The pairs of partitions being served, and how often each message has failed.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    /// Pairs being served; `true` when they were requested again meanwhile.
    busy: Mutex<BTreeMap<(PartitionId, PartitionId), bool>>,
    failures: Mutex<BTreeMap<Key, u32>>,
}

/// Requests the delivery of a pair's messages. One delivery runs for a pair at a time, so that they stay in order.
pub(crate) fn request(shared: &Arc<Shared>, from: PartitionId, to: PartitionId) {
    let mut busy = shared.delivery.busy.lock();
    if let Some(again) = busy.get_mut(&(from, to)) {
        *again = true;
        return;
    }
    busy.insert((from, to), false);
    drop(busy);
    let office = shared.clone();
    shared.jobs.spawn(async move {
        let serving = Serving { shared: office, pair: (from, to) };
        serve(&serving.shared, from, to).await;
    });
}

/// Frees a pair when its delivery ends, however it ends.
struct Serving {
    shared: Arc<Shared>,
    pair: (PartitionId, PartitionId),
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.shared.delivery.busy.lock().remove(&self.pair);
    }
}

/// Delivers until nothing is left, while this process is the home of the sending partition.
async fn serve(shared: &Arc<Shared>, from: PartitionId, to: PartitionId) {
    let mut pause = RETRY_AFTER;
    while !shared.is_stopping() && shared.is_home(from) {
        match deliver(shared, from, to).await {
            Ok(true) => pause = RETRY_AFTER,
            Ok(false) => {
                let mut busy = shared.delivery.busy.lock();
                match busy.get_mut(&(from, to)) {
                    Some(again) if *again => *again = false,
                    _ => {
                        busy.remove(&(from, to));
                        return;
                    }
                }
            }
            Err(error) => {
                tracing::warn!(%error, %from, %to, "messages could not be delivered; trying again");
                let rest = shared.clock.rest(pause);
                tokio::select! { biased; () = shared.stopped() => return, () = rest => {} }
                pause = Span((pause.0 * 2).min(RETRY_MAX.0));
            }
        }
    }
}

/// Delivers one group of messages and removes it; returns whether there may be more.
async fn deliver(shared: &Shared, from: PartitionId, to: PartitionId) -> Result<bool, Error> {
    let Some((first, next)) = range(shared, from, to).await? else { return Ok(false) };
    let through = next.min(first + limits::MESSAGES_MAX as u64);
    if first == through {
        return Ok(false);
    }
    let mut messages = Vec::new();
    let mut handled = through;
    for (seq, body, message) in load(shared, from, to, first..through).await? {
        match message {
            Some(message) => messages.push((seq, body, message)),
            None if failed_too_often(shared, &Key::Message(from, to, seq)) => bury(shared, from, to, seq, body).await?,
            None => {
                // Order is kept: nothing behind an unreadable message is delivered before its fate is known.
                handled = seq;
                break;
            }
        }
    }
    let ids = messages.iter().map(|(_, _, message)| message.id).collect();
    hand_over(shared, from, to, messages).await?;
    if handled > first {
        shared.call(from, Forget { to, through: handled - 1, ids }).await?;
    }
    if handled < through {
        return Err(Error::Internal(format!("message {handled} cannot be read")));
    }
    Ok(true)
}

/// Delivers a group; when that fails, one by one, to find the culprit.
async fn hand_over(
    shared: &Shared,
    from: PartitionId,
    to: PartitionId,
    messages: Vec<(u64, bytes::Bytes, Message)>,
) -> Result<(), Error> {
    if messages.is_empty() {
        return Ok(());
    }
    let count = messages.len() as u64;
    let all = messages.iter().map(|(_, _, message)| message.clone()).collect();
    match shared.call(to, Deliver { from, messages: all }).await {
        Ok(_) => {
            shared.metrics.messages_delivered.add(count);
            shared.delivered.notify_waiters();
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
            Err(Error::Internal(_) | Error::Refused(_)) if failed_too_often(shared, &Key::Message(from, to, seq)) => {
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

async fn bury(shared: &Shared, from: PartitionId, to: PartitionId, seq: u64, body: bytes::Bytes) -> Result<(), Error> {
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
        Some(_) => Err(Rejection::RecordUnreadable { key: key.to_string() }.into()),
    }
}

/// The messages of a range with their bytes; the message is `None` when it cannot be read.
async fn load(
    shared: &Shared,
    from: PartitionId,
    to: PartitionId,
    seqs: std::ops::Range<u64>,
) -> Result<Vec<(u64, bytes::Bytes, Option<Message>)>, Error> {
    let keys: Vec<(u64, Key)> = seqs.map(|seq| (seq, Key::Message(from, to, seq))).collect();
    let names: Vec<_> = keys.iter().map(|(_, key)| binding::store_key(key)).collect();
    let rows = shared.store.load(binding::partition(from), &names).await?;
    let stored = keys.iter().zip(rows).filter_map(|((seq, key), row)| {
        let row = row?;
        match codec::decode(key, &row.body) {
            Record::Message(message) => Some((*seq, row.body, Some(message))),
            _ => Some((*seq, row.body, None)),
        }
    });
    Ok(stored.collect())
}
