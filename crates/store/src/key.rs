//! What names a thing in a store: partitions, keys, index names and versions.

use crate::limits::KEY_BYTES_MAX;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A slice of all records; the unit of atomicity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Partition(pub u16);

/// The name of a record: at most 200 bytes of UTF-8 without control characters, compared bytewise.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key(Arc<str>);

/// The name of an index: the same alphabet and limit as a key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct IndexName(Arc<str>);

/// The id of the commit that wrote a record: unique for ever, compared for equality only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Version(pub u128);

impl Key {
    /// Takes a name as it is; a store refuses it at the commit when it breaks the rules of [`Key::is_valid`].
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a store accepts this name.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        is_valid_name(&self.0)
    }
}

impl IndexName {
    /// Takes a name as it is; a store refuses it at the commit when it breaks the rules of [`IndexName::is_valid`].
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a store accepts this name.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        is_valid_name(&self.0)
    }
}

fn is_valid_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= KEY_BYTES_MAX && !name.bytes().any(|byte| byte < 0x20 || byte == 0x7f)
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for IndexName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for IndexName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
