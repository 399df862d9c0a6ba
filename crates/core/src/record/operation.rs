//! What operators did to an execution lately, so that a call that is repeated finds itself.

use crate::{CommandId, LeaseId, Millis};
use serde::{Deserialize, Serialize};

/// A call of an operator and what it was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operated {
    /// The call.
    pub by: CommandId,
    /// Its answer.
    pub did: Did,
}

/// What came of an operator's call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Did {
    /// It is cancelled.
    Cancelled,
    /// It was asked to stop, and is cancelled at this time if it has not ended by then.
    AskedToStop {
        /// When.
        until: Millis,
    },
    /// It becomes ready at this time, or is ready.
    Rescheduled {
        /// When; absent when it is ready.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Millis>,
    },
    /// Its priority is changed.
    Prioritised {
        /// What it was before.
        before: u16,
    },
    /// Its tags are changed.
    Tagged,
    /// Its lease was taken away.
    Revoked {
        /// The lease.
        lease: LeaseId,
        /// Its epoch.
        epoch: u64,
    },
    /// It runs again.
    Replayed {
        /// How often that was done by now.
        replays: u32,
    },
    /// It is gone, or goes piece by piece.
    Purged,
}
