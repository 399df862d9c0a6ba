//! Messages between partitions, and what each side remembers of them.

use super::{Format, LaneSettings};
use crate::{Lane, MessageId, Millis, Namespace, PartitionId};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// The sequence of messages from this partition to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outbox {
    /// The format of this record.
    #[serde(rename = "v")]
    pub format: Format,
    /// The oldest message that may still be stored.
    pub first: u64,
    /// The sequence of the next message.
    pub next: u64,
}

/// A message on its way. It is due at once, which is how its sender's home finds it again after a crash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The format of this record.
    #[serde(rename = "v")]
    pub format: Format,
    /// Unique for ever, even when a sequence is used twice after a store lost its last second.
    pub id: MessageId,
    /// When it was written.
    pub sent_at: Millis,
    /// What it says.
    pub body: MessageBody,
}

/// What partitions tell each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageBody {
    /// The master of a lane tells a partition what was decided.
    LaneChanged {
        /// Whose lane.
        namespace: Namespace,
        /// Its name.
        lane: Lane,
        /// What was decided.
        settings: LaneSettings,
        /// Which decision it is.
        revision: u64,
    },
    /// A partition tells the master that it has a decision.
    LaneCopied {
        /// Whose lane.
        namespace: Namespace,
        /// Its name.
        lane: Lane,
        /// Which decision it has.
        revision: u64,
        /// Who has it.
        by: PartitionId,
    },
}

/// The ids of the newest messages that were applied from one sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbox {
    /// The format of this record.
    #[serde(rename = "v")]
    pub format: Format,
    /// Oldest first.
    pub applied: VecDeque<MessageId>,
}
