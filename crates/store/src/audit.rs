//! How a store is compared with its own indexes, and how a place that lost step with its record is set right.
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
    /// Places where a record and the indexes disagree.
    pub faults: Vec<Fault>,
    /// Where the next page starts, in the store's own words; nothing when this was the last one.
    pub next: Option<String>,
}

/// A place where a record and the indexes disagree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where the record lives, or would.
    pub partition: Partition,
    /// The record.
    pub key: Key,
    /// Its version when this was found; `None` when there is no such record.
    pub version: Option<Version>,
    /// The place.
    pub place: Place,
    /// What is wrong with it.
    pub kind: FaultKind,
}

/// A place in an index, or among the due times.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// In an index.
    Index(Entry),
    /// Among the due times.
    Due(Millis),
}

/// What is wrong with a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The record claims it and is not there.
    Missing,
    /// It is taken for a record that does not claim it or does not exist.
    Stray,
}

/// A place to set right, whatever the record says about it.
///
/// Unlike everything else in a batch it can make an index disagree with its record; so it is only for undoing a
/// [`Fault`] at the version at which it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mend {
    /// The record, which the batch must expect.
    pub key: Key,
    /// The place.
    pub place: Place,
    /// Whether the record is to be found there.
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
    /// The places where it says it is listed.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + '_ {
        let entries = self.entries.iter().cloned().map(Place::Index);
        entries.chain(self.due.map(Place::Due))
    }

    /// Whether it says it is listed at a place.
    #[must_use]
    pub fn claims(&self, place: &Place) -> bool {
        match place {
            Place::Index(entry) => self.entries.contains(entry),
            Place::Due(due) => self.due == Some(*due),
        }
    }
}
