//! Parked claims: which lanes each waits for, and which is next when work becomes ready.

use crate::partition::task::SealedReply;
use onward_core::{Build, Claim, Class, ExecutionId, Lane, LeaseId, Namespace, Span, WorkerName};
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::oneshot;

/// The work that a worker asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wants {
    /// Namespace to claim from.
    pub namespace: Namespace,
    /// Lanes to claim from; at least one.
    pub lanes: Vec<Lane>,
    /// Capabilities of the worker; it gets no work that requires others.
    pub capabilities: Class,
    /// Name of the worker.
    pub worker: WorkerName,
    /// Build of the worker's program, for people.
    pub build: Option<Build>,
    /// How long each lease lasts without renewal.
    pub lease: Span,
    /// Maximum number of executions.
    pub max: usize,
}

impl Wants {
    /// The claim of one execution, under a lease id made from 128 random bits.
    pub(crate) fn claim(&self, execution: ExecutionId, random: u128) -> Claim {
        Claim {
            execution,
            lease: LeaseId::within(&self.namespace, random),
            worker: self.worker.clone(),
            build: self.build.clone(),
            capabilities: self.capabilities.clone(),
            ttl: self.lease,
        }
    }
}

/// Identifies a parked claim.
pub(crate) type WaiterId = u64;

/// A parked claim, and the channel for its work.
#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) id: WaiterId,
    pub(crate) wants: Wants,
    pub(crate) answer: oneshot::Sender<SealedReply>,
}

/// All parked claims, first come first served in each lane.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    next_id: WaiterId,
    parked: BTreeMap<WaiterId, Waiter>,
    /// Parked waiters by lane. Ids grow, so their order is the order of arrival, also after a waiter is put back.
    lanes: BTreeMap<(Namespace, Lane), BTreeSet<WaiterId>>,
}

impl Waiters {
    pub(crate) fn park(&mut self, wants: Wants) -> (WaiterId, oneshot::Receiver<SealedReply>) {
        self.next_id += 1;
        let (answer, receiver) = oneshot::channel();
        self.put_back(Waiter { id: self.next_id, wants, answer });
        (self.next_id, receiver)
    }

    /// Puts a waiter back in its old position, because its work turned out to be gone.
    pub(crate) fn put_back(&mut self, waiter: Waiter) {
        for lane in &waiter.wants.lanes {
            self.lanes.entry((waiter.wants.namespace.clone(), lane.clone())).or_default().insert(waiter.id);
        }
        self.parked.insert(waiter.id, waiter);
    }

    pub(crate) fn remove(&mut self, id: WaiterId) -> Option<Waiter> {
        let waiter = self.parked.remove(&id)?;
        for lane in &waiter.wants.lanes {
            let lane = (waiter.wants.namespace.clone(), lane.clone());
            if let Some(ids) = self.lanes.get_mut(&lane) {
                ids.remove(&id);
                if ids.is_empty() {
                    self.lanes.remove(&lane);
                }
            }
        }
        Some(waiter)
    }

    /// Takes the first waiter of a lane that can run this class and whose call is still open.
    pub(crate) fn take(&mut self, namespace: &Namespace, lane: &Lane, class: &Class) -> Option<Waiter> {
        if self.parked.is_empty() {
            return None;
        }
        let fits = |waiter: &Waiter| class.missing_from(&waiter.wants.capabilities).is_empty();
        loop {
            let ids = self.lanes.get(&(namespace.clone(), lane.clone()))?;
            let id = *ids.iter().find(|id| self.parked.get(id).is_some_and(fits))?;
            let waiter = self.remove(id)?;
            if !waiter.answer.is_closed() {
                return Some(waiter);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parked.is_empty()
    }

    /// Whether a claim is parked on a lane.
    pub(crate) fn any(&self, namespace: &Namespace, lane: &Lane) -> bool {
        !self.parked.is_empty() && self.lanes.contains_key(&(namespace.clone(), lane.clone()))
    }

    /// Drops all waiters; every parked call returns without work.
    pub(crate) fn clear(&mut self) {
        self.parked.clear();
        self.lanes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_core::Name;

    fn wants(lanes: &[&str]) -> Wants {
        Wants {
            namespace: Namespace::default(),
            lanes: lanes.iter().map(|lane| Lane::parse(lane).unwrap()).collect(),
            capabilities: Class::default(),
            worker: WorkerName::parse("w").unwrap(),
            build: None,
            lease: Span::seconds(10),
            max: 1,
        }
    }

    #[test]
    fn whoever_came_first_is_served_first_and_nothing_is_left_behind() {
        let (mut waiters, class) = (Waiters::default(), Class::default());
        let [a, b] = ["a", "b"].map(|lane| Lane::parse(lane).unwrap());
        let (first, _one) = waiters.park(wants(&["a", "b"]));
        let (_, gone) = waiters.park(wants(&["a"]));
        let (third, _three) = waiters.park(wants(&["a"]));
        drop(gone);
        let taken = waiters.take(&Namespace::default(), &a, &class).unwrap();
        assert_eq!(taken.id, first);
        assert!(!waiters.any(&Namespace::default(), &b), "taken from one lane is taken from all");
        waiters.put_back(taken);
        assert_eq!(waiters.take(&Namespace::default(), &a, &class).unwrap().id, first, "in its old place");
        assert_eq!(waiters.take(&Namespace::default(), &a, &class).unwrap().id, third, "past the one that is gone");
        assert!(waiters.parked.is_empty() && waiters.lanes.is_empty());
    }
}
