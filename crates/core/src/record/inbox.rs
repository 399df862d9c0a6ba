//! What a partition remembers of the messages that another sent to it.

use super::{Format, Stored};
use crate::MessageId;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The ids of the newest messages that were applied from one sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbox {
    /// The format of this record.
    #[serde(rename = "v")]
    pub format: Format,
    /// Oldest first.
    pub applied: VecDeque<MessageId>,
}

impl Stored for Inbox {}
