//! Reading queues from the store for those who wait: who reads, behind which place, and who gets what was found.

use super::{Board, Inner, Match, QueueKey};
use crate::ready::Place;

impl Board {
    /// The store was read for a queue. Waiters get what was found; whoever still waits may want it read on, behind the
    /// returned place.
    pub(crate) fn refilled(
        &self,
        key: &QueueKey,
        (page, more): (Vec<Place>, bool),
    ) -> (Vec<Match>, Option<Option<Place>>) {
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

    /// Whoever was reading the store for a queue has failed or left.
    pub(crate) fn abandon_refill(&self, key: &QueueKey) {
        if let Some(queue) = self.lock().queues.get_mut(key) {
            queue.fail_refill();
        }
        self.read.notify_waiters();
    }

    /// The queues that somebody waits for.
    pub(crate) fn awaited(&self) -> Vec<QueueKey> {
        let inner = self.lock();
        inner.queues.keys().filter(|key| inner.waiters.any(&key.namespace, &key.lane)).cloned().collect()
    }

    /// Brings waiters and known work together that an error had kept apart.
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

    /// Starts reading the store for a queue if memory is used up; the answer is the place behind which to read.
    pub(crate) fn begin_refill(&self, key: &QueueKey) -> Option<Option<Place>> {
        let mut inner = self.lock();
        let queue = inner.queues.get_mut(key)?;
        queue.wants_refill().then(|| queue.begin_refill())
    }
}
