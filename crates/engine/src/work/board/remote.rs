//! Remote work: which queues may have work in partitions of other processes, and which waiters may take it.

use super::{Board, Inner, Match, QueueKey};
use crate::members::roster::Homes;
use crate::work::affinity::{Affinity, LaneName};
use crate::work::ready::{Position, ReadyQueue};
use crate::work::waiters::Wants;
use onward_core::{Lane, Namespace, PartitionId};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Board {
    /// The partitions from which a queue's work is taken first.
    pub(crate) fn near(&self, queue: &QueueKey) -> Homes {
        self.lock().affinity.of(&queue.namespace, &queue.lane).clone()
    }

    /// The lanes from which workers recently asked for work.
    pub(crate) fn worked(&self) -> Vec<LaneName> {
        let mut inner = self.lock();
        let Inner { worked, waiters, .. } = &mut *inner;
        worked.look(|(namespace, lane)| waiters.any(namespace, lane))
    }

    /// Sets how lanes are shared. After a change every queue is read again: its entries came from other partitions.
    pub(crate) fn set_affinity(&self, affinity: Affinity) {
        let mut inner = self.lock();
        if inner.affinity == affinity {
            return;
        }
        self.shares.store(affinity != Affinity::default(), Ordering::Relaxed);
        inner.affinity = affinity;
        inner.doubt_all(true);
        drop(inner);
        self.unserved.notify_one();
        self.remote_awaited.notify_one();
    }

    /// The partitions from which workers of this process take new work of a lane first, as long as they keep up with
    /// it; `None` when any partition will do.
    pub(crate) fn roomy(&self, namespace: &Namespace, lane: &Lane) -> Option<Arc<BTreeSet<PartitionId>>> {
        if !self.shares.load(Ordering::Relaxed) {
            return None;
        }
        let inner = self.lock();
        let Homes::Some(homes) = inner.affinity.of(namespace, lane) else { return None };
        let keeps_up = inner.lane_queues(namespace, lane).all(|(_, queue)| queue.is_short());
        (keeps_up && !homes.is_empty()).then(|| homes.clone())
    }

    /// Notes that another process made work ready; returns whether its queue is known.
    pub(crate) fn told(&self, index: &str, partition: PartitionId) -> bool {
        let mut inner = self.lock();
        let Some(key) = inner.names.get(index).cloned() else { return false };
        if inner.affinity.of(&key.namespace, &key.lane).contains(partition) {
            if let Some(queue) = inner.queues.get_mut(&key) {
                queue.doubt();
            }
        } else {
            inner.remote.insert(key);
            drop(inner);
            self.remote_awaited.notify_one();
        }
        true
    }

    /// The queues that a worker is parked on and that may have remote work.
    pub(crate) fn awaited_remote_queues(&self) -> Vec<QueueKey> {
        let inner = self.lock();
        let awaited = |key: &&QueueKey| inner.waiters.any(&key.namespace, &key.lane) && !inner.is_stalled(key);
        inner.remote.iter().filter(awaited).cloned().collect()
    }

    /// The queues that a worker could take remote work from, if there is any.
    pub(crate) fn remote_for(&self, wants: &Wants) -> Vec<QueueKey> {
        let inner = self.lock();
        let fits = |key: &&QueueKey| {
            key.namespace == wants.namespace
                && wants.lanes.contains(&key.lane)
                && key.class.missing_from(&wants.capabilities).is_empty()
                && !inner.is_stalled(key)
        };
        inner.remote.iter().filter(fits).cloned().collect()
    }

    /// The queues with local work, its first position, and perhaps older remote work.
    pub(crate) fn perhaps_overtaken(&self) -> Vec<(QueueKey, Position)> {
        let inner = self.lock();
        let first = |key: &QueueKey| Some((key.clone(), inner.queues.get(key)?.best()?));
        inner.remote.iter().filter_map(first).collect()
    }

    /// Unmarks a queue before its remote work is read, so that every later notification counts.
    pub(crate) fn forget_remote(&self, key: &QueueKey) {
        self.lock().remote.remove(key);
    }

    /// Marks a queue that has remote work.
    pub(crate) fn note_remote(&self, key: &QueueKey) {
        let mut inner = self.lock();
        inner.remote.insert(key.clone());
        if inner.waiters.any(&key.namespace, &key.lane) {
            self.remote_awaited.notify_one();
        }
    }

    /// Matches remote work with waiters.
    pub(crate) fn match_remote(&self, key: &QueueKey, places: Vec<Position>) -> Vec<Match> {
        let mut inner = self.lock();
        let matched = |place| {
            let waiter = inner.waiters.take(&key.namespace, &key.lane, &key.class)?;
            Some(Match { waiter, origin: (key.clone(), place) })
        };
        places.into_iter().map_while(matched).collect()
    }

    /// Adds remote work to the local queue.
    pub(crate) fn adopt(&self, key: &QueueKey, places: Vec<Position>) {
        if let Some(queue) = self.lock().queues.get_mut(key) {
            places.into_iter().for_each(|place| queue.add(place));
        }
    }
}

impl Inner {
    pub(super) fn is_near(&self, key: &QueueKey, place: &Position) -> bool {
        self.affinity.of(&key.namespace, &key.lane).contains(place.1.partition())
    }

    fn is_stalled(&self, key: &QueueKey) -> bool {
        self.queues.get(key).is_some_and(ReadyQueue::is_stalled)
    }

    /// Marks every queue, local and remote, to be read again when it is used up.
    pub(super) fn doubt_all(&mut self, forget: bool) {
        for (key, queue) in &mut self.queues {
            if forget {
                queue.reset();
            }
            queue.doubt();
            if *self.affinity.of(&key.namespace, &key.lane) != Homes::Everywhere {
                self.remote.insert(key.clone());
            }
        }
    }
}
