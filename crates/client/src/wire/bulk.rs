//! One thing done over HTTP with every execution that passes a filter.

use super::{FilterFields, Length, Problem};
use onward_core::{Act, ExecutionId, Reason, When};
use serde::{Deserialize, Serialize};

/// Does one thing with executions that pass a filter, one page at a time.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BulkRequest {
    /// With which executions.
    pub filter: FilterFields,
    /// What.
    pub action: BulkAction,
    /// Why, for cancel, replay and revoke.
    #[serde(default)]
    pub reason: Reason,
    /// How long a running attempt gets to stop by itself, for cancel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grace: Option<Length>,
    /// Only says with which executions it would be done.
    #[serde(default)]
    pub dry_run: bool,
    /// Where to go on; from an earlier answer's `next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The most executions of this call; 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1000))]
    pub limit: Option<usize>,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BulkAction {
    /// End them.
    Cancel,
    /// Make waiting and delayed ones ready now.
    RunNow,
    /// Take running ones away from their workers.
    Revoke,
    /// Run ended ones again.
    Replay,
    /// Remove ended ones.
    Purge,
}

/// What came of one page.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkAnswer {
    /// Whether nothing was done.
    pub dry_run: bool,
    /// The executions that passed the filter.
    pub matched: Vec<ExecutionId>,
    /// With how many it was done.
    pub done: usize,
    /// With which it could not be done.
    pub refused: Vec<BulkRefusal>,
    /// Where to go on; absent when there are no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An execution with which it could not be done.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkRefusal {
    /// Which.
    pub id: ExecutionId,
    /// Why not.
    pub problem: Problem,
}

impl BulkRequest {
    /// What the engine is told.
    #[must_use]
    pub fn act(&self) -> Act {
        let reason = self.reason.clone();
        match self.action {
            BulkAction::Cancel => Act::Cancel { reason, grace: self.grace.map(|length| length.0) },
            BulkAction::RunNow => Act::Reschedule { when: When::Now },
            BulkAction::Revoke => Act::Revoke { lease: None, reason },
            BulkAction::Replay => Act::Replay { reason, deadline: None },
            BulkAction::Purge => Act::Purge,
        }
    }
}
