//! Messages between partitions.

use super::{Format, LaneSettings, Outbox, Record, Stored};
use crate::audit::{Beside, Finding, Fix, Verdict};
use crate::{Key, Lane, MessageId, Millis, Namespace, PartitionId};
use serde::{Deserialize, Serialize};

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

impl Stored for Message {
    // At once, whatever the clock of its sender showed.
    fn due(&self) -> Option<Millis> {
        Some(Millis(0))
    }

    fn presumes(&self, key: &Key) -> Vec<Key> {
        let Key::Message(from, to, _) = *key else { return Vec::new() };
        vec![Key::Outbox(from, to)]
    }

    fn judge(&self, key: &Key, _: Millis, beside: &Beside) -> Vec<Verdict> {
        let Key::Message(from, to, seq) = *key else { return Vec::new() };
        let outbox = Key::Outbox(from, to);
        let (first, next) = match beside(&outbox) {
            Some(Record::Outbox(known)) if (known.first..known.next).contains(&seq) => return Vec::new(),
            Some(Record::Outbox(known)) => (known.first.min(seq), known.next.max(seq.saturating_add(1))),
            // What cannot be read is not overwritten.
            Some(_) => return vec![Verdict { finding: Finding::MessageUnlisted, fix: None }],
            None => (seq, seq.saturating_add(1)),
        };
        let fix = Fix::put(outbox, Record::Outbox(Outbox { format: Format, first, next }));
        vec![Verdict { finding: Finding::MessageUnlisted, fix: Some(fix) }]
    }
}
