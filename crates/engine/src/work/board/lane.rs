//! The queues of one lane in memory: which has the best work and which must be read, without visiting all of them.

use crate::work::ready::{Position, ReadyQueue};
use crate::work::waiters::Wants;
use onward_core::{Class, Kind};
use std::collections::{BTreeMap, BTreeSet};

/// Identifies a queue within its lane.
pub(crate) type QueueName = (Kind, Class);

/// How many of the best entries are tried before the queues of a worker's kinds are looked at one by one. Most workers
/// run most of what waits in their lanes.
const TRIED: usize = 8;

/// The queues of one lane.
#[derive(Debug, Default)]
pub(crate) struct LaneBoard {
    queues: BTreeMap<QueueName, ReadyQueue>,
    /// The best entry of each queue that has one.
    heads: BTreeSet<(Position, QueueName)>,
    /// The queues for which the store must be read.
    unknown: BTreeSet<QueueName>,
    /// The queues for which the store is being read.
    read: BTreeSet<QueueName>,
}

/// What the sets above say about a queue.
#[derive(PartialEq, Eq)]
struct Shown {
    head: Option<Position>,
    unknown: bool,
    read: bool,
}

impl Shown {
    fn of(queue: &ReadyQueue) -> Self {
        Self { head: queue.best(), unknown: queue.wants_refill(), read: queue.is_refilling() }
    }
}

impl LaneBoard {
    /// Makes a queue known; answers whether it was not.
    pub(crate) fn open(&mut self, name: &QueueName) -> bool {
        if let Some(queue) = self.queues.get_mut(name) {
            queue.touched = true;
            return false;
        }
        self.queues.insert(name.clone(), ReadyQueue::new());
        self.unknown.insert(name.clone());
        true
    }

    pub(crate) fn get(&self, name: &QueueName) -> Option<&ReadyQueue> {
        self.queues.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &QueueName> {
        self.queues.keys()
    }

    /// Changes a queue, if it is known.
    pub(crate) fn change<T>(&mut self, name: &QueueName, act: impl FnOnce(&mut ReadyQueue) -> T) -> Option<T> {
        let queue = self.queues.get_mut(name)?;
        let before = Shown::of(queue);
        let answer = act(queue);
        let after = Shown::of(queue);
        if before != after {
            self.show(name, &before, &after);
        }
        Some(answer)
    }

    /// Changes all queues.
    pub(crate) fn change_all(&mut self, act: impl Fn(&mut ReadyQueue)) {
        let names: Vec<QueueName> = self.queues.keys().cloned().collect();
        for name in names {
            self.change(&name, &act);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.queues.len()
    }

    /// Begins to watch which queues are used from now on.
    pub(crate) fn watch(&mut self) {
        self.queues.values_mut().for_each(|queue| queue.touched = false);
    }

    /// Forgets a queue that was not used since it is watched and of which memory holds nothing; answers whether it did.
    pub(crate) fn close(&mut self, name: &QueueName) -> bool {
        let idle = |queue: &ReadyQueue| {
            !queue.touched && queue.best().is_none() && !queue.is_refilling() && !queue.is_stalled()
        };
        let close = self.queues.get(name).is_some_and(idle);
        if close {
            self.queues.remove(name);
            self.unknown.remove(name);
        }
        close
    }

    fn show(&mut self, name: &QueueName, before: &Shown, after: &Shown) {
        if before.head != after.head {
            before.head.map(|head| self.heads.remove(&(head, name.clone())));
            after.head.map(|head| self.heads.insert((head, name.clone())));
        }
        for (set, before, after) in
            [(&mut self.unknown, before.unknown, after.unknown), (&mut self.read, before.read, after.read)]
        {
            match (before, after) {
                (true, false) => drop(set.remove(name)),
                (false, true) => drop(set.insert(name.clone())),
                _ => {}
            }
        }
    }

    /// The best entry that a worker can run, as far as memory knows.
    pub(crate) fn best<'a>(&'a self, wants: &'a Wants) -> Option<(Position, &'a QueueName)> {
        let fits = |head: &&(Position, QueueName)| wants.runs(&head.1);
        let mut heads = self.heads.iter();
        let mut best = heads.by_ref().take(TRIED).find(fits);
        let Some(kinds) = wants.kinds.as_deref().filter(|kinds| kinds.len() < self.heads.len()) else {
            best = best.or_else(|| heads.find(fits));
            return best.map(|(place, name)| (*place, name));
        };
        match best {
            Some((place, name)) => Some((*place, name)),
            None => self
                .of_kinds(kinds)
                .filter(|(name, _)| wants.runs(name))
                .filter_map(|(name, queue)| Some((queue.best()?, name)))
                .min(),
        }
    }

    fn of_kinds<'a>(&'a self, kinds: &'a BTreeSet<Kind>) -> impl Iterator<Item = (&'a QueueName, &'a ReadyQueue)> {
        kinds.iter().flat_map(|kind| {
            self.queues.range((kind.clone(), Class::default())..).take_while(move |(name, _)| name.0 == *kind)
        })
    }

    /// The queues that a worker can run and for which the store must be read.
    pub(crate) fn unknown<'a>(&'a self, wants: &'a Wants) -> impl Iterator<Item = &'a QueueName> {
        self.unknown.iter().filter(|name| wants.runs(name))
    }

    /// Whether the store is being read for work that a worker could run.
    pub(crate) fn is_being_read(&self, wants: &Wants) -> bool {
        self.read.iter().any(|name| wants.runs(name))
    }

    /// Whether memory knows of little work in every queue of a kind, so that workers here will soon be idle.
    pub(crate) fn is_short(&self, kind: &Kind) -> bool {
        self.of_kinds(&BTreeSet::from([kind.clone()])).all(|(_, queue)| queue.is_short())
    }
}
