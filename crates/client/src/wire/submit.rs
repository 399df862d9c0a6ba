//! Submitting over HTTP.

use super::Problem;
use crate::{Error, Result};
use onward_core::{Blob, ExecutionId, Json, NewExecution, Submitted};
use serde::{Deserialize, Serialize};

/// The answer to a submit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SubmitAnswer {
    /// The execution, new or old.
    pub id: ExecutionId,
    /// Whether this call created it; false when a key stands for an earlier one.
    pub created: bool,
    /// What has become of it, when the caller waited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<Box<crate::Description>>,
    /// What it ended with, when the caller waited and it ended well in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub result: Option<Json>,
    /// What it ended with, when that is not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_bytes: Option<Blob>,
}

/// Work to submit together, each piece on its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SubmitBatch {
    /// The pieces.
    #[serde(deserialize_with = "super::few")]
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 1000))]
    pub executions: Vec<NewExecution>,
}

/// The answers to pieces, in their order.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SubmitBatchAnswer {
    /// One for each piece.
    pub results: Vec<ItemAnswer<SubmitAnswer>>,
}

/// The answer to one of many: what was asked for, or the problem with it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ItemAnswer<T> {
    /// What was asked for; absent when there is a problem.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub ok: Option<T>,
    /// Why it was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

fn none<T>() -> Option<T> {
    None
}

impl<T> ItemAnswer<T> {
    /// One answer.
    #[must_use]
    pub fn of<S>(result: Result<S>, then: impl FnOnce(S) -> T) -> Self {
        match result {
            Ok(done) => Self { ok: Some(then(done)), problem: None },
            Err(error) => Self { ok: None, problem: Some(Problem::from(&error)) },
        }
    }

    /// What the answer says.
    ///
    /// # Errors
    /// The problem, or that there is neither.
    pub fn into_result(self) -> Result<T> {
        match (self.ok, self.problem) {
            (Some(done), None) => Ok(done),
            (_, Some(problem)) => Err(Error::Server(Box::new(problem))),
            (None, None) => {
                Err(Error::Unintelligible { why: "an item has neither an answer nor a problem".to_owned() })
            }
        }
    }
}

impl From<Submitted> for SubmitAnswer {
    fn from(submitted: Submitted) -> Self {
        let Submitted { id, created } = submitted;
        Self { id, created, execution: None, result: None, result_bytes: None }
    }
}

impl SubmitAnswer {
    /// The same with what the execution ended with.
    #[must_use]
    pub fn with_result(self, payload: onward_core::Payload) -> Self {
        let (result, result_bytes) = payload.into_fields();
        Self { result, result_bytes, ..self }
    }
}
