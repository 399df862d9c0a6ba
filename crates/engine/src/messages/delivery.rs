//! Delivers messages between partitions in order: from memory what a commit here has just written, everything else from
//! the store.

use crate::Error;
use crate::messages::pairs::{Ids, PairId, Pairs, Serving, Step, Written};
use crate::messages::stored;
use crate::partition::batch::Change;
use crate::shared::Shared;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use onward_core::record::{Message, Record};
use onward_core::{Deliver, Forget, Key, MessageId, PartitionId, Span};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Pause before the delivery of a pair that failed is tried again.
const RETRY_AFTER: Span = Span(200);
/// The longest such pause; it doubles with every failure.
const RETRY_MAX: Span = Span::seconds(10);

/// How many messages a removal was for, and whether they are gone.
type Removed = (usize, Result<(), Error>);

/// The removals of one pair that are on their way; a new one waits for those before it.
type Removals<'a> = FuturesUnordered<BoxFuture<'a, Removed>>;

/// The pairs of partitions being served, and how often each message has failed.
#[derive(Debug, Default)]
pub(crate) struct Delivery {
    pub(super) pairs: Arc<Pairs>,
    pub(super) failures: Mutex<BTreeMap<Key, u32>>,
}

impl Delivery {
    /// A command is about to be sent to a partition: what was delivered of its messages is removed in the same commit.
    pub(crate) fn remove_along(&self, from: PartitionId) {
        self.pairs.flush_from(from);
    }
}

/// Delivers a message whose due time came, and those before it.
pub(crate) fn due(shared: &Arc<Shared>, from: PartitionId, to: PartitionId, seq: u64) {
    start(shared, shared.delivery.pairs.fired((from, to), seq));
}

/// Delivers what a commit of this process wrote, while it is the home of the sender.
pub(crate) fn sent(shared: &Arc<Shared>, from: PartitionId, changes: &[Change]) {
    let written = changes.iter().filter_map(|change| match (&change.key, &change.before, &change.after) {
        (Key::Message(_, to, seq), None, Some(record)) => Some((*to, (*seq, record.clone()))),
        _ => None,
    });
    let mut groups: Vec<(PartitionId, Vec<Written>)> = Vec::new();
    for (to, message) in written {
        match groups.last_mut() {
            Some((last, group)) if *last == to => group.push(message),
            _ => groups.push((to, vec![message])),
        }
    }
    for (to, messages) in groups {
        let oldest = oldest(changes, &Key::Outbox(from, to));
        start(shared, shared.delivery.pairs.sent((from, to), oldest, messages));
    }
}

/// The first message that may be stored after a commit.
fn oldest(changes: &[Change], outbox: &Key) -> Option<u64> {
    // A batch lists its changes in the order of their keys.
    let at = changes.binary_search_by(|change| change.key.cmp(outbox)).ok()?;
    match changes[at].after.as_deref() {
        Some(Record::Outbox(outbox)) => Some(outbox.first),
        _ => None,
    }
}

fn start(shared: &Arc<Shared>, serving: Option<Serving>) {
    let Some(serving) = serving else { return };
    let own = shared.clone();
    shared.jobs.spawn(async move { serve(&own, serving).await });
}

/// Serves a pair until nothing is left to do, and removes what is left when the engine stops.
async fn serve(shared: &Shared, mut serving: Serving) {
    run(shared, &mut serving).await;
    let left = if shared.is_stopping() { serving.left() } else { Ids::new() };
    if let (_, Err(error)) = forget_all(shared, serving.pair, left).await {
        tracing::debug!(%error, "delivered messages were left; the next home removes them");
    }
}

/// Serves a pair until nothing is left to do, while this process is the home of the sending partition.
async fn run(shared: &Shared, serving: &mut Serving) {
    let (from, to) = serving.pair;
    let mut removals = Removals::new();
    let mut pause = RETRY_AFTER;
    while !shared.is_stopping() && shared.is_home(from) {
        let done = match serving.step(shared.clock.now()) {
            Step::End => return,
            Step::Wait(until, more) => {
                let time = shared.clock.sleep(until - shared.clock.now());
                tokio::select! {
                    biased;
                    () = shared.stopped() => return,
                    Some(removed) = removals.next(), if !removals.is_empty() => ended(serving, removed),
                    () = more.notified() => continue,
                    () = time => continue,
                }
            }
            Step::Read(delivered) => match settle(serving, &mut removals).await {
                Ok(()) => stored::deliver(shared, serving, &delivered).await,
                Err(error) => Err(error),
            },
            Step::Deliver(messages) => deliver(shared, serving, messages).await,
            Step::Forget(gone) => {
                let earlier = settle(serving, &mut removals).await;
                removals.push(Box::pin(forget_all(shared, serving.pair, gone)));
                // The first poll sends it, so that it is on its way while more is delivered.
                let removed = removals.next().now_or_never().flatten().map(|removed| ended(serving, removed));
                earlier.and(removed.unwrap_or(Ok(())))
            }
        };
        let Err(error) = done else {
            pause = RETRY_AFTER;
            continue;
        };
        serving.unread();
        tracing::warn!(%error, %from, %to, "messages could not be delivered; trying again");
        let rest = shared.clock.rest(pause);
        tokio::select! { biased; () = shared.stopped() => return, () = rest => {} }
        pause = Span((pause.0 * 2).min(RETRY_MAX.0));
    }
}

/// Waits for the removals that are on their way.
async fn settle(serving: &Serving, removals: &mut Removals<'_>) -> Result<(), Error> {
    let mut settled = Ok(());
    while let Some(removed) = removals.next().await {
        settled = settled.and(ended(serving, removed));
    }
    settled
}

fn ended(serving: &Serving, (count, removed): Removed) -> Result<(), Error> {
    serving.removed(count);
    removed
}

/// Delivers a group from memory.
async fn deliver(shared: &Shared, serving: &Serving, group: Vec<(u64, Message)>) -> Result<(), Error> {
    let (from, to) = serving.pair;
    let ids: Ids = group.iter().map(|(seq, message)| (*seq, message.id)).collect();
    let messages = group.into_iter().map(|(_, message)| message).collect();
    // Answers to these messages rewrite the sequence of the way back, so that removing what went there costs little now.
    shared.delivery.pairs.flush((to, from));
    shared.call(to, Deliver { from, messages }).await?;
    shared.metrics.messages_delivered.add(ids.len() as u64);
    serving.delivered(ids, shared.clock.now());
    Ok(())
}

/// Removes messages that were delivered from memory.
async fn forget_all(shared: &Shared, pair: PairId, gone: Ids) -> Removed {
    let count = gone.len();
    let Some((through, _)) = gone.last().copied() else { return (count, Ok(())) };
    (count, forget(shared, pair, through, gone.into_iter().map(|(_, id)| id).collect()).await)
}

/// Removes messages that were delivered, up to a sequence.
pub(super) async fn forget(
    shared: &Shared,
    (from, to): PairId,
    through: u64,
    ids: Vec<MessageId>,
) -> Result<(), Error> {
    shared.call(from, Forget { to, through, ids }).await
}
