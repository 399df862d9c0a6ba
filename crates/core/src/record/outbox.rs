//! What a partition remembers of the messages it sent to another.

use super::{Format, Stored, formats};
use serde::{Deserialize, Serialize};

/// The sequence of messages from this partition to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outbox {
    /// The format of this record.
    #[serde(rename = "v", skip_serializing)]
    pub format: Format,
    /// The oldest message that may still be stored.
    pub first: u64,
    /// The sequence of the next message.
    pub next: u64,
}

formats!(strict struct Outbox { format, first, next });

impl Stored for Outbox {}
