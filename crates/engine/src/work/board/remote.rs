//! Remote work: which queues may have work in partitions of other processes, and which waiters may take it.

use super::{Board, Inner, Match, Origin, QueueKey, Refill};
use crate::members::roster::Homes;
use crate::work::affinity::{Affinity, Served, includes};
use crate::work::ready::{Position, ReadyQueue};
use crate::work::waiters::Wants;
use onward_core::{Millis, NewExecution, PartitionId};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Board {
    /// The partitions from which a queue's work is taken first.
    pub(crate) fn near(&self, queue: &QueueKey) -> Homes {
        self.lock().affinity.of(queue).clone()
    }

    /// The partitions from which the work of each of these queues is taken first.
    pub(crate) fn all_near(&self, queues: Vec<Refill>) -> Vec<(Refill, Homes)> {
        let inner = self.lock();
        queues
            .into_iter()
            .map(|refill| {
                let near = inner.affinity.of(&refill.0).clone();
                (refill, near)
            })
            .collect()
    }

    /// Notes what the workers of other live processes ask for; `None` when other processes are not known.
    pub(crate) fn set_served_elsewhere(&self, served: Option<Vec<Served>>) {
        self.lock().elsewhere = served;
    }

    /// Which workers ask for the work of a queue.
    pub(crate) fn served(&self, queue: &QueueKey) -> onward_core::Served {
        let inner = self.lock();
        let lane = (queue.namespace.clone(), queue.lane.clone());
        let serves = |served: &Served| served.get(&lane).is_some_and(|kinds| includes(kinds, &queue.kind));
        match &inner.elsewhere {
            _ if inner.worked.serves(queue) => onward_core::Served::Yes,
            Some(others) if others.iter().any(serves) => onward_core::Served::Yes,
            Some(_) => onward_core::Served::No,
            None => onward_core::Served::NotHere,
        }
    }

    /// The lanes from which workers recently asked for work, and the kinds they asked for.
    pub(crate) fn worked(&self) -> Served {
        let mut inner = self.lock();
        let Inner { worked, waiters, .. } = &mut *inner;
        worked.look(|lane, kinds| waiters.waits(lane, kinds))
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
    pub(crate) fn roomy(&self, new: &NewExecution) -> Option<Arc<BTreeSet<PartitionId>>> {
        if !self.shares.load(Ordering::Relaxed) {
            return None;
        }
        let inner = self.lock();
        let lane = (new.namespace.clone(), new.lane.clone());
        let Homes::Some(homes) = inner.affinity.of_kind(&lane, &new.kind) else { return None };
        let keeps_up = inner.lanes.get(&lane).is_none_or(|board| board.is_short(&new.kind));
        (keeps_up && !homes.is_empty()).then(|| homes.clone())
    }

    /// Notes that another process made work ready; returns whether its queue is known.
    pub(crate) fn told(&self, index: &str, partition: PartitionId) -> bool {
        let mut inner = self.lock();
        let Some(key) = inner.names.get(index).cloned() else { return false };
        if inner.affinity.of(&key).contains(partition) {
            inner.change(&key, ReadyQueue::doubt);
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
        let awaited = |key: &&QueueKey| inner.waiters.any(key) && !inner.is_stalled(key);
        inner.remote.iter().filter(awaited).cloned().collect()
    }

    /// The queues that a worker could take remote work from, if there is any.
    pub(crate) fn remote_for(&self, wants: &Wants) -> Vec<QueueKey> {
        let inner = self.lock();
        let fits = |key: &&QueueKey| wants.takes(key) && !inner.is_stalled(key);
        inner.remote.iter().filter(fits).cloned().collect()
    }

    /// The queues with local work, its first position, and perhaps older remote work.
    pub(crate) fn perhaps_overtaken(&self) -> Vec<(QueueKey, Position)> {
        let inner = self.lock();
        let first = |key: &QueueKey| Some((key.clone(), inner.queue(key)?.best()?));
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
        if inner.waiters.any(key) {
            self.remote_awaited.notify_one();
        }
    }

    /// Takes in a page of remote work; returns what was left to its own process for long enough.
    pub(crate) fn look_remote(&self, key: &QueueKey, page: &[Position], now: Millis) -> Vec<Position> {
        self.lock().patience.look(key, page, now)
    }

    /// Matches remote work with waiters; the rest is left over for the next claims.
    pub(crate) fn match_remote(&self, key: &QueueKey, places: Vec<Position>, now: Millis) -> Vec<Match> {
        let mut inner = self.lock();
        let (mut places, mut matches) = (places.into_iter(), Vec::new());
        while !places.as_slice().is_empty()
            && let Some(waiter) = inner.waiters.take(key)
        {
            matches.extend(places.next().map(|place| Match { waiter, origin: (key.clone(), place) }));
        }
        inner.patience.leave(key, places, now);
        matches
    }

    /// Leaves remote work over for the next claims.
    pub(crate) fn leave_remote(&self, key: &QueueKey, places: Vec<Position>, now: Millis) {
        self.lock().patience.leave(key, places, now);
    }

    /// Notes that work was gone when it was claimed.
    pub(crate) fn was_gone(&self, (key, place): &Origin) {
        let mut inner = self.lock();
        if !inner.is_near(key, place) {
            inner.patience.clear(key);
        }
    }

    /// Adds remote work to the local queue.
    pub(crate) fn adopt(&self, key: &QueueKey, places: Vec<Position>) {
        self.lock().change(key, |queue| places.into_iter().for_each(|place| queue.add(place)));
    }
}

impl Inner {
    /// Takes what is left over of remote work that a worker asks for.
    pub(super) fn take_left(&mut self, wants: &Wants, now: Millis) -> Vec<Origin> {
        let Self { patience, lanes, .. } = self;
        let is_stalled = |key: &QueueKey| {
            let queue = lanes.get(&key.lane()).and_then(|board| board.get(&key.name()));
            queue.is_some_and(ReadyQueue::is_stalled)
        };
        patience.take(wants, now, is_stalled)
    }

    pub(super) fn is_near(&self, key: &QueueKey, place: &Position) -> bool {
        self.affinity.of(key).contains(place.1.partition())
    }

    /// Marks every queue, local and remote, to be read again when it is used up.
    pub(super) fn doubt_all(&mut self, forget: bool) {
        let Self { lanes, affinity, remote, .. } = self;
        for (lane, board) in lanes {
            board.change_all(|queue| {
                if forget {
                    queue.reset();
                }
                queue.doubt();
            });
            let shared = board.names().map(|name| QueueKey::new(lane, name));
            remote.extend(shared.filter(|key| *affinity.of(key) != Homes::Everywhere));
        }
    }
}
