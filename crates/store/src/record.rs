//! What a store keeps under a key: bytes, their version, their index entries and their due time.

use crate::{IndexName, Key, Millis, Version};
use bytes::Bytes;

/// One record as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Its name.
    pub key: Key,
    /// The commit that wrote it. In a batch's `put` it must equal the batch's id.
    pub version: Version,
    /// What it says; the store does not look inside.
    pub body: Bytes,
    /// Where it is listed. No name may appear twice.
    pub entries: Vec<Entry>,
    /// When somebody must look at it.
    pub due: Option<Millis>,
}

/// A place in an index: ordered by rank, then by the record's key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The index.
    pub name: IndexName,
    /// The order in it, lowest first.
    pub rank: u64,
}
