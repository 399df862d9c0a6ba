//! The roster: which processes are alive and which partitions are whose, as seen by one process.
//!
//! A member is alive while its record's version keeps changing. No written timestamps are compared, and no clock: what
//! counts is the number of reads without a change. Two processes may disagree for a while, and both may consider a
//! partition their own; that costs conflicts, never correctness.

use crate::work::affinity::{Affinity, LaneAffinity, Served, includes};
use onward_core::{Kind, MemberId, PartitionId};
use onward_store::{Partition, Partitions, Version};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Reads without a change after which a member counts as dead.
const STILL_MAX: u32 = 3;
/// Reads without a change after which its record is removed.
const FORGOTTEN_AFTER: u32 = 30;

/// A set of partitions, such as those whose timers, messages and housekeeping a process runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Homes {
    /// No partition.
    Nowhere,
    /// Every partition.
    Everywhere,
    /// These partitions.
    Some(Arc<BTreeSet<PartitionId>>),
}

impl Homes {
    pub(crate) fn contains(&self, partition: PartitionId) -> bool {
        match self {
            Self::Nowhere => false,
            Self::Everywhere => true,
            Self::Some(homes) => homes.contains(&partition),
        }
    }

    /// All other partitions, for a query to the store; `None` when there are none.
    pub(crate) fn elsewhere(&self, partitions: u16) -> Option<Partitions> {
        let others: Vec<_> = (0..partitions).filter(|at| !self.contains(PartitionId(*at))).map(Partition).collect();
        (!others.is_empty()).then_some(Partitions::Some(others))
    }

    /// These partitions, for a query to the store; `None` when there are none.
    pub(crate) fn partitions(&self) -> Option<Partitions> {
        match self {
            Self::Nowhere => None,
            Self::Everywhere => Some(Partitions::All),
            Self::Some(homes) if homes.is_empty() => None,
            Self::Some(homes) => Some(Partitions::Some(homes.iter().map(|home| Partition(home.0)).collect())),
        }
    }
}

/// What one process knows of the other members.
#[derive(Debug)]
pub(crate) struct Roster {
    own: MemberId,
    /// The newest format of stored bodies that this process reads.
    formats: u32,
    looked: bool,
    others: BTreeMap<MemberId, Other>,
}

#[derive(Debug)]
struct Other {
    version: Version,
    /// Reads since it last changed.
    still: u32,
    /// Whether it was seen to appear or change. What was there before the first read may have been dead for days.
    proven: bool,
    /// The newest format of stored bodies that it reads.
    formats: u32,
    served: Served,
}

/// A member's record as read from the store.
#[derive(Debug, Clone)]
pub(crate) struct Sighting {
    pub(crate) member: MemberId,
    pub(crate) version: Version,
    /// Whether it has the same scope; with any other, partitions are not shared.
    pub(crate) same_scope: bool,
    /// The newest format of stored bodies that it reads.
    pub(crate) formats: u32,
    /// What its workers ask for.
    pub(crate) served: Served,
}

impl Roster {
    pub(crate) fn new(own: MemberId, formats: u32) -> Self {
        Self { own, formats, looked: false, others: BTreeMap::new() }
    }

    /// Takes in the members as read from the store now.
    pub(crate) fn look(&mut self, seen: &[Sighting]) {
        let first = !self.looked;
        self.looked = true;
        self.others.retain(|id, _| seen.iter().any(|one| one.member == *id && one.same_scope));
        for one in seen.iter().filter(|one| one.member != self.own && one.same_scope) {
            let version = one.version;
            let fresh = |proven| Other { version, still: 0, proven, formats: one.formats, served: one.served.clone() };
            let other = self.others.entry(one.member).or_insert_with(|| fresh(!first));
            if other.version == version {
                other.still += 1;
            } else {
                *other = fresh(true);
            }
        }
    }

    /// Whether no other member was seen at the last read.
    pub(crate) fn is_alone(&self) -> bool {
        self.looked && self.others.is_empty()
    }

    /// Whether a member may be alive that was never seen to change, as a new process must assume of all it finds.
    pub(crate) fn is_unsure(&self) -> bool {
        !self.looked || self.others.values().any(|other| !other.proven && other.still <= STILL_MAX)
    }

    /// Whether the last read was the one that made a member count as dead, also one that was never seen to change: it
    /// may have committed something right before its end without notifying other processes.
    pub(crate) fn somebody_died(&self) -> bool {
        self.others.values().any(|other| other.still == STILL_MAX + 1)
    }

    /// The members that share the partitions, including this one.
    pub(crate) fn alive(&self) -> BTreeSet<MemberId> {
        let others = self.others.iter().filter(|(_, other)| other.proven && other.still <= STILL_MAX);
        others.map(|(id, _)| *id).chain([self.own]).collect()
    }

    /// Members unchanged for so long that their records can be removed.
    pub(crate) fn forgotten(&self) -> Vec<(MemberId, Version)> {
        let gone = self.others.iter().filter(|(_, other)| other.still > FORGOTTEN_AFTER);
        gone.map(|(id, other)| (*id, other.version)).collect()
    }

    /// The live members that can be homes: those that read the newest format that any of them reads. To the others the
    /// timers and messages of newer records would mean nothing.
    fn newest(&self) -> BTreeSet<MemberId> {
        let mut alive = self.alive();
        let reads = |id: &MemberId| self.others.get(id).map_or(self.formats, |other| other.formats);
        let newest = alive.iter().map(reads).max();
        alive.retain(|id| Some(reads(id)) == newest);
        alive
    }

    /// The partitions that fall to this process. Each goes to the member with the highest weight for it (rendezvous
    /// hashing), so that a member that joins or leaves moves no other partitions.
    pub(crate) fn homes(&self, partitions: u16) -> Homes {
        self.share(&self.newest(), partitions)
    }

    /// The partitions whose ready work this process takes first, for each lane and kind that it works: the members that
    /// work a kind divide its partitions.
    pub(crate) fn affinity(&self, own: &Served, partitions: u16) -> Affinity {
        let alive = self.alive();
        let members: Vec<(MemberId, &Served)> =
            alive.iter().filter_map(|id| Some((*id, self.served(*id, own)?))).collect();
        Affinity::new(own.iter().map(|(lane, kinds)| {
            let share = |works: &dyn Fn(&Served) -> bool| {
                let workers = members.iter().filter(|(_, served)| works(served)).map(|(id, _)| *id).collect();
                self.share(&workers, partitions)
            };
            let named: BTreeSet<&Kind> =
                members.iter().filter_map(|(_, served)| served.get(lane)?.as_deref()).flatten().collect();
            let own_kinds = named.into_iter().filter(|kind| includes(kinds, kind));
            let works = |kind: &Kind| share(&|served| served.get(lane).is_some_and(|kinds| includes(kinds, kind)));
            let kinds_shared = own_kinds.map(|kind| (kind.clone(), works(kind))).collect();
            let others = match kinds {
                None => share(&|served| served.get(lane).is_some_and(Option::is_none)),
                // What no worker here runs is nearer to none than to another.
                Some(_) => Homes::Everywhere,
            };
            (lane.clone(), LaneAffinity { kinds: kinds_shared, others })
        }))
    }

    fn served<'a>(&'a self, id: MemberId, own: &'a Served) -> Option<&'a Served> {
        if id == self.own { Some(own) } else { self.others.get(&id).map(|other| &other.served) }
    }

    /// What the workers of the other live members ask for.
    pub(crate) fn served_elsewhere(&self) -> Vec<Served> {
        let alive = self.alive();
        self.others.iter().filter(|(id, _)| alive.contains(id)).map(|(_, other)| other.served.clone()).collect()
    }

    fn share(&self, members: &BTreeSet<MemberId>, partitions: u16) -> Homes {
        if !members.contains(&self.own) {
            return Homes::Nowhere;
        }
        if members.len() == 1 {
            return Homes::Everywhere;
        }
        let holder = |partition: u16| members.iter().max_by_key(|id| (weight(**id, partition), **id)).copied();
        let own = (0..partitions).filter(|partition| holder(*partition) == Some(self.own));
        Homes::Some(Arc::new(own.map(PartitionId).collect()))
    }
}

/// A pseudo-random weight that every process computes alike.
fn weight(member: MemberId, partition: u16) -> u64 {
    let mut mixed =
        (member.0 as u64) ^ ((member.0 >> 64) as u64) ^ u64::from(partition).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_core::{Lane, Name, Namespace};
    use std::sync::Arc;

    fn sighting(member: u128, version: u128) -> Sighting {
        let served = Served::new();
        Sighting { member: MemberId(member), version: Version(version), same_scope: true, formats: 1, served }
    }

    fn alive(roster: &Roster) -> Vec<u128> {
        roster.alive().into_iter().map(|id| id.0).collect()
    }

    #[test]
    fn what_was_there_before_counts_once_it_moves_and_as_long_as_it_moves() {
        let mut roster = Roster::new(MemberId(1), 1);
        roster.look(&[sighting(1, 10), sighting(2, 20), sighting(3, 30)]);
        assert_eq!((alive(&roster), roster.homes(8)), (vec![1], Homes::Everywhere), "they may be long dead");
        assert!(roster.is_unsure());
        roster.look(&[sighting(1, 11), sighting(2, 21), sighting(3, 30)]);
        assert_eq!(alive(&roster), [1, 2]);
        roster.look(&[sighting(1, 12), sighting(2, 22), sighting(3, 30), sighting(4, 40)]);
        assert_eq!(alive(&roster), [1, 2, 4], "a record that was not there before was written by somebody alive");
        for _ in 0..STILL_MAX {
            roster.look(&[sighting(2, 22), sighting(3, 30), sighting(4, 41)]);
            assert_eq!(alive(&roster), [1, 2, 4]);
        }
        roster.look(&[sighting(2, 22), sighting(3, 30), sighting(4, 42)]);
        assert_eq!(alive(&roster), [1, 4], "it has not moved for too long");
        assert!(!roster.is_unsure(), "who never moved has been given up");
        assert!(roster.somebody_died());
        roster.look(&[sighting(2, 23)]);
        assert_eq!(alive(&roster), [1, 2], "it woke up, and who left is gone at once");
        assert!(!roster.somebody_died());
        for _ in 0..=FORGOTTEN_AFTER {
            assert!(roster.forgotten().is_empty());
            roster.look(&[sighting(2, 23)]);
        }
        assert_eq!(roster.forgotten(), [(MemberId(2), Version(23))]);
    }

    #[test]
    fn other_scopes_share_nothing() {
        let mut roster = Roster::new(MemberId(1), 1);
        roster.look(&[]);
        roster.look(&[Sighting { same_scope: false, ..sighting(2, 20) }]);
        assert_eq!(roster.homes(8), Homes::Everywhere);
    }

    #[test]
    fn members_share_all_partitions_evenly_and_agree() {
        let members: Vec<u128> = vec![0x1234_5678_9abc, 0xdead_beef_0000_0001, 0x7777_0000_1111_2222];
        let mut owned: BTreeMap<PartitionId, Vec<u128>> = BTreeMap::new();
        for own in &members {
            let mut roster = Roster::new(MemberId(*own), 1);
            roster.look(&[]);
            roster.look(&members.iter().map(|member| sighting(*member, 1)).collect::<Vec<_>>());
            let Homes::Some(homes) = roster.homes(64) else { panic!("three members share") };
            assert!((10..=35).contains(&homes.len()), "{} of 64", homes.len());
            for home in homes.iter() {
                owned.entry(*home).or_default().push(*own);
            }
        }
        assert_eq!(owned.len(), 64);
        assert!(owned.values().all(|owners| owners.len() == 1));
    }

    #[test]
    fn homes_fall_to_the_live_members_that_read_the_newest_format() {
        let reads = |formats, member, version| Sighting { formats, ..sighting(member, version) };
        let mut old = Roster::new(MemberId(1), 1);
        old.look(&[]);
        old.look(&[reads(1, 2, 20)]);
        let Homes::Some(shared) = old.homes(64) else { panic!("two of one format share") };
        assert!((20..=44).contains(&shared.len()), "{} of 64", shared.len());
        old.look(&[reads(1, 2, 21), reads(3, 3, 30), reads(2, 4, 40)]);
        assert_eq!(old.homes(64), Homes::Nowhere, "another reads what this one cannot");
        assert_eq!(alive(&old), [1, 2, 3, 4], "ready work is shared as ever");
        for _ in 0..=STILL_MAX {
            old.look(&[reads(3, 3, 30)]);
        }
        assert_eq!(old.homes(64), Homes::Everywhere, "which is dead now");

        let mut new = Roster::new(MemberId(3), 3);
        new.look(&[]);
        new.look(&[reads(1, 1, 10), reads(2, 4, 40)]);
        assert_eq!(new.homes(64), Homes::Everywhere);
        new.look(&[reads(1, 1, 11), reads(3, 5, 50)]);
        let Homes::Some(shared) = new.homes(64) else { panic!("the two newest share") };
        assert!((20..=44).contains(&shared.len()), "{} of 64", shared.len());
    }

    #[test]
    fn a_lane_is_shared_by_those_who_work_it() {
        let lane = |name: &str| (Namespace::default(), Lane::parse(name).unwrap());
        let kind = |name: &str| Kind::parse(name).unwrap();
        let kinds = |names: &[&str]| Some(Arc::new(names.iter().map(|name| kind(name)).collect()));
        let working = |member, served: Served| Sighting { served, ..sighting(member, 1) };
        let mut roster = Roster::new(MemberId(1), 1);
        roster.look(&[]);
        let second = Served::from([(lane("both"), None), (lane("kinds"), kinds(&["x", "y"]))]);
        roster.look(&[working(2, second), working(3, Served::from([(lane("other"), None)]))]);
        let own = Served::from([(lane("both"), None), (lane("own"), None), (lane("kinds"), kinds(&["y", "z"]))]);
        let affinity = roster.affinity(&own, 64);
        let of = |name, of| affinity.of_kind(&lane(name), &kind(of)).clone();
        for (shared, of) in [("both", "any"), ("kinds", "y")].map(|(lane, kind)| (of(lane, kind), (lane, kind))) {
            let Homes::Some(shared) = shared else { panic!("two members share {of:?}") };
            assert!((20..=44).contains(&shared.len()), "{} of 64", shared.len());
        }
        for (alone, kind) in [("own", "any"), ("other", "any"), ("kinds", "x"), ("kinds", "z")] {
            assert_eq!(of(alone, kind), Homes::Everywhere, "{alone} {kind}");
        }
    }

    #[test]
    fn homes_tell_the_store_what_to_read() {
        assert_eq!(Homes::Nowhere.partitions(), None);
        assert_eq!(Homes::Everywhere.partitions(), Some(Partitions::All));
        assert_eq!(Homes::Some(Arc::default()).partitions(), None);
        let some = Homes::Some(Arc::new([PartitionId(3)].into()));
        assert_eq!(some.partitions(), Some(Partitions::Some(vec![Partition(3)])));
        assert!(some.contains(PartitionId(3)) && !some.contains(PartitionId(4)));
        assert_eq!(some.elsewhere(5), Some(Partitions::Some([0, 1, 2, 4].map(Partition).to_vec())));
        assert_eq!(Homes::Everywhere.elsewhere(5), None);
    }
}
