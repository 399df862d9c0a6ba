//! Every record: its indexes follow from it, and at rest nothing is stuck, owed, overdue or different from its source.

use super::{Checker, Seen, executions, lanes, messages};
use crate::mutants;
use onward_core::index::DueKind;
use onward_core::record::Record;
use onward_core::{Class, ExecutionId, Key, Millis, Span, index};
use onward_store as store;
use onward_store::memory::Snapshot;
use std::collections::BTreeMap;

/// How late what has outlived its retention may be removed in a calm: two looks of the slowest sweeper, and the work.
const HOUSEKEEPING_PATIENCE: Span = Span::seconds(60);

impl Checker {
    /// What is still to do, given what workers can do; `None` when nothing is.
    pub(crate) fn unfinished(&self, capabilities: &Class) -> Option<String> {
        self.still_open().find_map(|seen| {
            let open = match &*seen.record {
                Record::Execution(execution) => executions::unfinished(execution, capabilities),
                record => owed(record),
            };
            Some(format!("{} is {}", seen.key, open?))
        })
    }

    /// The records about which something is still to do.
    pub(super) fn still_open(&self) -> impl Iterator<Item = &Seen> {
        self.open.iter().filter_map(|key| self.mirror.get(key))
    }

    /// A record whose time passed long ago, if there is one.
    pub(crate) fn overdue(&self, now: Millis, patience: Span) -> Option<String> {
        self.still_open().find_map(|seen| {
            // Nobody can be late for what was written a moment ago, whatever time it names.
            let due = index::due(&seen.record)?.max(seen.at);
            // Nobody waits for what is only removed.
            let patience = match index::due_as(&seen.record) {
                Some((DueKind::Housekeeping, _)) | None => HOUSEKEEPING_PATIENCE,
                // Nor for a message that is only to be removed.
                Some(_) if self.messages.is_applied(&seen.record) => HOUSEKEEPING_PATIENCE,
                Some(_) => patience,
            };
            (due + patience < now).then(|| format!("{} was due at {due}, {} ago", seen.key, now - due))
        })
    }

    /// An end of long ago for which a caller still waits, if there is one.
    pub(crate) fn untold(&self, now: Millis, awaited: &[(ExecutionId, Millis)], patience: Span) -> Option<String> {
        awaited.iter().find_map(|(id, since)| {
            let seen = self.mirror.get(&store::Key::new(Key::Execution(*id).name()))?;
            let Record::Execution(execution) = &*seen.record else { return None };
            let late = execution.is_finished() && seen.at.max(*since) + patience < now;
            late.then(|| format!("{id} ended at {} and a caller waits for that since {since}", seen.at))
        })
    }

    /// Everything that must hold once nothing is left to do.
    pub(crate) fn rests(&mut self, snapshot: &Snapshot) {
        self.verdict("store", self.stored_as_seen(snapshot));
        self.verdict("indexes", rebuilt(snapshot));
        self.verdict("pieces", self.nothing_left());
        self.verdict("lanes", self.copies_agree());
        self.verdict("logs", self.logs_agree(snapshot));
    }

    /// The log of each execution tells what was told about it, and that of one that is being removed is empty. A store that
    /// went back is not judged: its reference gives back records alone.
    fn logs_agree(&self, snapshot: &Snapshot) -> Result<(), String> {
        if self.rollbacks > 0 {
            return Ok(());
        }
        let mut logs: BTreeMap<&store::Key, Vec<(u64, &[u8])>> = BTreeMap::new();
        for ((owner, seq), body) in &snapshot.logs {
            logs.entry(owner).or_default().push((*seq, body));
        }
        for (name, seen) in &self.mirror {
            let Record::Execution(execution) = &*seen.record else { continue };
            let found = logs.remove(name).unwrap_or_default();
            let told: Vec<String> = match execution.is_purging() {
                true => Vec::new(),
                false => {
                    self.chronicle.until(execution).iter().map(|told| mutants::entry(told.at, &told.what)).collect()
                }
            };
            let told: Vec<(u64, &[u8])> = (1..).zip(told.iter().map(String::as_bytes)).collect();
            if found != told {
                return Err(format!("the log of {name} tells {} transitions of {}", found.len(), told.len()));
            }
        }
        logs.keys().next().map_or(Ok(()), |owner| Err(format!("the log of {owner} outlived it")))
    }

    /// A record's index entries and its due time are those that follow from its body.
    pub(super) fn indexed(&mut self, row: &store::Record, key: &Key, record: &Record) {
        if let Record::Unreadable(_) = record {
            return self.violate("codec", format!("the body of {} cannot be read", row.key));
        }
        if let Some(what) = differs(row, key, record) {
            self.violate("indexes", what);
        }
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
}

/// Whether something is still to do about a record, now or at its time.
pub(super) fn is_open(record: &Record) -> bool {
    match record {
        Record::Execution(execution) => executions::is_open(execution),
        record => index::due(record).is_some() || owed(record).is_some(),
    }
}

/// What is still to do about a record that is no execution, if something is.
fn owed(record: &Record) -> Option<String> {
    let errand = || matches!(record, Record::Errand(_)).then(|| "an errand that is not done".to_owned());
    lanes::unfinished(record).or_else(|| messages::unfinished(record)).or_else(errand)
}

/// The indexes hold what follows from the records.
fn rebuilt(snapshot: &Snapshot) -> Result<(), String> {
    let mut entries = BTreeMap::new();
    let mut due = BTreeMap::new();
    for (name, (partition, row)) in &snapshot.records {
        let Ok(key) = name.as_str().parse::<Key>() else { return Err(format!("{name} is no key")) };
        let record = onward_core::codec::decode(&key, &row.body);
        if let Some(what) = differs(row, &key, &record) {
            return Err(what);
        }
        for entry in index::entries(&key, &record) {
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
fn differs(row: &store::Record, key: &Key, record: &Record) -> Option<String> {
    let mut derived: Vec<(String, u64)> =
        index::entries(key, record).into_iter().map(|entry| (entry.name, entry.rank)).collect();
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
