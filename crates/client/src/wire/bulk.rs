//! Bulk acts over HTTP: one act, or one signal, for all executions that match a filter.

use super::{FilterFields, Problem};
use onward_core::{Act, ExecutionId, NewSignal};
use serde::{Deserialize, Serialize};

/// Applies one act to the executions that match a filter, one page at a time.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BulkRequest {
    /// Executions to change.
    pub filter: FilterFields,
    /// Act to apply.
    #[serde(deserialize_with = "super::object")]
    pub act: Act,
    /// Only list the matching executions; change nothing.
    #[serde(default, deserialize_with = "onward_core::or_default")]
    pub dry_run: bool,
    /// Start of this page: `next` of the page before; the first page when absent.
    pub cursor: Option<String>,
    /// Maximum number of executions of this page; 100 when absent.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1000))]
    pub limit: Option<usize>,
}

/// Sends the same signal to the executions that match a filter, one page at a time.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BulkSignalRequest {
    /// Executions to signal.
    pub filter: FilterFields,
    /// The signal.
    pub signal: NewSignal,
    /// Only list the matching executions; send nothing.
    #[serde(default, deserialize_with = "onward_core::or_default")]
    pub dry_run: bool,
    /// Start of this page: `next` of the page before; the first page when absent.
    pub cursor: Option<String>,
    /// Maximum number of executions of this page; 100 when absent.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 1000))]
    pub limit: Option<usize>,
}

/// Results of one page of a bulk act.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkAnswer {
    /// Whether this was a dry run.
    pub dry_run: bool,
    /// Executions that match the filter.
    pub matched: Vec<ExecutionId>,
    /// Number of executions to which the act was applied.
    pub done: usize,
    /// Executions to which it could not be applied.
    pub refused: Vec<BulkRefusal>,
    /// Cursor of the next page; absent on the last page.
    pub next: Option<String>,
}

/// An execution to which a bulk act could not be applied.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BulkRefusal {
    /// The execution.
    pub id: ExecutionId,
    /// The error.
    pub problem: Problem,
}
