//! Submitting over HTTP.

use super::payload::{self, Blob, invalid};
use super::{Length, Problem, Time, is_default};
use crate::{Client, Result};
use onward_core::{
    Backoff, Category, Class, ExecutionId, IdempotencyKey, Json, Kind, Lane, Policy, RetryPolicy, Submitted, TagKey,
    TagValue, TraceContext, UniqueKey, When, limits,
};
use onward_engine::NewExecution;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use uuid::Uuid;

/// Work to submit.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewWork {
    /// Which handler runs it.
    pub kind: Kind,
    /// What it works on: any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub input: Option<Json>,
    /// What it works on, when that is not JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_bytes: Option<Blob>,
    /// Where it queues; `default` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<Lane>,
    /// Higher runs first.
    #[serde(default, skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "openapi", schema(maximum = 9000))]
    pub priority: u16,
    /// Runs it after a pause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Length>,
    /// Runs it at a time; not together with `delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_at: Option<Time>,
    /// Expires it after this long, wherever it stands then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_after: Option<Length>,
    /// Expires it at a time; not together with `expires_after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Time>,
    /// Labels by which it can be found.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<TagKey, TagValue>,
    /// The capabilities that its worker must have.
    #[serde(default, skip_serializing_if = "Class::is_empty")]
    pub requires: Class,
    /// Makes a second submit with the same key answer the first execution. The header `Idempotency-Key` says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    /// Makes a second submit with the same key answer the first execution until that one ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique_key: Option<UniqueKey>,
    /// What to do when it fails, how long it may run and how long it is kept.
    #[serde(default, skip_serializing_if = "is_default")]
    pub policy: PolicyFields,
    /// The unique part of its id, a uuid of version 7 that the caller made: a repeat of the submit finds the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>,
        pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"))]
    pub uuid: Option<Uuid>,
    /// The trace from which it comes. For a single submit the header `traceparent` says the same; this counts more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
}

/// What is decided beforehand; what is absent is decided by the lane, or is as usual.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct PolicyFields {
    /// What to do when an attempt fails; three retries with growing pauses as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryFields>,
    /// How long one attempt may run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt_timeout: Option<Length>,
    /// How many lost workers are followed by another attempt; 100 as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 10000))]
    pub max_reclaims: Option<u32>,
    /// How often it may be run again after it has ended; 10 as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 1000))]
    pub max_replays: Option<u32>,
    /// How long it is kept after it has ended; a week as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<Length>,
    /// How long an idempotency key is remembered; a day as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup_window: Option<Length>,
}

/// How often and after which pauses a failed execution is tried again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RetryFields {
    /// Attempts after the first one; 3 as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(maximum = 1000))]
    pub max_retries: Option<u32>,
    /// The first pause; a second as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_pause: Option<Length>,
    /// The longest pause, a minute as usual; pauses double up to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_pause: Option<Length>,
    /// Whether every pause is drawn by chance up to its length, so that a crowd does not come back as a crowd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<bool>,
    /// When not empty, only failures of these categories are retried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "openapi", schema(max_items = 16))]
    pub categories: Vec<Category>,
}

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
    pub executions: Vec<NewWork>,
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
#[serde(rename_all = "snake_case")]
pub enum ItemAnswer<T> {
    /// It was done.
    Ok(T),
    /// It was not.
    Problem(Problem),
}

impl<T> ItemAnswer<T> {
    /// One answer.
    #[must_use]
    pub fn of<S>(result: Result<S>, then: impl FnOnce(S) -> T) -> Self {
        match result {
            Ok(done) => Self::Ok(then(done)),
            Err(error) => Self::Problem(Problem::from(&error)),
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
        let (result, result_bytes) = payload::write(payload);
        Self { result, result_bytes, ..self }
    }
}

impl NewWork {
    /// What the engine is told.
    ///
    /// # Errors
    /// When arguments contradict each other or break a limit.
    pub fn into_new(self, client: &Client) -> Result<NewExecution> {
        let mut new = NewExecution::new(self.kind, payload::read(self.input, self.input_bytes, "input")?);
        new.namespace = client.namespace().clone();
        new.lane = self.lane.unwrap_or_default();
        new.priority = self.priority;
        new.when = when(self.delay, self.run_at, "run_at")?.unwrap_or_default();
        new.deadline = when(self.expires_after, self.expires_at, "expires_at")?;
        if self.tags.len() > limits::TAGS_MAX {
            return Err(invalid("tags", &format!("at most {} are allowed", limits::TAGS_MAX)));
        }
        new.tags = self.tags;
        new.requires = self.requires;
        new.policy = self.policy.into();
        new.idempotency_key = self.idempotency_key;
        new.unique_key = self.unique_key;
        if self.uuid.is_some_and(|uuid| uuid.get_version_num() != 7) {
            return Err(invalid("uuid", "must be of version 7"));
        }
        new.chosen = self.uuid;
        new.trace = self.trace;
        Ok(new)
    }
}

/// A time given as one of two fields.
pub(crate) fn when(after: Option<Length>, at: Option<Time>, field: &'static str) -> Result<Option<When>> {
    match (after, at) {
        (None, None) => Ok(None),
        (Some(Length(span)), None) => Ok(Some(When::After(span))),
        (None, Some(Time(at))) => Ok(Some(When::At(at))),
        (Some(_), Some(_)) => Err(invalid(field, "is given both as a time and as a length of time")),
    }
}

impl From<PolicyFields> for Policy {
    fn from(fields: PolicyFields) -> Self {
        Self {
            retry: fields.retry.map(RetryPolicy::from),
            attempt_timeout: fields.attempt_timeout.map(|length| length.0),
            max_reclaims: fields.max_reclaims,
            max_replays: fields.max_replays,
            retention: fields.retention.map(|length| length.0),
            dedup_window: fields.dedup_window.map(|length| length.0),
        }
    }
}

impl From<RetryFields> for RetryPolicy {
    fn from(fields: RetryFields) -> Self {
        let usual = Self::default();
        let Backoff::Exponential { initial, max, jitter } = Backoff::default() else { return usual };
        let first = fields.first_pause.map_or(initial, |length| length.0);
        let longest = fields.longest_pause.map_or(max.max(first), |length| length.0);
        let jitter = fields.jitter.unwrap_or(jitter);
        // Pauses that cannot grow are all alike.
        let backoff = if first == longest {
            Backoff::Fixed { delay: first, jitter }
        } else {
            Backoff::Exponential { initial: first, max: longest, jitter }
        };
        Self { max_retries: fields.max_retries.unwrap_or(usual.max_retries), backoff, categories: fields.categories }
    }
}
