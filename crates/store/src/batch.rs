//! The one write: a conditional batch on one partition, and what came of it.

use crate::{Key, Mend, Millis, Partition, Record, Version};
use bytes::Bytes;

/// Checks first, then writes, all or nothing, on one partition.
///
/// The window is checked first, then the expectations; then it deletes, puts, appends, adds events, trims and mends,
/// in that order. No key may be written twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// Where all of its keys live.
    pub partition: Partition,
    /// Unique for ever; becomes the version of every record it puts.
    pub id: Version,
    /// Every key the batch read, puts or deletes, with the version it must still have; `None` means absent.
    pub expect: Vec<(Key, Option<Version>)>,
    /// Records to write whole.
    pub put: Vec<Record>,
    /// Records to remove, with their index entries and due times; deleting an absent key changes nothing.
    pub delete: Vec<Key>,
    /// Entries to add to logs; an entry whose sequence exists already is replaced.
    pub append: Vec<Append>,
    /// Events for the partition's feed, in order.
    pub events: Vec<Bytes>,
    /// The batch's events, and so all later ones of its partition, get positions above this; a reader from below is told of
    /// a gap. For a store that was restored: cursors of the time that was lost lie below it.
    pub feed_above: u64,
    /// Log entries and feed events to forget.
    pub trim: Vec<Trim>,
    /// Places in indexes to set right.
    pub mend: Vec<Mend>,
    /// When the store's clock must be for the batch to be written.
    pub window: Window,
    /// Topics to tell other processes about, as a hint.
    pub wake: Vec<String>,
}

impl Batch {
    /// A batch that checks nothing and writes nothing yet.
    #[must_use]
    pub fn new(partition: Partition, id: Version) -> Self {
        Self {
            partition,
            id,
            expect: Vec::new(),
            put: Vec::new(),
            delete: Vec::new(),
            append: Vec::new(),
            events: Vec::new(),
            feed_above: 0,
            trim: Vec::new(),
            mend: Vec::new(),
            window: Window::default(),
            wake: Vec::new(),
        }
    }

    /// Whether the batch only checks and writes nothing, so that it needs no sync of its own.
    #[must_use]
    pub fn is_check_only(&self) -> bool {
        self.put.is_empty()
            && self.delete.is_empty()
            && self.append.is_empty()
            && self.events.is_empty()
            && self.trim.is_empty()
            && self.mend.is_empty()
    }
}

/// One entry for a log, whose owner must be expected and must exist after the batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// The record that owns the log.
    pub log: Key,
    /// Assigned by the caller from a counter in that record, from 1 to `limits::SEQ_MAX`.
    pub seq: u64,
    /// What it says.
    pub body: Bytes,
}

/// What to forget.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trim {
    /// Entries of a log with a sequence up to and including this one; its owner must be expected.
    Log {
        /// The record that owns the log.
        log: Key,
        /// The last sequence to forget.
        through: u64,
    },
    /// Events of the batch's partition up to and including this position. The newest event of the store, or of every
    /// partition, stays, so that positions never start again.
    Feed {
        /// The last position to forget.
        through: u64,
    },
}

/// The span of the store's clock in which a batch may be written: `not_before <= now < not_after`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// Earlier than this, the batch is [`Outcome::Outside`].
    pub not_before: Option<Millis>,
    /// At this time or later, the batch is [`Outcome::Outside`].
    pub not_after: Option<Millis>,
}

impl Window {
    /// Whether a batch with this window may be written at `now`.
    #[must_use]
    pub fn contains(&self, now: Millis) -> bool {
        self.not_before.is_none_or(|from| from <= now) && self.not_after.is_none_or(|until| now < until)
    }
}

/// What came of a batch; each answer carries the store's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Every expectation held and everything is written and durable.
    Committed {
        /// The store's time at the check.
        now: Millis,
    },
    /// An expectation did not hold; nothing is written.
    Conflict {
        /// The keys whose expectation failed, as they are now.
        current: Vec<(Key, Option<Record>)>,
        /// The store's time at the check.
        now: Millis,
    },
    /// The store's clock is outside the batch's window; nothing is written. Checked before the expectations.
    Outside {
        /// The store's time at the check.
        now: Millis,
    },
}

/// A hint that something was committed elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    /// Where; `None` when the store cannot tell, and then it cannot tell the topics either.
    pub partition: Option<Partition>,
    /// The batch's topics.
    pub topics: Vec<String>,
}
