//! What this process remembers of each pair of partitions whose messages it delivers: a bounded hint.
//!
//! Messages that a commit here has just written are delivered from memory, and those that were delivered are removed a
//! little later, together with others. Whatever is not certain makes the task of the pair read the store.

use onward_core::record::{Message, Record};
use onward_core::{Key, MessageId, Millis, PartitionId, Span, limits};
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tokio::sync::Notify;

/// How long delivered messages stay stored at most, unless a commit comes by that removes them along the way. Shorter
/// than a second, so that a process that takes over rarely finds any.
const FORGET_AFTER: Span = Span(500);
/// Delivered messages of one pair from which on they are removed without a pause.
const FORGET_AT: usize = limits::MESSAGES_MAX / 2;
/// Messages of all pairs kept in memory for delivery; further ones are read from the store.
const HELD_MAX: usize = 4_096;

/// The sender and the receiver.
pub(crate) type PairId = (PartitionId, PartitionId);

/// A message with its sequence, as a commit wrote it.
pub(crate) type Written = (u64, Arc<Record>);

/// Messages by sequence and id.
pub(crate) type Ids = Vec<(u64, MessageId)>;

/// The pairs being served, each by one task, so that its messages stay in order.
#[derive(Debug, Default)]
pub(crate) struct Pairs(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    pairs: BTreeMap<PairId, Pair>,
    /// Messages in memory, over all pairs.
    held: usize,
}

#[derive(Debug, Default)]
struct Pair {
    /// Wakes the task of the pair.
    more: Arc<Notify>,
    /// Messages may be stored that are not in memory.
    unread: bool,
    /// Messages to deliver, in order and without a gap, and none is stored before them that is not delivered.
    ready: VecDeque<Written>,
    /// The sequence behind all that is delivered or ready; `None` when there may be others before it.
    next: Option<u64>,
    /// Delivered and not removed yet, in order.
    delivered: Ids,
    /// When the first of them was delivered, by the local clock.
    since: Millis,
    /// They are to be removed now.
    flush: bool,
    /// How many are being removed.
    removing: usize,
}

/// What the task of a pair does next.
#[derive(Debug)]
pub(crate) enum Step {
    /// Read the store and deliver what is there; these are delivered already.
    Read(Ids),
    /// Deliver these.
    Deliver(Vec<(u64, Message)>),
    /// Remove these, which are delivered, and say so at the end; there may be more to do meanwhile.
    Forget(Ids),
    /// Wait for this time, or until there is more to do.
    Wait(Millis, Arc<Notify>),
    /// Nothing is left to do, and the pair is free for another task.
    End,
}

impl Pairs {
    /// The due time of a message came: it is removed if it was delivered, and otherwise it is read with all around it.
    /// Returns the task of the pair if it has none yet.
    pub(crate) fn fired(self: &Arc<Self>, pair: PairId, seq: u64) -> Option<Serving> {
        self.change(pair, |known, _| {
            if known.delivered.iter().any(|(delivered, _)| *delivered == seq) {
                known.flush = true;
            } else if !known.ready.iter().any(|(ready, _)| *ready == seq) {
                known.unread = true;
            }
        })
    }

    /// A commit here wrote messages: neighbours, in order. `oldest` is the first that was stored after it.
    pub(crate) fn sent(self: &Arc<Self>, pair: PairId, oldest: Option<u64>, messages: Vec<Written>) -> Option<Serving> {
        let (Some((first, _)), Some((last, _))) = (messages.first(), messages.last()) else { return None };
        let (first, next) = (*first, last.saturating_add(1));
        self.change(pair, |known, held| {
            let follows = known.next == Some(first) || (known.ready.is_empty() && oldest == Some(first));
            if !follows || *held + messages.len() > HELD_MAX {
                known.unread = true;
            }
            // What is read later is found in the store.
            if !known.unread {
                *held += messages.len();
                known.ready.extend(messages);
                known.next = Some(next);
            }
        })
    }

    /// A command is about to be sent to the sender's partition: what was delivered is removed in the same commit.
    pub(crate) fn flush(&self, pair: PairId) {
        let mut inner = self.0.lock();
        if let Some(known) = inner.pairs.get_mut(&pair) {
            known.flush();
        }
    }

    /// The same for all that one partition has sent.
    pub(crate) fn flush_from(&self, from: PartitionId) {
        let mut inner = self.0.lock();
        let of_sender = (from, PartitionId(0))..=(from, PartitionId(u16::MAX));
        inner.pairs.range_mut(of_sender).for_each(|(_, known)| known.flush());
    }

    /// Changes what is known of a pair, and wakes its task or returns the mark for a new one.
    fn change(self: &Arc<Self>, pair: PairId, change: impl FnOnce(&mut Pair, &mut usize)) -> Option<Serving> {
        let mut inner = self.0.lock();
        let Inner { pairs, held } = &mut *inner;
        let is_new = !pairs.contains_key(&pair);
        let known = pairs.entry(pair).or_default();
        change(known, held);
        known.more.notify_one();
        is_new.then(|| Serving { pairs: self.clone(), pair, is_over: false })
    }
}

impl Pair {
    fn flush(&mut self) {
        if !self.delivered.is_empty() {
            self.flush = true;
            self.more.notify_one();
        }
    }

    fn step(&mut self, held: &mut usize, now: Millis) -> Step {
        if std::mem::take(&mut self.unread) {
            *held -= self.ready.len();
            self.ready.clear();
            (self.next, self.flush) = (None, false);
            return Step::Read(std::mem::take(&mut self.delivered));
        }
        let room = limits::MESSAGES_MAX.saturating_sub(self.delivered.len() + self.removing);
        let count = self.ready.len().min(limits::MESSAGES_MAX);
        if count > 0 && count <= room {
            return Step::Deliver(self.ready.iter().take(count).filter_map(readable).collect());
        }
        if self.delivered.is_empty() && self.removing == 0 {
            return Step::End;
        }
        let until = if self.delivered.is_empty() { now + limits::FUTURE_MAX } else { self.since + FORGET_AFTER };
        let is_crowded = count > 0 || self.delivered.len() >= FORGET_AT || self.flush;
        if self.delivered.is_empty() || (!is_crowded && now < until) {
            return Step::Wait(until, self.more.clone());
        }
        self.flush = false;
        self.removing += self.delivered.len();
        Step::Forget(std::mem::take(&mut self.delivered))
    }
}

fn readable((seq, record): &Written) -> Option<(u64, Message)> {
    match &**record {
        Record::Message(message) => Some((*seq, message.clone())),
        _ => None,
    }
}

/// The mark of a pair that a task serves. It frees the pair once, however the task ends.
#[derive(Debug)]
pub(crate) struct Serving {
    pairs: Arc<Pairs>,
    pub(crate) pair: PairId,
    is_over: bool,
}

impl Serving {
    /// What to do next. After [`Step::End`] the pair belongs to another task.
    pub(crate) fn step(&mut self, now: Millis) -> Step {
        let mut inner = self.pairs.0.lock();
        let Inner { pairs, held } = &mut *inner;
        let step = pairs.get_mut(&self.pair).map_or(Step::End, |known| known.step(held, now));
        if matches!(step, Step::End) {
            pairs.remove(&self.pair);
            self.is_over = true;
        }
        step
    }

    /// Something failed, so that what is in memory may be wrong.
    pub(crate) fn unread(&self) {
        self.with(|known, _| known.unread = true);
    }

    /// These were delivered.
    pub(crate) fn delivered(&self, ids: Ids, now: Millis) {
        let Some((last, _)) = ids.last().copied() else { return };
        self.with(|known, held| {
            while known.ready.front().is_some_and(|(seq, _)| *seq <= last) {
                known.ready.pop_front();
                *held -= 1;
            }
            if known.delivered.is_empty() {
                known.since = now;
            }
            known.delivered.extend(ids);
        });
    }

    /// Notes that `count` messages were removed.
    pub(crate) fn removed(&self, count: usize) {
        self.with(|known, _| known.removing -= count);
    }

    /// Takes what is delivered and not removed.
    pub(crate) fn left(&self) -> Ids {
        let mut left = Ids::new();
        self.with(|known, _| left = std::mem::take(&mut known.delivered));
        left
    }

    /// Everything before a sequence was found in the store, delivered and removed.
    pub(crate) fn read_up_to(&self, next: u64) {
        self.with(|known, held| {
            while known.ready.front().is_some_and(|(seq, _)| *seq < next) {
                known.ready.pop_front();
                *held -= 1;
            }
            if known.ready.is_empty() {
                known.next = Some(next);
            }
        });
    }

    fn with(&self, change: impl FnOnce(&mut Pair, &mut usize)) {
        let mut inner = self.pairs.0.lock();
        let Inner { pairs, held } = &mut *inner;
        if let Some(known) = pairs.get_mut(&self.pair) {
            change(known, held);
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut inner = self.pairs.0.lock();
        if let Some(known) = inner.pairs.remove(&self.pair) {
            inner.held -= known.ready.len();
        }
    }
}

/// The key of a message of a pair.
pub(crate) fn key((from, to): PairId, seq: u64) -> Key {
    Key::Message(from, to, seq)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
