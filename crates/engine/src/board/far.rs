//! Work in partitions of other processes: whether there may be some, and who may have it.

use super::{Board, Inner, Match, QueueKey};
use crate::nearby::{LaneName, Nearby};
use crate::ready::{Place, ReadyQueue};
use crate::roster::Homes;
use crate::waiters::Wants;
use onward_core::{Lane, Namespace, PartitionId};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Board {
    /// The partitions from which a queue's work is taken first.
    pub(crate) fn near(&self, queue: &QueueKey) -> Homes {
        self.lock().nearby.of(&queue.namespace, &queue.lane).clone()
    }

    /// The lanes from which workers have asked for work lately.
    pub(crate) fn worked(&self) -> Vec<LaneName> {
        let mut inner = self.lock();
        let Inner { worked, waiters, .. } = &mut *inner;
        worked.look(|(namespace, lane)| waiters.any(namespace, lane))
    }

    /// Lanes are shared in another way now: what is known of their queues was read from other partitions.
    pub(crate) fn set_nearby(&self, nearby: Nearby) {
        let mut inner = self.lock();
        if inner.nearby == nearby {
            return;
        }
        self.shares.store(nearby != Nearby::default(), Ordering::Relaxed);
        inner.nearby = nearby;
        inner.doubt_all(true);
        drop(inner);
        self.unserved.notify_one();
        self.hungry.notify_one();
    }

    /// The partitions where new work of a lane is at hand for workers of this process, as long as they keep up with it;
    /// nothing when it may as well be anywhere.
    pub(crate) fn roomy(&self, namespace: &Namespace, lane: &Lane) -> Option<Arc<BTreeSet<PartitionId>>> {
        if !self.shares.load(Ordering::Relaxed) {
            return None;
        }
        let inner = self.lock();
        let Homes::Some(homes) = inner.nearby.of(namespace, lane) else { return None };
        let keeps_up = inner.lane_queues(namespace, lane).all(|(_, queue)| queue.is_short());
        (keeps_up && !homes.is_empty()).then(|| homes.clone())
    }

    /// Another process made work ready; the answer is whether its queue is known.
    pub(crate) fn told(&self, index: &str, partition: PartitionId) -> bool {
        let mut inner = self.lock();
        let Some(key) = inner.names.get(index).cloned() else { return false };
        if inner.nearby.of(&key.namespace, &key.lane).contains(partition) {
            if let Some(queue) = inner.queues.get_mut(&key) {
                queue.doubt();
            }
        } else {
            inner.far.insert(key);
            drop(inner);
            self.hungry.notify_one();
        }
        true
    }

    /// The queues that somebody waits for and of which there may be work elsewhere.
    pub(crate) fn hungry_queues(&self) -> Vec<QueueKey> {
        let inner = self.lock();
        let awaited = |key: &&QueueKey| inner.waiters.any(&key.namespace, &key.lane) && !inner.is_stalled(key);
        inner.far.iter().filter(awaited).cloned().collect()
    }

    /// The queues that a worker could take work from if there is some elsewhere.
    pub(crate) fn far_for(&self, wants: &Wants) -> Vec<QueueKey> {
        let inner = self.lock();
        let fits = |key: &&QueueKey| {
            key.namespace == wants.namespace
                && wants.lanes.contains(&key.lane)
                && key.class.missing_from(&wants.capabilities).is_empty()
                && !inner.is_stalled(key)
        };
        inner.far.iter().filter(fits).cloned().collect()
    }

    /// The queues with work near, the first of it, and perhaps with older work elsewhere.
    pub(crate) fn perhaps_overtaken(&self) -> Vec<(QueueKey, Place)> {
        let inner = self.lock();
        let first = |key: &QueueKey| Some((key.clone(), inner.queues.get(key)?.best()?));
        inner.far.iter().filter_map(first).collect()
    }

    /// Somebody reads what is elsewhere; whatever is told from now on is news.
    pub(crate) fn forget_far(&self, key: &QueueKey) {
        self.lock().far.remove(key);
    }

    /// There is work elsewhere that nobody has taken yet.
    pub(crate) fn note_far(&self, key: &QueueKey) {
        let mut inner = self.lock();
        inner.far.insert(key.clone());
        if inner.waiters.any(&key.namespace, &key.lane) {
            self.hungry.notify_one();
        }
    }

    /// Gives work from elsewhere to those who wait for it.
    pub(crate) fn match_far(&self, key: &QueueKey, places: Vec<Place>) -> Vec<Match> {
        let mut inner = self.lock();
        let matched = |place| {
            let waiter = inner.waiters.take(&key.namespace, &key.lane, &key.class)?;
            Some(Match { waiter, origin: (key.clone(), place) })
        };
        places.into_iter().map_while(matched).collect()
    }

    /// Queues work from elsewhere among what is near.
    pub(crate) fn adopt(&self, key: &QueueKey, places: Vec<Place>) {
        if let Some(queue) = self.lock().queues.get_mut(key) {
            places.into_iter().for_each(|place| queue.add(place));
        }
    }
}

impl Inner {
    pub(super) fn is_near(&self, key: &QueueKey, place: &Place) -> bool {
        self.nearby.of(&key.namespace, &key.lane).contains(place.1.partition())
    }

    fn is_stalled(&self, key: &QueueKey) -> bool {
        self.queues.get(key).is_some_and(ReadyQueue::is_stalled)
    }

    /// Every queue is read again when it is used up, near and far.
    pub(super) fn doubt_all(&mut self, forget: bool) {
        for (key, queue) in &mut self.queues {
            if forget {
                queue.reset();
            }
            queue.doubt();
            if *self.nearby.of(&key.namespace, &key.lane) != Homes::Everywhere {
                self.far.insert(key.clone());
            }
        }
    }
}
