//! The board matches ready work with waiting workers; one lock, held only briefly, guards both.
//!
//! Finding work and parking are one step under the lock, and so are announcing work and finding a waiter. Therefore no
//! work becomes ready between a worker's search and its parking without one of the two noticing.

mod lane;
mod refill;
mod remote;

pub(crate) use lane::QueueName;
pub(crate) use refill::QueuePage;

use crate::partition::task::SealedReply;
use crate::work::affinity::{Affinity, LaneName, Served, Worked};
use crate::work::board::lane::LaneBoard;
use crate::work::patience::Patience;
use crate::work::ready::{Position, ReadyQueue};
use crate::work::waiters::{Waiter, WaiterId, Waiters, Wants};
use onward_core::record::Execution;
use onward_core::{Class, Kind, Lane, Millis, Namespace, NewExecution, Rejection, index, limits};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::{Notify, oneshot};

/// Maximum queues that are read at once.
const REFILL_MAX: usize = 1_000;

/// Identifies a ready queue.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueKey {
    pub(crate) namespace: Namespace,
    pub(crate) lane: Lane,
    pub(crate) kind: Kind,
    pub(crate) class: Class,
}

impl QueueKey {
    pub(crate) fn of(execution: &Execution) -> Self {
        let (kind, class) = (execution.kind.clone(), execution.requires.clone());
        Self { namespace: execution.namespace.clone(), lane: execution.lane.clone(), kind, class }
    }

    fn new((namespace, lane): &LaneName, (kind, class): &QueueName) -> Self {
        Self { namespace: namespace.clone(), lane: lane.clone(), kind: kind.clone(), class: class.clone() }
    }

    pub(crate) fn index(&self) -> onward_store::IndexName {
        onward_store::IndexName::new(index::ready(&self.namespace, &self.lane, &self.class, &self.kind))
    }

    fn lane(&self) -> LaneName {
        (self.namespace.clone(), self.lane.clone())
    }

    pub(crate) fn name(&self) -> QueueName {
        (self.kind.clone(), self.class.clone())
    }
}

/// The result of a worker's query to the board.
#[derive(Debug)]
pub(crate) enum Look {
    /// These may be ready; the claim finds out.
    Found(Vec<Origin>),
    /// The store must be read for these queues first.
    Refill(Vec<Refill>),
    /// Nothing is ready; the worker is parked.
    Parked(WaiterId, oneshot::Receiver<SealedReply>),
    /// Another call is reading the store for a queue; query again when a read ends.
    Reading,
    /// Nothing is ready, and the worker does not wait or the board is closed.
    Nothing,
}

/// A queue for which the store is read, and the position after which.
pub(crate) type Refill = (QueueKey, Option<Position>);

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
    /// Whether any namespace ever had as many lanes as it may have, or a lane queues; before that, a submit takes no lock to
    /// find out.
    is_full: AtomicBool,
    /// How often lanes changed, as far as this process knows; written under the lock.
    lane_news: AtomicU64,
}

#[derive(Debug, Default)]
struct Inner {
    /// Ready work in the partitions from which this process takes work first.
    lanes: BTreeMap<LaneName, LaneBoard>,
    /// How many lanes each namespace has.
    counts: BTreeMap<Namespace, usize>,
    /// Queues by the name of their index.
    names: BTreeMap<String, QueueKey>,
    /// Queues that may have work in partitions of other processes.
    remote: BTreeSet<QueueKey>,
    /// What was seen there, and what is left over of it.
    patience: Patience,
    affinity: Affinity,
    worked: Worked,
    waiters: Waiters,
    /// What workers of other live processes ask for, as far as those are known.
    elsewhere: Option<Vec<Served>>,
    closed: bool,
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Makes a queue known; its entries are read when a worker asks for them.
    pub(crate) fn register(&self, key: &QueueKey) {
        self.lock().open(key, &self.is_full);
    }

    /// All queues that are known; those that are used from now on are not forgotten by [`Self::forget`].
    pub(crate) fn queues(&self) -> BTreeSet<QueueKey> {
        let mut inner = self.lock();
        inner.lanes.values_mut().for_each(LaneBoard::watch);
        inner.lanes.iter().flat_map(|(lane, board)| board.names().map(|name| QueueKey::new(lane, name))).collect()
    }

    /// The queues of a namespace that are known, or those of one of its lanes.
    pub(crate) fn queues_of(&self, namespace: &Namespace, lane: Option<&Lane>) -> Vec<QueueKey> {
        let inner = self.lock();
        let of = |name: &LaneName| name.0 == *namespace && lane.is_none_or(|lane| *lane == name.1);
        let lanes = inner.lanes.iter().filter(|(name, _)| of(name));
        lanes.flat_map(|(lane, board)| board.names().map(|name| QueueKey::new(lane, name))).collect()
    }

    /// The namespaces that have queues.
    pub(crate) fn namespaces(&self) -> BTreeSet<Namespace> {
        self.lock().counts.keys().cloned().collect()
    }

    /// Refuses a lane that would be one too many of its namespace, and a queue that would be one too many of its lane.
    pub(crate) fn admit(&self, new: &NewExecution) -> Result<(), Rejection> {
        if !self.is_full.load(Ordering::Relaxed) {
            return Ok(());
        }
        let inner = self.lock();
        let full = inner.counts.get(&new.namespace).is_some_and(|count| *count >= limits::LANES_MAX);
        match inner.lanes.get(&(new.namespace.clone(), new.lane.clone())) {
            None if full => Err(Rejection::TooManyLanes),
            Some(board) if board.len() >= limits::QUEUES_MAX => {
                let known = board.get(&(new.kind.clone(), new.requires.clone())).is_some();
                if known { Ok(()) } else { Err(Rejection::TooManyQueues { lane: new.lane.clone() }) }
            }
            _ => Ok(()),
        }
    }

    /// Forgets queues that the registry has forgotten, unless memory holds work of them.
    pub(crate) fn forget<'a>(&self, gone: impl Iterator<Item = &'a QueueKey>) {
        let mut inner = self.lock();
        gone.for_each(|key| inner.forget(key));
    }

    /// Takes the best ready work that a worker can run, or parks the worker.
    pub(crate) fn look(&self, wants: &Wants, park: bool, now: Millis) -> Look {
        let mut inner = self.lock();
        inner.worked.note(wants);
        let mut found = Vec::new();
        while found.len() < wants.max {
            if inner.has_unknown(wants) {
                if found.is_empty() {
                    return Look::Refill(inner.begin_refills(wants));
                }
                break;
            }
            let Some((queue, place)) = inner.best(wants) else { break };
            inner.change(&queue, |queue| queue.take(&place));
            found.push((queue, place));
        }
        if found.is_empty() && !inner.closed {
            found = inner.take_left(wants, now);
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

    /// Takes up to `max` pieces of ready work that a worker can run, the best first, as far as memory knows them.
    pub(crate) fn take_known(&self, wants: &Wants, max: usize) -> Vec<Origin> {
        let mut found = Vec::new();
        if max == 0 {
            return found;
        }
        let mut inner = self.lock();
        while found.len() < max
            && !inner.has_unknown(wants)
            && let Some((queue, place)) = inner.best(wants)
        {
            inner.change(&queue, |queue| queue.take(&place));
            found.push((queue, place));
        }
        found
    }

    /// Removes a waiter whose call has ended.
    pub(crate) fn unpark(&self, id: WaiterId) {
        self.lock().waiters.remove(id);
    }

    /// Takes a waiter that can run this execution, for a hand-off in the commit that makes it ready.
    pub(crate) fn waiter_for(&self, execution: &Execution) -> Option<Waiter> {
        let mut inner = self.lock();
        if inner.waiters.is_empty() {
            return None;
        }
        let key = QueueKey::of(execution);
        if inner.is_stalled(&key) { None } else { inner.waiters.take(&key) }
    }

    /// Puts back a waiter whose work was gone, ahead of later ones, unless other work in memory matches it.
    pub(crate) fn put_back(&self, waiter: Waiter) -> PutBack {
        let mut inner = self.lock();
        if inner.closed || waiter.answer.is_closed() {
            return PutBack::Gone;
        }
        if inner.has_unknown(&waiter.wants) {
            inner.waiters.put_back(waiter);
            return PutBack::ParkedUnsure;
        }
        let Some((queue, place)) = inner.best(&waiter.wants) else {
            inner.waiters.put_back(waiter);
            return PutBack::Parked;
        };
        inner.change(&queue, |queue| queue.take(&place));
        PutBack::Matched(Box::new(Match { waiter, origin: (queue, place) }))
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
            inner.open(&key, &self.is_full);
            inner.change(&key, |queue| queue.add(place));
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
            if let Some((key, place)) = from {
                inner.change(&key, |queue| queue.take(&place));
            }
            ready.extend(to);
        }
        // Who came first is served first, also when there are fewer workers than work.
        ready.sort_by_key(|(_, place)| *place);
        for (key, place) in ready {
            matches.extend(inner.announce(key, place, &self.is_full));
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

impl Inner {
    fn announce(&mut self, key: QueueKey, place: Position, is_full: &AtomicBool) -> Option<Match> {
        self.open(&key, is_full);
        if !self.is_near(&key, &place) {
            self.remote.insert(key);
            return None;
        }
        if !self.is_stalled(&key)
            && let Some(waiter) = self.waiters.take(&key)
        {
            return Some(Match { waiter, origin: (key, place) });
        }
        self.change(&key, |queue| queue.add(place));
        None
    }

    /// Makes a queue known.
    fn open(&mut self, key: &QueueKey, is_full: &AtomicBool) {
        let counts = &mut self.counts;
        let board = self.lanes.entry(key.lane()).or_insert_with(|| {
            let count = counts.entry(key.namespace.clone()).or_default();
            *count += 1;
            is_full.fetch_or(*count >= limits::LANES_MAX, Ordering::Relaxed);
            LaneBoard::default()
        });
        if board.open(&key.name()) {
            is_full.fetch_or(board.len() >= limits::QUEUES_MAX, Ordering::Relaxed);
            self.names.insert(key.index().as_str().to_owned(), key.clone());
        }
    }

    fn forget(&mut self, key: &QueueKey) {
        let Some(board) = self.lanes.get_mut(&key.lane()) else { return };
        if !board.close(&key.name()) {
            return;
        }
        self.names.remove(key.index().as_str());
        self.remote.remove(key);
        if board.names().next().is_none() {
            self.lanes.remove(&key.lane());
            if let Some(count) = self.counts.get_mut(&key.namespace) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&key.namespace);
                }
            }
        }
    }

    /// Changes a queue, if it is known.
    fn change<T>(&mut self, key: &QueueKey, act: impl FnOnce(&mut ReadyQueue) -> T) -> Option<T> {
        self.lanes.get_mut(&key.lane())?.change(&key.name(), act)
    }

    fn queue(&self, key: &QueueKey) -> Option<&ReadyQueue> {
        self.lanes.get(&key.lane())?.get(&key.name())
    }

    /// The lanes that a worker asks for, as far as they are known.
    fn lanes_of(&self, wants: &Wants) -> impl Iterator<Item = (LaneName, &LaneBoard)> {
        wants.lanes.iter().filter_map(|lane| {
            let name = (wants.namespace.clone(), lane.clone());
            self.lanes.get(&name).map(|board| (name, board))
        })
    }

    /// The best entry over the worker's lanes and queues; of equal ones, that of the lane named first.
    fn best(&self, wants: &Wants) -> Option<Origin> {
        let mut best: Option<(LaneName, Position, &QueueName)> = None;
        for (lane, board) in self.lanes_of(wants) {
            if let Some((place, name)) = board.best(wants)
                && best.as_ref().is_none_or(|(_, found, _)| place.0 < found.0)
            {
                best = Some((lane, place, name));
            }
        }
        best.map(|(lane, place, name)| (QueueKey::new(&lane, name), place))
    }

    /// Whether the store must be read before the best work for a worker is known.
    fn has_unknown(&self, wants: &Wants) -> bool {
        self.lanes_of(wants).any(|(_, board)| board.unknown(wants).next().is_some())
    }

    /// Begins to read the store for all queues that a worker needs.
    fn begin_refills(&mut self, wants: &Wants) -> Vec<Refill> {
        let unknown = self
            .lanes_of(wants)
            .flat_map(|(lane, board)| board.unknown(wants).map(|name| QueueKey::new(&lane, name)).collect::<Vec<_>>());
        let unknown: Vec<QueueKey> = unknown.take(REFILL_MAX).collect();
        let begin = |key: QueueKey| self.change(&key, ReadyQueue::begin_refill).map(|after| (key, after));
        unknown.into_iter().filter_map(begin).collect()
    }

    fn each_of_lane(&mut self, namespace: &Namespace, lane: &Lane, act: impl Fn(&mut ReadyQueue)) {
        if let Some(board) = self.lanes.get_mut(&(namespace.clone(), lane.clone())) {
            board.change_all(act);
        }
    }

    /// Whether the store is being read for work that a worker could run.
    fn is_being_read(&self, wants: &Wants) -> bool {
        self.lanes_of(wants).any(|(_, board)| board.is_being_read(wants))
    }

    fn is_stalled(&self, key: &QueueKey) -> bool {
        self.queue(key).is_some_and(ReadyQueue::is_stalled)
    }
}
