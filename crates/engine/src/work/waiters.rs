//! Parked claims: what each waits for, and which is next when work becomes ready.

use crate::partition::task::SealedReply;
use crate::work::affinity::{Kinds, LaneName, includes};
use crate::work::board::{QueueKey, QueueName};
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
    /// Kinds of work to claim; all when absent.
    pub kinds: Kinds,
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

    /// Whether the worker asks for the work of a queue.
    pub(crate) fn takes(&self, queue: &QueueKey) -> bool {
        self.namespace == queue.namespace && self.lanes.contains(&queue.lane) && self.runs(&queue.name())
    }

    /// Whether the worker runs the work of a queue.
    pub(crate) fn runs(&self, (kind, class): &QueueName) -> bool {
        includes(&self.kinds, kind) && class.is_within(&self.capabilities)
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

/// All parked claims, first come first served among those that run the work.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    next_id: WaiterId,
    parked: BTreeMap<WaiterId, Waiter>,
    /// Parked waiters by lane, and within it by what they run: of the many calls that a service parks, all run the same.
    /// Ids grow, so their order is the order of arrival, also after a waiter is put back.
    lanes: BTreeMap<LaneName, BTreeMap<(Kinds, Class), BTreeSet<WaiterId>>>,
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
        let wants = &waiter.wants;
        for lane in &wants.lanes {
            let alike = self.lanes.entry((wants.namespace.clone(), lane.clone())).or_default();
            alike.entry((wants.kinds.clone(), wants.capabilities.clone())).or_default().insert(waiter.id);
        }
        self.parked.insert(waiter.id, waiter);
    }

    pub(crate) fn remove(&mut self, id: WaiterId) -> Option<Waiter> {
        let waiter = self.parked.remove(&id)?;
        let wants = &waiter.wants;
        let runs = (wants.kinds.clone(), wants.capabilities.clone());
        for lane in &wants.lanes {
            let lane = (wants.namespace.clone(), lane.clone());
            let Some(alike) = self.lanes.get_mut(&lane) else { continue };
            if let Some(ids) = alike.get_mut(&runs) {
                ids.remove(&id);
                if ids.is_empty() {
                    alike.remove(&runs);
                }
            }
            if alike.is_empty() {
                self.lanes.remove(&lane);
            }
        }
        Some(waiter)
    }

    /// Takes the first waiter that runs the work of a queue and whose call is still open.
    pub(crate) fn take(&mut self, queue: &QueueKey) -> Option<Waiter> {
        if self.parked.is_empty() {
            return None;
        }
        let lane = (queue.namespace.clone(), queue.lane.clone());
        loop {
            let fitting = self.lanes.get(&lane)?.iter().filter(|(runs, _)| fits(runs, queue));
            let id = *fitting.filter_map(|(_, ids)| ids.first()).min()?;
            let waiter = self.remove(id)?;
            if !waiter.answer.is_closed() {
                return Some(waiter);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.parked.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.parked.len()
    }

    /// The lanes that claims are parked on.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = &LaneName> {
        self.lanes.keys()
    }

    /// Whether a claim is parked that runs the work of a queue.
    pub(crate) fn any(&self, queue: &QueueKey) -> bool {
        if self.parked.is_empty() {
            return false;
        }
        let lane = self.lanes.get(&(queue.namespace.clone(), queue.lane.clone()));
        lane.is_some_and(|alike| alike.keys().any(|runs| fits(runs, queue)))
    }

    /// Whether a claim is parked on a lane for these kinds.
    pub(crate) fn waits(&self, lane: &LaneName, kinds: &Kinds) -> bool {
        self.lanes.get(lane).is_some_and(|alike| alike.keys().any(|(asked, _)| asked == kinds))
    }

    /// Drops all waiters; every parked call returns without work.
    pub(crate) fn clear(&mut self) {
        self.parked.clear();
        self.lanes.clear();
    }
}

fn fits((kinds, capabilities): &(Kinds, Class), queue: &QueueKey) -> bool {
    includes(kinds, &queue.kind) && queue.class.is_within(capabilities)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use onward_core::{Kind, Name};
    use std::sync::Arc;

    pub(crate) fn wants(lanes: &[&str]) -> Wants {
        Wants {
            namespace: Namespace::default(),
            lanes: lanes.iter().map(|lane| Lane::parse(lane).unwrap()).collect(),
            kinds: None,
            capabilities: Class::default(),
            worker: WorkerName::parse("w").unwrap(),
            build: None,
            lease: Span::seconds(10),
            max: 1,
        }
    }

    pub(crate) fn queue(lane: &str, kind: &str) -> QueueKey {
        let (lane, kind) = (Lane::parse(lane).unwrap(), Kind::parse(kind).unwrap());
        QueueKey { namespace: Namespace::default(), lane, kind, class: Class::default() }
    }

    #[test]
    fn whoever_came_first_is_served_first_and_nothing_is_left_behind() {
        let mut waiters = Waiters::default();
        let [a, b] = ["a", "b"].map(|lane| queue(lane, "k"));
        let (first, _one) = waiters.park(wants(&["a", "b"]));
        let (_, gone) = waiters.park(wants(&["a"]));
        let (third, _three) = waiters.park(wants(&["a"]));
        drop(gone);
        let taken = waiters.take(&a).unwrap();
        assert_eq!(taken.id, first);
        assert!(!waiters.any(&b), "taken from one lane is taken from all");
        waiters.put_back(taken);
        assert_eq!(waiters.take(&a).unwrap().id, first, "in its old place");
        assert_eq!(waiters.take(&a).unwrap().id, third, "past the one that is gone");
        assert!(waiters.parked.is_empty() && waiters.lanes.is_empty());
    }

    #[test]
    fn work_goes_to_the_first_who_runs_its_kind() {
        let mut waiters = Waiters::default();
        let of = |kind: &str| Some(Arc::new(BTreeSet::from([Kind::parse(kind).unwrap()])));
        let (x, _one) = waiters.park(Wants { kinds: of("x"), ..wants(&["a"]) });
        let (all, _two) = waiters.park(wants(&["a"]));
        let (y, _three) = waiters.park(Wants { kinds: of("y"), ..wants(&["a"]) });
        assert_eq!(waiters.take(&queue("a", "y")).unwrap().id, all, "who runs all came before");
        assert_eq!(waiters.take(&queue("a", "y")).unwrap().id, y);
        assert!(waiters.take(&queue("a", "y")).is_none() && !waiters.any(&queue("a", "y")));
        assert_eq!(waiters.take(&queue("a", "x")).unwrap().id, x);
    }
}
