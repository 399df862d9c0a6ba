//! One thing done over HTTP with every execution that passes a filter.

use super::{FilterFields, Problem};
use onward_core::{Act, ExecutionId};
use serde::{Deserialize, Serialize};

/// Does one thing with executions that pass a filter, one page at a time.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BulkRequest {
    /// With which executions.
    pub filter: FilterFields,
    /// What.
    #[serde(deserialize_with = "super::object")]
    pub act: Act,
    /// Only says with which executions it would be done.
    #[serde(default, deserialize_with = "onward_core::or_default")]
    pub dry_run: bool,
    /// Where to go on; from an earlier answer's `next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The most executions of this call; 100 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1000))]
    pub limit: Option<usize>,
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
