//! The registry of the classes of a lane that are in use.

use super::{Format, Stored};
use crate::Class;
use crate::index::{self, Entry};
use serde::{Deserialize, Serialize};

/// Says that work of this class was submitted here, so that workers know which ready queues exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassSeen {
    /// The format of this record.
    #[serde(rename = "v")]
    pub format: Format,
    /// The capabilities, in full.
    pub capabilities: Class,
}

impl Stored for ClassSeen {
    fn entries(&self) -> Vec<Entry> {
        Entry::single(index::CLASSES, 0)
    }
}
