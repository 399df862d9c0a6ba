//! Idempotency keys, for as long as they are remembered.

use super::{Format, Stored, formats};
use crate::index::DueKind;
use crate::{Asked, ExecutionId, Millis, limits};
use serde::{Deserialize, Serialize};

/// Which execution an idempotency key stands for, until it is forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotencyRecord {
    /// The format of this record.
    #[serde(rename = "v", skip_serializing)]
    pub format: Format,
    /// The execution.
    pub execution: ExecutionId,
    /// What was asked for; a later submit must ask for the same.
    pub asked: Asked,
    /// When the key is forgotten.
    pub expires_at: Millis,
}

formats!(struct IdempotencyRecord { format, execution, asked, expires_at });

impl Stored for IdempotencyRecord {
    // A key that has expired counts as absent, and is so only when no batch can be in flight that found it absent before.
    fn due(&self) -> Option<Millis> {
        Some(self.expires_at + limits::REPEAT_WINDOW)
    }

    fn due_kind(&self) -> DueKind {
        DueKind::Housekeeping
    }
}
