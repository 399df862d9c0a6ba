//! What a submitter asks for: one description from the body of a request to the rule.

use crate::record::is_default;
use crate::text::or_default;
use crate::{
    Blob, Class, IdempotencyKey, Json, Kind, Lane, Millis, Namespace, Payload, PayloadError, Policy, Rejection, Share,
    Span, TagKey, TagValue, TraceContext, UniqueKey, When,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use uuid::Uuid;

/// An execution to submit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewExecution {
    /// Namespace that it belongs to; a request names it apart from its body.
    #[serde(skip)]
    pub namespace: Namespace,
    /// Kind of work, which selects the handler.
    pub kind: Kind,
    /// Input of the handler: any JSON; `null` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub input: Option<Json>,
    /// Input of the handler, when it is not JSON; not together with `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_bytes: Option<Blob>,
    /// Lane that it queues in; `default` when absent.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub lane: Lane,
    /// Higher runs first.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "openapi", schema(maximum = 9000))]
    pub priority: u16,
    /// Runs it after this delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// Runs it at this time; not together with `delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::Time>))]
    pub run_at: Option<Millis>,
    /// Expires it after this long, unless it has ended by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_after: Option<Span>,
    /// Expires it at this time; not together with `expires_after`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::Time>))]
    pub expires_at: Option<Millis>,
    /// Labels by which it can be found.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<TagKey, TagValue>,
    /// Capabilities that a worker needs to claim it.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Class::is_empty")]
    pub requires: Class,
    /// Its fairness key within the lane; no request can choose one yet.
    #[serde(skip)]
    pub share: Share,
    /// Makes a second submit with the same key return the first execution. The header `Idempotency-Key` says the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    /// Makes a second submit with the same key return the first execution until that one ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique_key: Option<UniqueKey>,
    /// Retries, timeout and retention; what is absent is decided by the lane.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Policy::is_default")]
    pub policy: Policy,
    /// The unique part of its id, a version 7 UUID chosen by its submitter, so that a retry of the submit finds the
    /// first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>,
        pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"))]
    pub uuid: Option<Uuid>,
    /// Trace context of the submitter. For a single submit the header `traceparent` says the same; this counts more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
}

impl NewExecution {
    /// Creates an execution in the default namespace and lane that may run at once.
    #[must_use]
    pub fn new(kind: Kind, input: Payload) -> Self {
        let mut new = Self {
            namespace: Namespace::default(),
            kind,
            input: None,
            input_bytes: None,
            lane: Lane::default(),
            priority: 0,
            delay: None,
            run_at: None,
            expires_after: None,
            expires_at: None,
            tags: BTreeMap::new(),
            requires: Class::default(),
            share: Share::default(),
            idempotency_key: None,
            unique_key: None,
            policy: Policy::default(),
            uuid: None,
            trace: None,
        };
        new.set_input(input);
        new
    }

    /// Chooses the input of the handler.
    pub fn set_input(&mut self, input: Payload) {
        (self.input, self.input_bytes) = match input {
            Payload::Json(json) => (Some(json), None),
            Payload::Bytes(blob) => (None, Some(blob)),
        };
    }

    /// Chooses when it may run.
    pub fn set_when(&mut self, when: When) {
        (self.delay, self.run_at) = when.split();
    }

    /// Chooses when it expires.
    pub fn set_deadline(&mut self, deadline: Option<When>) {
        (self.expires_after, self.expires_at) = When::split_deadline(deadline);
    }

    /// The input of the handler.
    ///
    /// # Errors
    /// When it is given twice.
    pub fn payload(&self) -> Result<Payload, PayloadError> {
        Payload::of_fields(self.input.as_ref(), self.input_bytes.as_ref())
    }

    /// The number of bytes of its input.
    #[must_use]
    pub fn input_bytes(&self) -> usize {
        let json = self.input.as_ref().map_or(0, |json| json.as_str().len());
        json + self.input_bytes.as_ref().map_or(0, |blob| blob.bytes.len())
    }

    /// When it may run.
    ///
    /// # Errors
    /// When it is given twice.
    pub fn when(&self) -> Result<When, Rejection> {
        When::of_fields("run_at", self.delay, self.run_at).map(Option::unwrap_or_default)
    }

    /// When it expires, if it does.
    ///
    /// # Errors
    /// When it is given twice.
    pub fn deadline(&self) -> Result<Option<When>, Rejection> {
        When::of_fields("expires_at", self.expires_after, self.expires_at)
    }
}
