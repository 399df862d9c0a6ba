//! The board matches ready work with waiting workers; one lock, held only briefly, guards both.
//!
//! Finding work and parking are one step under the lock, and so are announcing work and finding a waiter. Therefore no
//! work becomes ready between a worker's search and its parking without one of the two noticing.

mod refill;
mod remote;

use crate::partition::task::SealedReply;
use crate::work::affinity::{Affinity, Worked};
use crate::work::ready::{Position, ReadyQueue};
use crate::work::waiters::{Waiter, WaiterId, Waiters, Wants};
use onward_core::record::Execution;
use onward_core::{Class, Lane, Namespace, index};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::{Notify, oneshot};

/// Identifies a ready queue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueKey {
    pub(crate) namespace: Namespace,
    pub(crate) lane: Lane,
    pub(crate) class: Class,
}

impl QueueKey {
    pub(crate) fn of(execution: &Execution) -> Self {
        Self { namespace: execution.namespace.clone(), lane: execution.lane.clone(), class: execution.requires.clone() }
    }

    pub(crate) fn index(&self) -> onward_store::IndexName {
        onward_store::IndexName::new(index::ready(&self.namespace, &self.lane, &self.class.name()))
    }
}

/// The result of a worker's query to the board.
#[derive(Debug)]
pub(crate) enum Look {
    /// These may be ready; the claim finds out.
    Found(Vec<Origin>),
    /// The store must be read for this queue first, after this position.
    Refill(QueueKey, Option<Position>),
    /// Nothing is ready; the worker is parked.
    Parked(WaiterId, oneshot::Receiver<SealedReply>),
    /// Another call is reading the store for a queue; query again when a read ends.
    Reading,
    /// Nothing is ready, and the worker does not wait or the board is closed.
    Nothing,
}

/// Queue and position of an entry on the board.
pub(crate) type Origin = (QueueKey, Position);

/// How a commit moved one execution: the position that it left, and the one that it took.
#[derive(Debug)]
pub(crate) struct Move {
    pub(crate) from: Option<Origin>,
    pub(crate) to: Option<Origin>,
}

/// Ready work for a waiter, still to be claimed.
#[derive(Debug)]
pub(crate) struct Match {
    pub(crate) waiter: Waiter,
    pub(crate) origin: Origin,
}

/// The result of putting a waiter back.
#[derive(Debug)]
pub(crate) enum PutBack {
    /// Other work in memory matches it.
    Matched(Box<Match>),
    /// It is parked again.
    Parked,
    /// It is parked again, and the store may hold work for it that memory does not know.
    ParkedUnsure,
    /// Its call has ended, or the board is closed.
    Gone,
}

/// Ready queues and waiters.
#[derive(Debug, Default)]
pub(crate) struct Board {
    inner: Mutex<Inner>,
    /// Notified when a waiter may have missed work: a lane changed, a read was abandoned, a claim found nothing.
    pub(crate) unserved: Arc<Notify>,
    /// Notified when a read of the store has ended.
    pub(crate) read: Notify,
    /// Whether any lane is shared with other processes; a process that shares none takes no lock to find out.
    shares: AtomicBool,
    /// Notified when a worker is parked and there may be work in partitions of other processes.
    pub(crate) remote_awaited: Notify,
    /// How often lanes changed, as far as this process knows; written under the lock.
    lane_news: AtomicU64,
}

#[derive(Debug, Default)]
struct Inner {
    /// Ready work in the partitions from which this process takes work first.
    queues: BTreeMap<QueueKey, ReadyQueue>,
    /// Queues by the name of their index.
    names: BTreeMap<String, QueueKey>,
    /// Queues that may have work in partitions of other processes.
    remote: BTreeSet<QueueKey>,
    affinity: Affinity,
    worked: Worked,
    waiters: Waiters,
    closed: bool,
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Makes a queue known; its entries are read when a worker asks for them.
    pub(crate) fn register(&self, key: QueueKey) {
        self.lock().queue(key);
    }

    /// Takes the best ready work that a worker can run, or parks the worker.
    pub(crate) fn look(&self, wants: &Wants, park: bool) -> Look {
        let mut inner = self.lock();
        wants.lanes.iter().for_each(|lane| inner.worked.note(&wants.namespace, lane));
        let mut found = Vec::new();
        while found.len() < wants.max {
            let (queue, place) = match inner.best(wants) {
                Best::At(queue, place) => (queue, place),
                Best::Unknown(queue) if found.is_empty() => {
                    let after = inner.queues.get_mut(&queue).and_then(ReadyQueue::begin_refill);
                    return Look::Refill(queue, after);
                }
                Best::Unknown(_) | Best::None => break,
            };
            if let Some(entries) = inner.queues.get_mut(&queue) {
                entries.take(&place);
            }
            found.push((queue, place));
        }
        if !found.is_empty() {
            return Look::Found(found);
        }
        if !park || inner.closed {
            return if inner.is_being_read(wants) && !inner.closed { Look::Reading } else { Look::Nothing };
        }
        let (id, receiver) = inner.waiters.park(wants.clone());
        if !inner.remote.is_empty() {
            self.remote_awaited.notify_one();
        }
        Look::Parked(id, receiver)
    }

    /// Removes a waiter whose call has ended.
    pub(crate) fn unpark(&self, id: WaiterId) {
        self.lock().waiters.remove(id);
    }

    /// Takes a waiter that can run this execution, for a hand-off in the commit that makes it ready.
    pub(crate) fn waiter_for(&self, execution: &Execution) -> Option<Waiter> {
        let mut inner = self.lock();
        let stalled = inner.queues.get(&QueueKey::of(execution)).is_some_and(ReadyQueue::is_stalled);
        if stalled { None } else { inner.waiters.take(&execution.namespace, &execution.lane, &execution.requires) }
    }

    /// Puts back a waiter whose work was gone, ahead of later ones, unless other work in memory matches it.
    pub(crate) fn put_back(&self, waiter: Waiter) -> PutBack {
        let mut inner = self.lock();
        if inner.closed || waiter.answer.is_closed() {
            return PutBack::Gone;
        }
        match inner.best(&waiter.wants) {
            Best::At(queue, place) => {
                if let Some(entries) = inner.queues.get_mut(&queue) {
                    entries.take(&place);
                }
                PutBack::Matched(Box::new(Match { waiter, origin: (queue, place) }))
            }
            Best::Unknown(_) => {
                inner.waiters.put_back(waiter);
                PutBack::ParkedUnsure
            }
            Best::None => {
                inner.waiters.put_back(waiter);
                PutBack::Parked
            }
        }
    }

    /// Parks a waiter again, without matching it with other work.
    pub(crate) fn park(&self, waiter: Waiter) {
        let mut inner = self.lock();
        if !inner.closed {
            inner.waiters.put_back(waiter);
        }
    }

    /// Puts back work that was taken from the board when its claim failed for an unrelated reason.
    pub(crate) fn restore(&self, (key, place): Origin) {
        let mut inner = self.lock();
        if inner.is_near(&key, &place) {
            inner.queue(key).add(place);
        } else {
            inner.remote.insert(key);
        }
    }

    /// Applies the moves of a commit: work that became ready goes to a waiter, or into its queue.
    pub(crate) fn rearrange(&self, moves: Vec<Move>) -> Vec<Match> {
        let mut matches = Vec::new();
        if moves.is_empty() {
            return matches;
        }
        let mut inner = self.lock();
        let mut ready: Vec<Origin> = Vec::with_capacity(moves.len());
        for Move { from, to } in moves {
            if let Some((key, place)) = from
                && let Some(queue) = inner.queues.get_mut(&key)
            {
                queue.take(&place);
            }
            ready.extend(to);
        }
        // Who came first is served first, also when there are fewer workers than work.
        ready.sort_by_key(|(_, place)| *place);
        for (key, place) in ready {
            matches.extend(inner.announce(key, place));
        }
        if !inner.remote.is_empty() && !inner.waiters.is_empty() {
            self.remote_awaited.notify_one();
        }
        matches
    }

    /// Whether any worker is parked here.
    pub(crate) fn anybody_waits(&self) -> bool {
        !self.lock().waiters.is_empty()
    }

    /// How often lanes have changed so far. A batch keeps this number and passes it to [`Self::stall_lane`].
    pub(crate) fn lane_news(&self) -> u64 {
        self.lane_news.load(Ordering::Acquire)
    }

    /// Stalls a lane's queues until the lane changes or the next sweep: a batch that was applied at `lane_news` had its
    /// claims refused. Does nothing if a lane has changed since then, because the refusal may be older than the change:
    /// its outcome may arrive after the notification from another process.
    pub(crate) fn stall_lane(&self, namespace: &Namespace, lane: &Lane, lane_news: u64) {
        let mut inner = self.lock();
        if self.lane_news() == lane_news {
            inner.each_of_lane(namespace, lane, ReadyQueue::stall);
        }
    }

    /// Drops what is known of a lane, because its settings changed.
    pub(crate) fn reset_lane(&self, namespace: &Namespace, lane: &Lane) {
        let mut inner = self.lock();
        self.lane_news.fetch_add(1, Ordering::AcqRel);
        inner.each_of_lane(namespace, lane, ReadyQueue::reset);
    }

    /// Marks every queue to be read again when it is used up: another process may have added work or changed a lane.
    /// `forget` drops what memory holds, which also repairs its order.
    pub(crate) fn doubt_all(&self, forget: bool) {
        let mut inner = self.lock();
        self.lane_news.fetch_add(1, Ordering::AcqRel);
        inner.doubt_all(forget);
        if !inner.remote.is_empty() {
            self.remote_awaited.notify_one();
        }
    }

    /// Closes the board and ends all waiting.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        inner.waiters.clear();
        self.read.notify_waiters();
    }
}

/// The best work for a worker, as far as memory knows.
enum Best {
    At(QueueKey, Position),
    Unknown(QueueKey),
    None,
}

impl Inner {
    fn announce(&mut self, key: QueueKey, place: Position) -> Option<Match> {
        if !self.is_near(&key, &place) {
            self.queue(key.clone());
            self.remote.insert(key);
            return None;
        }
        let stalled = self.queues.get(&key).is_some_and(ReadyQueue::is_stalled);
        if !stalled && let Some(waiter) = self.waiters.take(&key.namespace, &key.lane, &key.class) {
            return Some(Match { waiter, origin: (key, place) });
        }
        self.queue(key).add(place);
        None
    }

    /// Returns a queue, and makes it known if it is not.
    fn queue(&mut self, key: QueueKey) -> &mut ReadyQueue {
        let names = &mut self.names;
        self.queues.entry(key).or_insert_with_key(|key| {
            names.insert(key.index().as_str().to_owned(), key.clone());
            ReadyQueue::new()
        })
    }

    /// The best entry over the worker's lanes and classes.
    fn best(&self, wants: &Wants) -> Best {
        let mut best: Option<(&QueueKey, Position)> = None;
        for lane in &wants.lanes {
            for (key, queue) in self.lane_queues(&wants.namespace, lane) {
                if !key.class.missing_from(&wants.capabilities).is_empty() {
                    continue;
                }
                if queue.wants_refill() {
                    return Best::Unknown(key.clone());
                }
                let Some(place) = queue.best() else { continue };
                if best.as_ref().is_none_or(|(_, found)| place.0 < found.0) {
                    best = Some((key, place));
                }
            }
        }
        best.map_or(Best::None, |(key, place)| Best::At(key.clone(), place))
    }

    fn each_of_lane(&mut self, namespace: &Namespace, lane: &Lane, act: impl Fn(&mut ReadyQueue)) {
        let of_lane = |key: &QueueKey| key.namespace == *namespace && key.lane == *lane;
        let queues = self.queues.range_mut(first_of(namespace, lane)..);
        queues.take_while(|(key, _)| of_lane(key)).for_each(|(_, queue)| act(queue));
    }

    /// Whether the store is being read for work that a worker could run.
    fn is_being_read(&self, wants: &Wants) -> bool {
        let runs = |key: &QueueKey| key.class.missing_from(&wants.capabilities).is_empty();
        let mut queues = wants.lanes.iter().flat_map(|lane| self.lane_queues(&wants.namespace, lane));
        queues.any(|(key, queue)| queue.is_refilling() && runs(key))
    }

    fn lane_queues<'a>(
        &'a self,
        namespace: &'a Namespace,
        lane: &'a Lane,
    ) -> impl Iterator<Item = (&'a QueueKey, &'a ReadyQueue)> {
        let first = first_of(namespace, lane);
        self.queues.range(first..).take_while(move |(key, _)| key.namespace == *namespace && key.lane == *lane)
    }
}

/// The first key that a queue of a lane can have.
fn first_of(namespace: &Namespace, lane: &Lane) -> QueueKey {
    QueueKey { namespace: namespace.clone(), lane: lane.clone(), class: Class::default() }
}
