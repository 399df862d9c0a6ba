//! Affinity: the partitions whose ready work a process takes first, so that processes rarely claim the same work.
//!
//! The processes that work a lane divide its partitions among themselves, for each kind of work among those that run it;
//! each announces the lanes and kinds it works, and until then the others do not know them. A partition of another
//! process is not closed: a worker that finds nothing takes work from there too, a little later. All of this is a hint,
//! and the commit settles claims of the same work.

use crate::members::roster::Homes;
use crate::work::board::QueueKey;
use crate::work::waiters::Wants;
use onward_core::{Kind, Lane, Namespace};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Identifies a lane.
pub(crate) type LaneName = (Namespace, Lane);

/// The kinds of work that a worker runs; all when absent.
pub type Kinds = Option<Arc<BTreeSet<Kind>>>;

/// The lanes that the workers of a process ask for, and the kinds.
pub(crate) type Served = BTreeMap<LaneName, Kinds>;

/// The partitions that a process takes work from first, by lane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Affinity(BTreeMap<LaneName, LaneAffinity>);

/// The partitions of one lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LaneAffinity {
    /// Of kinds that a process names.
    pub(crate) kinds: BTreeMap<Kind, Homes>,
    /// Of all others.
    pub(crate) others: Homes,
}

impl Affinity {
    pub(crate) fn new(lanes: impl IntoIterator<Item = (LaneName, LaneAffinity)>) -> Self {
        let shared = |lane: &LaneAffinity| {
            lane.others != Homes::Everywhere || lane.kinds.values().any(|homes| *homes != Homes::Everywhere)
        };
        Self(lanes.into_iter().filter(|(_, lane)| shared(lane)).collect())
    }

    /// The partitions of one queue; all, unless it is shared.
    pub(crate) fn of(&self, queue: &QueueKey) -> &Homes {
        // Most processes share no lane, and need not build a key to find that out.
        if self.0.is_empty() {
            return &Homes::Everywhere;
        }
        self.of_kind(&(queue.namespace.clone(), queue.lane.clone()), &queue.kind)
    }

    /// The partitions of one kind of work in a lane.
    pub(crate) fn of_kind(&self, lane: &LaneName, kind: &Kind) -> &Homes {
        self.0.get(lane).map_or(&Homes::Everywhere, |lane| lane.kinds.get(kind).unwrap_or(&lane.others))
    }
}

/// Whether such work is among these kinds.
pub(crate) fn includes(kinds: &Kinds, kind: &Kind) -> bool {
    kinds.as_ref().is_none_or(|kinds| kinds.contains(kind))
}

/// What workers of this process recently asked for, and how many checks ago. They are few, and every claim searches them:
/// a linear search is faster than building a key.
#[derive(Debug, Default)]
pub(crate) struct Worked(Vec<Asked>);

#[derive(Debug)]
struct Asked {
    lane: LaneName,
    kinds: Kinds,
    idle: u32,
}

/// Maximum lanes, each with a set of kinds, that a process announces; further ones it does not share.
const LANES_MAX: usize = 64;
/// Maximum kinds of a lane that a process announces; with more it seems to run all.
const KINDS_MAX: usize = 256;
/// Maximum bytes of the kinds that a process announces, of all its lanes together: they are written with every heartbeat,
/// every two seconds. A lane whose kinds do not fit seems to run all.
const KINDS_BYTES_MAX: usize = 16 * 1024;
/// Checks after which a process drops a lane without requests.
const IDLE_LOOKS: u32 = 5;

impl Worked {
    /// Notes what a worker asks for.
    pub(crate) fn note(&mut self, wants: &Wants) {
        for lane in &wants.lanes {
            let same = |asked: &&mut Asked| {
                asked.lane.1 == *lane && asked.lane.0 == wants.namespace && same_kinds(&asked.kinds, &wants.kinds)
            };
            if let Some(asked) = self.0.iter_mut().find(same) {
                asked.idle = 0;
            } else if self.0.len() < LANES_MAX {
                let lane = (wants.namespace.clone(), lane.clone());
                self.0.push(Asked { lane, kinds: wants.kinds.clone(), idle: 0 });
            }
        }
    }

    /// Returns what is asked for and drops what was not asked for recently; `waits` reports whether a worker is parked.
    pub(crate) fn look(&mut self, waits: impl Fn(&LaneName, &Kinds) -> bool) -> Served {
        self.0.retain_mut(|asked| {
            asked.idle = if waits(&asked.lane, &asked.kinds) { 0 } else { asked.idle + 1 };
            asked.idle <= IDLE_LOOKS
        });
        let mut served = Served::new();
        for asked in &self.0 {
            let all = |kinds: &Kinds| kinds.clone().filter(|kinds| kinds.len() <= KINDS_MAX);
            served
                .entry(asked.lane.clone())
                .and_modify(|kinds| {
                    let both = kinds.as_ref().zip(asked.kinds.as_ref()).map(|(one, other)| Arc::new(&**one | &**other));
                    *kinds = all(&both);
                })
                .or_insert_with(|| all(&asked.kinds));
        }
        let mut room = KINDS_BYTES_MAX;
        for kinds in served.values_mut() {
            let bytes: usize = kinds.iter().flat_map(|kinds| kinds.iter()).map(|kind| kind.as_str().len()).sum();
            match room.checked_sub(bytes) {
                Some(left) => room = left,
                None => *kinds = None,
            }
        }
        served
    }

    /// Whether such work was asked for recently.
    pub(crate) fn serves(&self, queue: &QueueKey) -> bool {
        let lane = |asked: &Asked| asked.lane.0 == queue.namespace && asked.lane.1 == queue.lane;
        self.0.iter().any(|asked| lane(asked) && includes(&asked.kinds, &queue.kind))
    }
}

fn same_kinds(one: &Kinds, other: &Kinds) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one == other,
        (one, other) => one.is_none() && other.is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::waiters::tests::wants;
    use onward_core::{Class, Name};

    fn lane(name: &str) -> LaneName {
        (Namespace::default(), Lane::parse(name).unwrap())
    }

    fn kinds(names: &[&str]) -> Kinds {
        Some(Arc::new(names.iter().map(|name| Kind::parse(name).unwrap()).collect()))
    }

    #[test]
    fn work_that_nobody_shares_is_near_everywhere() {
        let some = Homes::Some(Arc::default());
        let named = BTreeMap::from([(Kind::parse("k").unwrap(), some.clone())]);
        let affinity = Affinity::new([
            (lane("a"), LaneAffinity { kinds: named, others: Homes::Everywhere }),
            (lane("b"), LaneAffinity { kinds: BTreeMap::new(), others: Homes::Everywhere }),
        ]);
        let of = |name, kind| {
            let (namespace, lane) = lane(name);
            let kind = Kind::parse(kind).unwrap();
            affinity.of(&QueueKey { namespace, lane, kind, class: Class::default() }).clone()
        };
        assert_eq!((of("a", "k"), of("a", "l"), of("b", "k")), (some, Homes::Everywhere, Homes::Everywhere));
        let alone = LaneAffinity { kinds: BTreeMap::new(), others: Homes::Everywhere };
        assert_eq!(Affinity::new([(lane("b"), alone)]), Affinity::default());
    }

    #[test]
    fn what_is_asked_for_counts_while_a_worker_asks_or_waits_and_a_little_longer() {
        let mut worked = Worked::default();
        worked.note(&wants(&["a"]));
        worked.note(&Wants { kinds: kinds(&["x"]), ..wants(&["b"]) });
        worked.note(&Wants { kinds: kinds(&["y"]), ..wants(&["b"]) });
        let waits = |name: &LaneName, kinds: &Kinds| *name == lane("b") && includes(kinds, &Kind::parse("y").unwrap());
        for _ in 0..IDLE_LOOKS {
            let served = worked.look(waits);
            assert_eq!((&served[&lane("a")], &served[&lane("b")]), (&None, &kinds(&["x", "y"])));
        }
        assert_eq!(worked.look(waits), Served::from([(lane("b"), kinds(&["y"]))]));
        for n in 0..2 * LANES_MAX {
            worked.note(&wants(&[&format!("n{n}")]));
        }
        assert_eq!(worked.look(|_, _| true).len(), LANES_MAX);
        let many: Vec<String> = (0..=KINDS_MAX).map(|n| n.to_string()).collect();
        let mut worked = Worked::default();
        worked.note(&Wants { kinds: kinds(&many.iter().map(String::as_str).collect::<Vec<_>>()), ..wants(&["a"]) });
        assert_eq!(worked.look(|_, _| true)[&lane("a")], None, "too many to announce are as good as all");
    }

    #[test]
    fn what_a_process_announces_has_so_many_bytes_whatever_its_workers_name() {
        let mut worked = Worked::default();
        for n in 0..LANES_MAX {
            let many: Vec<String> = (0..KINDS_MAX).map(|kind| format!("{kind:0>100}")).collect();
            let kinds = kinds(&many.iter().map(String::as_str).collect::<Vec<_>>());
            worked.note(&Wants { kinds, ..wants(&[&format!("long-{n}")]) });
        }
        let mut worked_too = Worked::default();
        worked_too.note(&Wants { kinds: kinds(&["x", "y"]), ..wants(&["short"]) });
        worked.0.truncate(LANES_MAX - 1);
        worked.0.append(&mut worked_too.0);
        let served = worked.look(|_, _| true);
        let named = |kinds: &Kinds| kinds.iter().flat_map(|kinds| kinds.iter()).map(|kind| kind.as_str().len()).sum();
        let bytes: Vec<usize> = served.values().map(named).collect();
        assert_eq!(served.len(), LANES_MAX);
        assert!(bytes.iter().sum::<usize>() <= KINDS_BYTES_MAX, "{bytes:?}");
        assert_eq!(served[&lane("short")], kinds(&["x", "y"]), "what fits is named");
        assert_eq!(served[&lane("long-0")], None, "the rest seems to run all");
    }
}
