//! Submitting over HTTP.

use super::Problem;
use crate::{Error, Result};
use onward_core::record::SignalEffect;
use onward_core::{Blob, ExecutionId, Json, NewExecution, Submitted};
use serde::{Deserialize, Serialize};

/// Response to a submit.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SubmitAnswer {
    /// Id of the execution, new or earlier.
    pub id: ExecutionId,
    /// Whether this call created the execution; false when an earlier one has the same key.
    pub created: bool,
    /// What the signal did that was sent along; absent without one.
    pub signalled: Option<SignalEffect>,
    /// The execution after the wait; absent without `wait`.
    pub execution: Option<Box<crate::Description>>,
    /// Result of the execution, if it completed during the wait and the result is JSON.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub result: Option<Json>,
    /// Result of the execution, if it completed during the wait and the result is not JSON.
    pub result_bytes: Option<Blob>,
}

/// Executions to submit in one call; each succeeds or fails on its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SubmitBatch {
    /// Executions to submit, up to 1,000.
    #[serde(deserialize_with = "super::few")]
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    pub executions: Vec<NewExecution>,
}

/// Results of a batch of submits.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SubmitBatchAnswer {
    /// One result per execution, in the order of the request.
    pub results: Vec<ItemAnswer<SubmitAnswer>>,
}

/// Result of one item of a batch: `ok` or `problem`.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ItemAnswer<T> {
    /// The result; absent when there is a problem.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub ok: Option<T>,
    /// The error; absent when the item succeeded.
    pub problem: Option<Problem>,
}

fn none<T>() -> Option<T> {
    None
}

impl<T> ItemAnswer<T> {
    /// Converts a result.
    #[must_use]
    pub fn of<S>(result: Result<S>, then: impl FnOnce(S) -> T) -> Self {
        match result {
            Ok(done) => Self { ok: Some(then(done)), problem: None },
            Err(error) => Self { ok: None, problem: Some(Problem::from(&error)) },
        }
    }

    /// Converts it to a result.
    ///
    /// # Errors
    /// The problem, or that the item has neither `ok` nor `problem`.
    pub fn into_result(self) -> Result<T> {
        match (self.ok, self.problem) {
            (Some(done), None) => Ok(done),
            (_, Some(problem)) => Err(Error::Server(Box::new(problem))),
            (None, None) => Err(Error::Unintelligible { why: "an item has neither `ok` nor `problem`".to_owned() }),
        }
    }
}

impl From<Submitted> for SubmitAnswer {
    fn from(submitted: Submitted) -> Self {
        let Submitted { id, created, signalled } = submitted;
        Self { id, created, signalled, execution: None, result: None, result_bytes: None }
    }
}

impl SubmitAnswer {
    /// Adds the result of the execution.
    #[must_use]
    pub fn with_result(self, payload: onward_core::Payload) -> Self {
        let (result, result_bytes) = payload.into_fields();
        Self { result, result_bytes, ..self }
    }
}
