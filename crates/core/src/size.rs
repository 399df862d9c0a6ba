//! How much a batch writes: rows and bytes, measured on the records themselves.

use crate::record::{Record, Stored};
use std::ops::{AddAssign, SubAssign};

/// Rows and bytes of what a batch writes, close to what the store will count and cheap to tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    /// Rows: records, and entries that are added or removed.
    pub rows: usize,
    /// Bytes of bodies.
    pub bytes: usize,
}

impl Size {
    /// The size of a written record that was listed in `places_before` places before the batch.
    pub(crate) fn of(places_before: usize, after: Option<&Record>) -> Self {
        let bytes = after.map_or(0, |record| match record {
            Record::Unreadable(body) => body.len(),
            other => other.stored().map_or(0, Stored::bytes),
        });
        Self { rows: 1 + places_before + after.map_or(0, places), bytes }
    }
}

impl AddAssign for Size {
    fn add_assign(&mut self, other: Self) {
        self.rows += other.rows;
        self.bytes += other.bytes;
    }
}

impl SubAssign for Size {
    fn sub_assign(&mut self, other: Self) {
        self.rows = self.rows.saturating_sub(other.rows);
        self.bytes = self.bytes.saturating_sub(other.bytes);
    }
}

/// In how many places a record is listed, its due time included.
pub(crate) fn places(record: &Record) -> usize {
    record.stored().map_or(0, Stored::places)
}
