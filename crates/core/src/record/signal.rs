//! Signals: what somebody outside tells an execution, as it is stored.

use super::{Format, Stored, StoredPayload, formats};
use crate::{Actor, Millis, SignalName, WaitName};
use serde::{Deserialize, Serialize};

words! {
    /// What a signal did when it was accepted.
    SignalEffect {
        /// It met the condition that the execution waited for, which goes on.
        Resumed = "resumed",
        /// It counts towards the condition; more is needed.
        Counted = "counted",
        /// The wait has it already: another signal of the same person, where distinct people count.
        Ignored = "ignored",
        /// No wait takes it yet: it is kept for the next one that does.
        Buffered = "buffered",
    }
}

/// An accepted signal; it never changes.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalRecord {
    /// The format of this record.
    #[serde(rename = "v", skip_serializing)]
    pub format: Format,
    /// The name that it was sent to.
    pub wait: WaitName,
    /// The only wait that may take it, if it was sent to one.
    pub only: Option<Ordinal>,
    /// Its name, if it has one.
    pub name: Option<SignalName>,
    /// Who sent it, when the sender was authenticated by name.
    pub actor: Option<Actor>,
    /// Who made the token by which it was sent, if it was and that caller was known by name.
    pub minted_by: Option<Actor>,
    /// What it carries.
    pub payload: StoredPayload,
    /// What it did.
    pub effect: SignalEffect,
    /// When it was accepted.
    pub at: Millis,
    /// Its place among the signals of the execution, from 1 on.
    pub seq: u32,
}

/// One wait for a name: in which life, and which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ordinal {
    /// The life of the execution.
    pub life: u32,
    /// Counts the waits for the name in it, from 1 on.
    pub n: u32,
}

impl Stored for SignalRecord {
    fn bytes(&self) -> usize {
        let inline = if let StoredPayload::Json(json) = &self.payload { json.as_str().len() } else { 64 };
        384 + inline
    }
}

formats!(
    enum SignalEffect {
        Resumed,
        Counted,
        Ignored,
        Buffered,
    }
);
formats!(struct SignalRecord { format, wait, only, name, actor, minted_by, payload, effect, at, seq });
formats!(struct Ordinal { life, n });
