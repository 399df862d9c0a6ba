//! Refills queues from the store: which calls read, after which positions, and which waiters get the entries.

use super::{Board, Inner, Match, Origin, QueueKey, REFILL_MAX, Refill};
use crate::work::ready::{Position, ReadyQueue};

/// A page of a queue as it was read, and whether there is more behind it.
pub(crate) type QueuePage = (QueueKey, Vec<Position>, bool);

impl Board {
    /// Takes in pages of queues and matches them with waiters. Answers what to read on, if waiters need more.
    pub(crate) fn refilled(&self, pages: Vec<QueuePage>) -> (Vec<Match>, Vec<Refill>) {
        let mut inner = self.lock();
        let mut keys = Vec::with_capacity(pages.len());
        for (key, page, more) in pages {
            inner.change(&key, |queue| queue.end_refill(page, more));
            keys.push(key);
        }
        self.read.notify_waiters();
        let matches = inner.serve(&keys);
        let again = keys.into_iter().filter_map(|key| {
            let more = inner.queue(&key).is_some_and(ReadyQueue::wants_refill) && inner.waiters.any(&key);
            let after = more.then(|| inner.change(&key, ReadyQueue::begin_refill))??;
            Some((key, after))
        });
        let again = again.collect();
        (matches, again)
    }

    /// Ends a read of queues that failed or was dropped.
    pub(crate) fn abandon_refill(&self, keys: &[QueueKey]) {
        let mut inner = self.lock();
        for key in keys {
            inner.change(key, ReadyQueue::fail_refill);
        }
        self.read.notify_waiters();
    }

    /// Begins to read the queues that a worker is parked on and that memory does not know.
    pub(crate) fn begin_awaited(&self) -> Vec<Refill> {
        let mut inner = self.lock();
        let unknown = inner.awaited().filter(|key| inner.queue(key).is_some_and(ReadyQueue::wants_refill));
        let unknown: Vec<QueueKey> = unknown.take(REFILL_MAX).collect();
        let begin = |key: QueueKey| inner.change(&key, ReadyQueue::begin_refill).map(|after| (key, after));
        unknown.into_iter().filter_map(begin).collect()
    }

    /// Matches waiters with known work that an error had kept apart.
    pub(crate) fn match_waiting(&self) -> Vec<Match> {
        let mut inner = self.lock();
        let awaited: Vec<QueueKey> = inner.awaited().collect();
        inner.serve(&awaited)
    }
}

impl Inner {
    /// The queues that a worker is parked on.
    fn awaited(&self) -> impl Iterator<Item = QueueKey> {
        self.waiters.lanes().filter_map(|lane| Some((lane, self.lanes.get(lane)?))).flat_map(|(lane, board)| {
            board.names().map(|name| QueueKey::new(lane, name)).filter(|key| self.waiters.any(key))
        })
    }

    /// Gives the work of these queues to waiters, the best first.
    fn serve(&mut self, keys: &[QueueKey]) -> Vec<Match> {
        let waiting = self.waiters.len();
        let first = |key: &QueueKey| {
            let places = self.queue(key).map(|queue| queue.first(waiting)).unwrap_or_default();
            places.into_iter().map(|place| (key.clone(), place)).collect::<Vec<Origin>>()
        };
        let mut ready: Vec<Origin> = if waiting == 0 { Vec::new() } else { keys.iter().flat_map(first).collect() };
        ready.sort_by_key(|(_, place)| *place);
        let mut matches = Vec::new();
        for (key, place) in ready {
            if let Some(waiter) = self.waiters.take(&key) {
                self.change(&key, |queue| queue.take(&place));
                matches.push(Match { waiter, origin: (key, place) });
            }
        }
        matches
    }
}
