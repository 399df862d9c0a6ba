//! What a rule may ask for while it runs: records by key, and pages of candidates that an index lists.

use crate::Key;
use std::sync::Arc;

/// Something that a rule needs and that is not at hand.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Want {
    /// A record, or the knowledge that there is none.
    Key(Key),
    /// A page of candidates.
    Page(PageOf),
}

impl From<Key> for Want {
    fn from(key: Key) -> Self {
        Self::Key(key)
    }
}

/// Which page of an index: at most [`CANDIDATES_MAX`](crate::limits::CANDIDATES_MAX) entries behind a place.
///
/// The index must list records of one partition only. A page is a hint: it may name records that have changed or gone, and
/// it misses what is being written at the moment. A rule reads each candidate before it acts on it, and knows from a number
/// in a record, never from an empty page, that nothing is left.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageOf {
    /// The index.
    pub index: String,
    /// Start behind this entry; from the beginning if unset.
    pub after: Option<Candidate>,
}

/// An entry of a page. Its key may be of a kind that only a newer version knows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// Its place in the index.
    pub rank: u64,
    /// The key of the record, as it is printed.
    pub key: Arc<str>,
}
