//! At rest: when faults have ended and time has passed, nothing is stuck, owed, overdue or different from its source.

use super::{Checker, Seen, Stage};
use onward_core::record::{LaneCopy, Record, State};
use onward_core::{Class, Key, Millis, PartitionId, Span, index};
use onward_engine::Wants;
use onward_store as store;
use onward_store::memory::Snapshot;
use std::collections::BTreeMap;

/// How late what has outlived its retention may be removed in a calm: two looks of the slowest sweeper, and the work.
const HOUSEKEEPING_PATIENCE: Span = Span::seconds(60);

impl Checker {
    /// What is still to do, given what workers can do; `None` when nothing is.
    pub(crate) fn unfinished(&self, capabilities: &Class) -> Option<String> {
        for seen in self.still_open() {
            let open = match &*seen.record {
                Record::Execution(execution) => {
                    let stage = Stage::of(execution);
                    let feasible = execution.requires.missing_from(capabilities).is_empty();
                    match stage {
                        Stage::Finished(_) => None,
                        Stage::Ready(_) if !feasible => None,
                        stage => Some(format!("{stage:?} in lane {}", execution.lane)),
                    }
                }
                Record::Message(_) => Some("not delivered".to_owned()),
                Record::Outbox(outbox) if outbox.first < outbox.next => {
                    Some(format!("holds {} to {}", outbox.first, outbox.next))
                }
                Record::LaneMaster(master) if !master.owed.is_empty() => Some(format!("owed to {:?}", master.owed)),
                _ => None,
            };
            if let Some(open) = open {
                return Some(format!("{} is {open}", seen.key));
            }
        }
        None
    }

    fn still_open(&self) -> impl Iterator<Item = &Seen> {
        self.open.iter().filter_map(|key| self.mirror.get(key))
    }

    /// A record whose time passed long ago, if there is one.
    pub(crate) fn overdue(&self, now: Millis, patience: Span) -> Option<String> {
        self.still_open().find_map(|seen| {
            // Nobody can be late for what was written a moment ago, whatever time it names.
            let due = index::due(&seen.record)?.max(seen.at);
            // Nobody waits for what is only removed.
            let patience = index::awaited_due(&seen.record).map_or(HOUSEKEEPING_PATIENCE, |_| patience);
            (due + patience < now).then(|| format!("{} was due at {due}, {} ago", seen.key, now - due))
        })
    }

    /// Work that is ready while somebody who can do it has been waiting, both for longer than hints and sweeps need.
    pub(crate) fn neglected(&self, now: Millis, idle: &[(Wants, Millis)], patience: Span) -> Option<String> {
        self.still_open().find_map(|seen| {
            let Record::Execution(execution) = &*seen.record else { return None };
            let lane = (execution.namespace.clone(), execution.lane.clone());
            let open_since = self.lanes.lets_claim_since(&lane, execution.id.partition())?;
            let since = self.executions.ready_since(execution.id)?.max(open_since);
            let (wants, waits_since) = idle.iter().find(|(wants, waits_since)| {
                let fits = wants.namespace == execution.namespace && wants.lanes.contains(&execution.lane);
                let able = execution.requires.missing_from(&wants.capabilities).is_empty();
                fits && able && (*waits_since).max(since) + patience < now
            })?;
            Some(format!("{} is ready since {since} and {} waits since {waits_since}", execution.id, wants.worker))
        })
    }

    /// Everything that must hold once nothing is left to do.
    pub(crate) fn rests(&mut self, snapshot: &Snapshot) {
        self.verdict("store", self.stored_as_seen(snapshot));
        self.verdict("indexes", rebuilt(snapshot));
        self.verdict("pieces", self.nothing_left());
        self.verdict("lanes", self.copies_agree());
    }

    /// The store holds what was committed, no more and no less.
    fn stored_as_seen(&self, snapshot: &Snapshot) -> Result<(), String> {
        if snapshot.records.len() != self.mirror.len() {
            return Err(format!("{} records are stored, {} belong there", snapshot.records.len(), self.mirror.len()));
        }
        for (key, (partition, record)) in &snapshot.records {
            match self.mirror.get(key) {
                Some(seen) if seen.stored == *record && seen.partition == *partition => {}
                _ => return Err(format!("{key} is not stored as it was committed")),
            }
        }
        Ok(())
    }

    /// Every partition's copy of a lane is what its master decided last.
    fn copies_agree(&self) -> Result<(), String> {
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

/// Whether something is still to do about a record, now or at its time.
pub(super) fn is_open(record: &Record) -> bool {
    match record {
        // What has ended is due one day; only the days within a run are worth waiting for.
        Record::Execution(execution) => match &execution.state {
            State::Finished(finished) => match finished.purging {
                // What is left only answers repeats, for longer than a calm lasts.
                Some(purging) => purging.left > 0,
                None => execution.policy.retention.is_some(),
            },
            State::Waiting(_) | State::Active(_) => true,
        },
        Record::Outbox(outbox) => outbox.first < outbox.next,
        Record::LaneMaster(master) => !master.owed.is_empty(),
        record => index::due(record).is_some(),
    }
}

/// The indexes hold what follows from the records.
fn rebuilt(snapshot: &Snapshot) -> Result<(), String> {
    let mut entries = BTreeMap::new();
    let mut due = BTreeMap::new();
    for (name, (partition, row)) in &snapshot.records {
        let Ok(key) = name.as_str().parse::<Key>() else { return Err(format!("{name} is no key")) };
        let record = onward_core::codec::decode(&key, &row.body);
        if let Some(what) = differs(row, &record) {
            return Err(what);
        }
        for entry in index::entries(&record) {
            entries.insert((store::IndexName::new(entry.name), entry.rank, name.clone()), *partition);
        }
        if let Some(rank) = index::due_rank(&record) {
            due.insert((rank, name.clone()), *partition);
        }
    }
    if entries != snapshot.entries || due != snapshot.due {
        return Err("the indexes differ from those rebuilt from the records".to_owned());
    }
    Ok(())
}

/// How a row's entries and due time differ from those that follow from its record, if they do.
pub(super) fn differs(row: &store::Record, record: &Record) -> Option<String> {
    let mut derived: Vec<(String, u64)> =
        index::entries(record).into_iter().map(|entry| (entry.name, entry.rank)).collect();
    let mut listed: Vec<(String, u64)> =
        row.entries.iter().map(|entry| (entry.name.as_str().to_owned(), entry.rank)).collect();
    derived.sort_unstable();
    listed.sort_unstable();
    if derived != listed {
        return Some(format!("{} is listed in {listed:?} and belongs in {derived:?}", row.key));
    }
    let due = index::due_rank(record);
    (row.due != due).then(|| format!("{} is due at {:?} and should be at {due:?}", row.key, row.due))
}
