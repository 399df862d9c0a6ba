//! Lanes: no claim in a paused one, no submit into a draining one, and an answered decision holds everywhere.

use super::{Change, Checker, When};
use onward_core::record::{LaneCopy, LaneState, Record};
use onward_core::{Event, Key, Lane, Millis, Namespace, PartitionId, What};
use onward_store::Partition;
use std::collections::BTreeMap;

type Name = (Namespace, Lane);
/// What a copy said: the commit that made it say so, the state and its revision.
type Saying = (When, LaneState, u64);

/// Every lane that somebody changed.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    lanes: BTreeMap<Name, Decisions>,
    /// What each partition's copy said, in order.
    copies: BTreeMap<(Name, PartitionId), Vec<Saying>>,
    /// Whether the store lost commits: what was acknowledged before may be gone.
    rolled_back: bool,
}

/// What was decided about one lane.
#[derive(Debug, Default)]
struct Decisions {
    by_revision: BTreeMap<u64, LaneState>,
    /// The newest decision whose caller was told that it holds.
    answered: Option<u64>,
}

impl Decisions {
    /// Whether an answered decision forbids something, and nothing decided since allows it.
    fn bars(&self, state: LaneState) -> bool {
        self.answered.is_some_and(|answered| {
            let mut since = self.by_revision.range(answered..).peekable();
            since.peek().is_some() && since.all(|(_, decided)| *decided == state)
        })
    }
}

impl Lanes {
    pub(super) fn committed(
        &mut self,
        when: When,
        changes: &[Change],
        events: &[Event],
        partition: Partition,
    ) -> Result<(), String> {
        let here = PartitionId(partition.0);
        for event in events {
            let (Some(namespace), Some(lane)) = (event.namespace(), event.lane()) else { continue };
            let name = (namespace.clone(), lane.clone());
            let (forbidden, verb) = match &event.what {
                What::Claimed { .. } => (LaneState::Paused, "claimed in"),
                What::Submitted { .. } => (LaneState::Draining, "submitted to"),
                What::LaneChanged { state, revision } => {
                    self.decided(changes, name, *state, *revision)?;
                    continue;
                }
                _ => continue,
            };
            let shown = format!("work was {verb} lane {lane} of partition {here}");
            if self.forbids(changes, &name, here, forbidden) {
                return Err(format!("{shown} against the partition's own copy"));
            }
            if self.lanes.get(&name).is_some_and(|lane| lane.bars(forbidden)) {
                return Err(format!("{shown} after its caller was told that this has ended"));
            }
        }
        self.acknowledged(changes)?;
        self.note_copies(when, changes)
    }

    /// A partition that is no more among those owed has the decision.
    fn acknowledged(&self, changes: &[Change]) -> Result<(), String> {
        for change in changes {
            let (Some(Record::LaneMaster(before)), Some(Record::LaneMaster(after))) =
                (change.before.as_deref(), change.after.as_deref())
            else {
                continue;
            };
            if self.rolled_back || before.revision != after.revision {
                continue;
            }
            let name = (after.namespace.clone(), after.lane.clone());
            for by in before.owed.difference(&after.owed) {
                let copy = self.copies.get(&(name.clone(), *by)).and_then(|copies| copies.last());
                if copy.is_none_or(|(_, _, revision)| *revision < after.revision) {
                    return Err(format!("partition {by} counts as having lane {}, but has {copy:?}", after.lane));
                }
            }
        }
        Ok(())
    }

    /// Whether a partition's copy forbids something before a commit and after it.
    fn forbids(&self, changes: &[Change], name: &Name, here: PartitionId, forbidden: LaneState) -> bool {
        let before = self.copies.get(&(name.clone(), here)).and_then(|copies| copies.last());
        let now = changes.iter().find_map(|change| match (&change.key, change.after.as_deref()) {
            (Key::LaneCopy(namespace, lane, _), Some(Record::LaneCopy(copy)))
                if (namespace, lane) == (&name.0, &name.1) =>
            {
                Some(copy.settings.state)
            }
            _ => None,
        });
        before.is_some_and(|(_, state, _)| *state == forbidden) && now.is_none_or(|state| state == forbidden)
    }

    fn decided(&mut self, changes: &[Change], name: Name, state: LaneState, revision: u64) -> Result<(), String> {
        let key = Key::LaneMaster(name.0.clone(), name.1.clone());
        let after = changes.iter().find(|change| change.key == key).and_then(|change| change.after.as_deref());
        if !matches!(after, Some(Record::LaneMaster(master)) if master.revision >= revision) {
            return Err(format!("an event tells of revision {revision} of lane {}, its master does not", name.1));
        }
        let lane = self.lanes.entry(name).or_default();
        if lane.by_revision.last_key_value().is_some_and(|(newest, _)| *newest >= revision) {
            return Err(format!("revision {revision} was decided after a later one"));
        }
        lane.by_revision.insert(revision, state);
        Ok(())
    }

    fn note_copies(&mut self, when: When, changes: &[Change]) -> Result<(), String> {
        for change in changes {
            if let (Key::LaneCopy(namespace, lane, partition), Some(Record::LaneCopy(copy))) =
                (&change.key, change.after.as_deref())
            {
                let name = ((namespace.clone(), lane.clone()), *partition);
                let copies = self.copies.entry(name).or_default();
                if let Some((_, _, newest)) = copies.last().filter(|(_, _, newest)| *newest > copy.revision) {
                    return Err(format!("{} went back from {newest} to {}", change.key, copy.revision));
                }
                copies.push((when, copy.settings.state, copy.revision));
            }
        }
        Ok(())
    }

    /// Since when work of a lane may be claimed in a partition; `None` when it may not.
    pub(super) fn lets_claim_since(&self, name: &Name, partition: PartitionId) -> Option<Millis> {
        match self.copies.get(&(name.clone(), partition)).and_then(|copies| copies.last()) {
            Some((_, LaneState::Paused, _)) => None,
            said => Some(said.map_or(Millis(0), |((_, at), ..)| *at)),
        }
    }

    /// Whether a partition's copy said this at any time since a commit.
    pub(super) fn said(&self, name: &Name, partition: PartitionId, state: LaneState, since: u64) -> bool {
        let Some(copies) = self.copies.get(&(name.clone(), partition)) else { return state == LaneState::Open };
        let first = copies.iter().rposition(|((seq, _), ..)| *seq <= since);
        let open_first = first.is_none() && state == LaneState::Open;
        open_first || copies[first.unwrap_or(0)..].iter().any(|(_, said, _)| *said == state)
    }

    /// A caller is told that its decision holds: every partition must have it.
    pub(super) fn answered(&mut self, name: &Name, revision: u64, partitions: u16) -> Result<(), String> {
        for partition in (0..partitions).map(PartitionId) {
            let copy = self.copies.get(&(name.clone(), partition)).and_then(|copies| copies.last());
            let found = copy.map_or(0, |(_, _, revision)| *revision);
            if found < revision {
                return Err(format!(
                    "revision {revision} of lane {} was answered while partition {partition} had {found}",
                    name.1
                ));
            }
        }
        let lane = self.lanes.entry(name.clone()).or_default();
        lane.answered = lane.answered.max(Some(revision));
        Ok(())
    }

    pub(super) fn rolled_back(&mut self, when: When, changes: &[Change]) {
        self.rolled_back = true;
        for lane in self.lanes.values_mut() {
            lane.answered = None;
        }
        for change in changes {
            match (&change.key, change.after.as_deref()) {
                (Key::LaneMaster(namespace, lane), after) => {
                    let newest = match after {
                        Some(Record::LaneMaster(master)) => master.revision,
                        _ => 0,
                    };
                    if let Some(lane) = self.lanes.get_mut(&(namespace.clone(), lane.clone())) {
                        lane.by_revision.retain(|revision, _| *revision <= newest);
                    }
                }
                (Key::LaneCopy(namespace, lane, partition), after) => {
                    let (state, revision) = match after {
                        Some(Record::LaneCopy(copy)) => (copy.settings.state, copy.revision),
                        _ => (LaneState::Open, 0),
                    };
                    let name = ((namespace.clone(), lane.clone()), *partition);
                    self.copies.entry(name).or_default().push((when, state, revision));
                }
                _ => {}
            }
        }
    }
}

/// What is still to do about a lane, if something is.
pub(super) fn unfinished(record: &Record) -> Option<String> {
    let Record::LaneMaster(master) = record else { return None };
    (!master.owed.is_empty()).then(|| format!("owed to {:?}", master.owed))
}

impl Checker {
    /// Every partition's copy of a lane is what its master decided last.
    pub(super) fn copies_agree(&self) -> Result<(), String> {
        for seen in self.mirror.values() {
            let (Key::LaneMaster(namespace, lane), Record::LaneMaster(master)) = (&seen.key, &*seen.record) else {
                continue;
            };
            for partition in (0..self.partitions).map(PartitionId) {
                let copy = self.record(&Key::LaneCopy(namespace.clone(), lane.clone(), partition));
                let right = matches!(copy, Some(Record::LaneCopy(LaneCopy { settings, revision, .. }))
                    if *settings == master.settings && *revision == master.revision);
                if !right {
                    return Err(format!("partition {partition} has {copy:?} of lane {lane}, decided was {master:?}"));
                }
            }
        }
        Ok(())
    }
}
