//! Parked claims: who waits for which lanes, and who is next when something becomes ready.

use crate::task::Parcel;
use onward_core::{Claim, Class, ExecutionId, Lane, LeaseId, Namespace, Span, WorkerName};
use std::collections::{BTreeMap, VecDeque};
use tokio::sync::oneshot;

/// What a worker asks for.
#[derive(Debug, Clone)]
pub struct Wants {
    /// Whose work.
    pub namespace: Namespace,
    /// From which lanes.
    pub lanes: Vec<Lane>,
    /// What the worker can do.
    pub capabilities: Class,
    /// Its name.
    pub worker: WorkerName,
    /// How long each lease lasts without renewal.
    pub lease: Span,
    /// How many executions at most.
    pub max: usize,
}

impl Wants {
    pub(crate) fn claim(&self, execution: ExecutionId, lease: LeaseId) -> Claim {
        Claim {
            execution,
            lease,
            worker: self.worker.clone(),
            capabilities: self.capabilities.clone(),
            ttl: self.lease,
        }
    }
}

/// Names a parked claim.
pub(crate) type WaiterId = u64;

/// A parked claim.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) id: WaiterId,
    pub(crate) wants: Wants,
    pub(crate) answer: oneshot::Sender<Parcel>,
}

/// All parked claims, first come first served in each lane.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    next_id: WaiterId,
    parked: BTreeMap<WaiterId, Waiter>,
    /// Ids of waiters by lane; ids that are parked no more are skipped when met.
    lanes: BTreeMap<(Namespace, Lane), VecDeque<WaiterId>>,
}

impl Waiters {
    pub(crate) fn park(&mut self, wants: Wants) -> (WaiterId, oneshot::Receiver<Parcel>) {
        self.next_id += 1;
        let id = self.next_id;
        for lane in &wants.lanes {
            self.lanes.entry((wants.namespace.clone(), lane.clone())).or_default().push_back(id);
        }
        let (answer, receiver) = oneshot::channel();
        self.parked.insert(id, Waiter { id, wants, answer });
        (id, receiver)
    }

    /// Puts a waiter back whose work turned out to be gone, ahead of the others.
    pub(crate) fn put_back(&mut self, waiter: Waiter) {
        for lane in &waiter.wants.lanes {
            self.lanes.entry((waiter.wants.namespace.clone(), lane.clone())).or_default().push_front(waiter.id);
        }
        self.parked.insert(waiter.id, waiter);
    }

    pub(crate) fn remove(&mut self, id: WaiterId) {
        self.parked.remove(&id);
    }

    /// The first waiter of a lane that can run this class and still listens.
    pub(crate) fn take(&mut self, namespace: &Namespace, lane: &Lane, class: &Class) -> Option<Waiter> {
        let queue = self.lanes.get_mut(&(namespace.clone(), lane.clone()))?;
        let mut at = 0;
        while let Some(&id) = queue.get(at) {
            match self.parked.get(&id) {
                Some(waiter) if waiter.answer.is_closed() => {
                    self.parked.remove(&id);
                    queue.remove(at);
                }
                None => {
                    queue.remove(at);
                }
                Some(waiter) if class.missing_from(&waiter.wants.capabilities).is_empty() => {
                    queue.remove(at);
                    return self.parked.remove(&id);
                }
                Some(_) => at += 1,
            }
        }
        None
    }

    /// Whether anybody waits for a lane.
    pub(crate) fn any(&self, namespace: &Namespace, lane: &Lane) -> bool {
        self.lanes
            .get(&(namespace.clone(), lane.clone()))
            .is_some_and(|queue| queue.iter().any(|id| self.parked.contains_key(id)))
    }

    /// Ends all waiting; every parked call returns without work.
    pub(crate) fn clear(&mut self) {
        self.parked.clear();
        self.lanes.clear();
    }
}
