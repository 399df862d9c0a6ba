//! What reads ask for and get: ranges, pages, counts, log entries and feed pages.

use crate::{Key, Partition};
use bytes::Bytes;

/// Which partitions a read covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Partitions {
    /// Every partition.
    All,
    /// These.
    Some(Vec<Partition>),
}

impl Partitions {
    /// Whether a partition is covered.
    #[must_use]
    pub fn contains(&self, partition: Partition) -> bool {
        match self {
            Self::All => true,
            Self::Some(list) => list.contains(&partition),
        }
    }
}

/// Which part of an index to read, and in which direction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Range {
    /// Start strictly behind this place, in the direction of the scan.
    pub after: Option<(u64, Key)>,
    /// Ranks from this one on.
    pub from: Option<u64>,
    /// Ranks below this one.
    pub until: Option<u64>,
    /// Lowest first, or highest first.
    pub direction: Direction,
}

impl Range {
    /// Ranks from the first on and below the second, lowest first.
    #[must_use]
    pub fn between(from: u64, until: u64) -> Self {
        Self { from: Some(from), until: Some(until), ..Self::default() }
    }
}

/// The order of a scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Direction {
    /// Lowest rank first.
    #[default]
    Ascending,
    /// Highest rank first.
    Descending,
}

/// One place in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The entry's rank.
    pub rank: u64,
    /// The record it belongs to.
    pub key: Key,
    /// Where that record lives.
    pub partition: Partition,
}

/// A bounded part of an index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// What was found, in order.
    pub items: Vec<Found>,
    /// Whether there may be more behind the last item.
    pub more: bool,
}

/// A number that stops at its cap and says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// How many were counted.
    pub n: u64,
    /// Whether counting stopped at the cap.
    pub capped: bool,
}

/// One entry of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// Its sequence.
    pub seq: u64,
    /// What it says.
    pub body: Bytes,
}

/// The text of [`Cursor::end`]; no store has it among the cursors that it makes.
const END: &str = "end";

/// A place in the feeds of all partitions; opaque, made by the store that reads it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor(String);

impl Cursor {
    /// Before the first event.
    #[must_use]
    pub fn start() -> Self {
        Self::default()
    }

    /// Behind the newest event: a read from here returns no events, and the cursor for all later ones.
    #[must_use]
    pub fn end() -> Self {
        Self(END.to_owned())
    }

    /// Whether this is [`Cursor::end`].
    pub(crate) fn is_end(&self) -> bool {
        self.0 == END
    }

    /// A cursor from its text; the store that reads it refuses one it did not make.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text to keep.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One event of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Whose feed.
    pub partition: Partition,
    /// Increasing within the partition.
    pub position: u64,
    /// What it says.
    pub body: Bytes,
    /// Where a reader goes on that has dealt with this one and with all before it in its page.
    pub cursor: Cursor,
}

/// A bounded part of the feeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedPage {
    /// Events in order for each partition.
    pub events: Vec<Event>,
    /// Where the next page starts.
    pub cursor: Cursor,
    /// Whether events between the given cursor and this page were trimmed before they could be read.
    pub gap: bool,
}

/// A short mark of an event's body (FNV-1a, folded), the same in every version: a cursor that keeps it notices when another
/// event has taken the place of the one it knew.
#[must_use]
#[allow(clippy::cast_possible_truncation)] // Both halves are folded into what is kept.
pub fn mark(body: &[u8]) -> u16 {
    let hash = body.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    ((hash >> 16) ^ (hash & 0xffff)) as u16
}
