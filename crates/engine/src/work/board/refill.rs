//! Refills queues from the store: which call reads, after which position, and which waiters get the entries.

use super::{Board, Inner, Match, QueueKey};
use crate::work::ready::Position;

impl Board {
    /// Takes in a page of a queue and matches it with waiters. Returns the position after which to read on, if waiters
    /// need more.
    pub(crate) fn refilled(
        &self,
        key: &QueueKey,
        (page, more): (Vec<Position>, bool),
    ) -> (Vec<Match>, Option<Option<Position>>) {
        let mut inner = self.lock();
        let Inner { queues, waiters, .. } = &mut *inner;
        let Some(queue) = queues.get_mut(key) else { return (Vec::new(), None) };
        queue.end_refill(page, more);
        self.read.notify_waiters();
        let mut matches = Vec::new();
        while let Some(place) = queue.best() {
            let Some(waiter) = waiters.take(&key.namespace, &key.lane, &key.class) else { break };
            queue.take(&place);
            matches.push(Match { waiter, origin: (key.clone(), place) });
        }
        let again = queue.wants_refill() && waiters.any(&key.namespace, &key.lane);
        (matches, again.then(|| queue.begin_refill()))
    }

    /// Ends a read of a queue that failed or was dropped.
    pub(crate) fn abandon_refill(&self, key: &QueueKey) {
        if let Some(queue) = self.lock().queues.get_mut(key) {
            queue.fail_refill();
        }
        self.read.notify_waiters();
    }

    /// The queues that a worker is parked on.
    pub(crate) fn awaited(&self) -> Vec<QueueKey> {
        let inner = self.lock();
        inner.queues.keys().filter(|key| inner.waiters.any(&key.namespace, &key.lane)).cloned().collect()
    }

    /// Matches waiters with known work that an error had kept apart.
    pub(crate) fn match_waiting(&self) -> Vec<Match> {
        let mut inner = self.lock();
        let Inner { queues, waiters, .. } = &mut *inner;
        let mut matches = Vec::new();
        for (key, queue) in queues.iter_mut() {
            while let Some(place) = queue.best() {
                let Some(waiter) = waiters.take(&key.namespace, &key.lane, &key.class) else { break };
                queue.take(&place);
                matches.push(Match { waiter, origin: (key.clone(), place) });
            }
        }
        matches
    }

    /// Starts a read of a queue if memory is used up; returns the position after which to read.
    pub(crate) fn begin_refill(&self, key: &QueueKey) -> Option<Option<Position>> {
        let mut inner = self.lock();
        let queue = inner.queues.get_mut(key)?;
        queue.wants_refill().then(|| queue.begin_refill())
    }
}
