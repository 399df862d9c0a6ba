//! Audits: compares records with the indexes, and describes what repairs a difference.
//!
//! Batches keep records and indexes together, so a difference means damage from outside: a disk that lied, a hand in the
//! tables, a restore of one part. An audit reads everything, page by page, while work goes on.

use crate::{Entry, Key, Millis, Partition, Record, Version};

/// A part of the store and what is wrong with it, read at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditPage {
    /// Records of this part; none once the audit has gone on to the indexes.
    pub records: Vec<(Partition, Record)>,
    /// Index rows of this part that were compared with their records.
    pub rows: u64,
    /// Places in the indexes that disagree with their record.
    pub faults: Vec<Fault>,
    /// Where the next page starts, in the store's own words; nothing when this was the last one.
    pub next: Option<String>,
}

/// A place in the indexes that disagrees with its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where the record lives, or would.
    pub partition: Partition,
    /// The record.
    pub key: Key,
    /// Its version when this was found; `None` when there is no such record.
    pub version: Option<Version>,
    /// The place.
    pub place: IndexPlace,
    /// What is wrong with it.
    pub kind: FaultKind,
}

/// Where a record is listed: at a rank of an index, or among the due times.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum IndexPlace {
    /// An entry of an index.
    Entry(Entry),
    /// A due time.
    Due(Millis),
}

/// What is wrong with an [`IndexPlace`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The record claims it and is not listed there.
    Missing,
    /// It lists a record that does not claim it or does not exist.
    Stray,
}

/// A place to repair, whatever the record says about it.
///
/// Unlike everything else in a batch it can make an index disagree with its record; so it is only for undoing a
/// [`Fault`] at the version at which it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mend {
    /// The record, which the batch must expect.
    pub key: Key,
    /// The place.
    pub place: IndexPlace,
    /// Whether the record is to be listed there.
    pub listed: bool,
}

impl Fault {
    /// What sets it right.
    #[must_use]
    pub fn mend(&self) -> Mend {
        let listed = self.kind == FaultKind::Missing;
        Mend { key: self.key.clone(), place: self.place.clone(), listed }
    }
}

impl Record {
    /// The places that it claims.
    pub(crate) fn places(&self) -> impl Iterator<Item = IndexPlace> + '_ {
        let entries = self.entries.iter().cloned().map(IndexPlace::Entry);
        entries.chain(self.due.map(IndexPlace::Due))
    }

    /// Whether it claims a place.
    #[must_use]
    pub fn claims(&self, place: &IndexPlace) -> bool {
        match place {
            IndexPlace::Entry(entry) => self.entries.contains(entry),
            IndexPlace::Due(due) => self.due == Some(*due),
        }
    }
}
