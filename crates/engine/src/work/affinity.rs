//! Affinity: the partitions whose ready work a process takes first, so that processes rarely claim the same work.
//!
//! The processes that work a lane divide its partitions among themselves; each announces the lanes it works, and until
//! then the others do not know them. A partition of another process is not closed: a worker that finds nothing takes
//! work from there too, a little later. All of this is a hint, and the commit settles claims of the same work.

use crate::members::roster::Homes;
use onward_core::{Lane, Namespace};
use std::collections::BTreeMap;

/// Identifies a lane.
pub(crate) type LaneName = (Namespace, Lane);

/// The partitions that a process takes work from first, by lane.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Affinity(BTreeMap<LaneName, Homes>);

impl Affinity {
    pub(crate) fn new(lanes: impl IntoIterator<Item = (LaneName, Homes)>) -> Self {
        Self(lanes.into_iter().filter(|(_, homes)| *homes != Homes::Everywhere).collect())
    }

    /// The partitions of one lane; all, unless it is shared.
    pub(crate) fn of(&self, namespace: &Namespace, lane: &Lane) -> &Homes {
        // Most processes share no lane, and need not build a key to find that out.
        if self.0.is_empty() {
            return &Homes::Everywhere;
        }
        self.0.get(&(namespace.clone(), lane.clone())).unwrap_or(&Homes::Everywhere)
    }
}

/// The lanes from which workers of this process recently asked for work, and how many checks ago. They are few, and
/// every claim searches them: a linear search is faster than building a key.
#[derive(Debug, Default)]
pub(crate) struct Worked(Vec<(LaneName, u32)>);

/// Maximum lanes that a process announces; further ones it does not share.
const LANES_MAX: usize = 64;
/// Checks after which a process drops a lane without requests.
const IDLE_LOOKS: u32 = 5;

impl Worked {
    /// Notes that a worker asks for work of this lane.
    pub(crate) fn note(&mut self, namespace: &Namespace, lane: &Lane) {
        if let Some((_, idle)) = self.0.iter_mut().find(|(name, _)| name.1 == *lane && name.0 == *namespace) {
            *idle = 0;
        } else if self.0.len() < LANES_MAX {
            self.0.push(((namespace.clone(), lane.clone()), 0));
        }
    }

    /// Returns the current lanes and drops those without a recent request; `waits` reports whether a worker is parked.
    pub(crate) fn look(&mut self, waits: impl Fn(&LaneName) -> bool) -> Vec<LaneName> {
        self.0.retain_mut(|(name, idle)| {
            *idle = if waits(name) { 0 } else { *idle + 1 };
            *idle <= IDLE_LOOKS
        });
        self.0.iter().map(|(name, _)| name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_core::Name;
    use std::sync::Arc;

    fn lane(name: &str) -> LaneName {
        (Namespace::default(), Lane::parse(name).unwrap())
    }

    #[test]
    fn a_lane_that_nobody_shares_is_near_everywhere() {
        let some = Homes::Some(Arc::default());
        let affinity = Affinity::new([(lane("a"), some.clone()), (lane("b"), Homes::Everywhere)]);
        let of = |name| affinity.of(&lane(name).0, &lane(name).1).clone();
        assert_eq!((of("a"), of("b"), of("c")), (some, Homes::Everywhere, Homes::Everywhere));
        assert_eq!(Affinity::new([(lane("b"), Homes::Everywhere)]), Affinity::default());
    }

    #[test]
    fn a_lane_counts_while_somebody_asks_or_waits_and_a_little_longer() {
        let mut worked = Worked::default();
        let (a, b) = (lane("a"), lane("b"));
        worked.note(&a.0, &a.1);
        worked.note(&b.0, &b.1);
        for _ in 0..IDLE_LOOKS {
            assert_eq!(worked.look(|name| *name == b), [a.clone(), b.clone()]);
        }
        assert_eq!(worked.look(|name| *name == b), std::slice::from_ref(&b));
        for n in 0..2 * LANES_MAX {
            worked.note(&b.0, &lane(&format!("n{n}")).1);
        }
        assert_eq!(worked.look(|_| true).len(), LANES_MAX);
    }
}
