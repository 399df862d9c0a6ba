//! What a partition remembers of the messages that another sent to it.

use super::{Format, Stored, formats};
use crate::MessageId;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The ids of the newest messages that were applied from one sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbox {
    /// The format of this record.
    #[serde(rename = "v", skip_serializing)]
    pub format: Format,
    /// Oldest first.
    pub applied: VecDeque<MessageId>,
}

formats!(strict struct Inbox { format, applied });

impl Stored for Inbox {
    fn bytes(&self) -> usize {
        64 + 40 * self.applied.len()
    }
}
