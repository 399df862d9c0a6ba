//! An execution to submit: the same type is the body of a request and the input of the rule.

use crate::payload::JSON_TYPE;
use crate::record::is_default;
use crate::text::or_default;
use crate::{
    Blob, Class, CommandId, IdempotencyKey, Json, Kind, Lane, Millis, Namespace, NewSignal, Payload, PayloadError,
    Policy, Rejection, Span, TagKey, TagValue, TraceContext, UniqueKey, When, limits,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use uuid::Uuid;

/// An execution to submit.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewExecution {
    /// Namespace; a request has it in a header.
    #[serde(skip)]
    pub namespace: Namespace,
    /// Kind of work, which selects the handler.
    pub kind: Kind,
    /// Input of the handler, any JSON; `null` when absent.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub input: Option<Json>,
    /// Input of the handler as bytes that are not JSON; not together with `input`.
    pub input_bytes: Option<Blob>,
    /// Lane in which it queues; `default` when absent.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    pub lane: Lane,
    /// Priority, from 0 to 9,000; higher runs first, 0 when absent.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "openapi", schema(maximum = 9000))]
    pub priority: u16,
    /// Delay before it runs.
    pub delay: Option<Span>,
    /// Time at which it runs; not together with `delay`.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::Time>))]
    pub run_at: Option<Millis>,
    /// Time after which it expires if it has not ended.
    pub expires_after: Option<Span>,
    /// Time at which it expires if it has not ended; not together with `expires_after`.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::Time>))]
    pub expires_at: Option<Millis>,
    /// Tags, which can be searched; at most 16.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<TagKey, TagValue>,
    /// Capabilities that a worker must have to claim it.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Class::is_empty")]
    pub requires: Class,
    /// Idempotency key: a second submit with the same key returns the first execution. Same as the header
    /// `Idempotency-Key`.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Unique key: until this execution ends, another submit with the same key returns it.
    pub unique_key: Option<UniqueKey>,
    /// Signal that is sent along with a unique key: to the execution that has the key, or to this one if none has.
    pub signal: Option<Box<NewSignal>>,
    /// Retries, timeouts and retention; absent fields take the defaults of the lane.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Policy::is_default")]
    pub policy: Policy,
    /// Unique part of the id, a version 7 UUID. A client that sets it can retry the submit without creating a second
    /// execution.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>,
        pattern = "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"))]
    pub uuid: Option<Uuid>,
    /// Trace context of the submitter. It overrides the header `traceparent` of a single submit.
    pub trace: Option<TraceContext>,
    /// Names the call, so that a repeat of it is known beside a unique key; a request has it in the header
    /// `Idempotency-Key`.
    #[serde(skip)]
    pub call: Option<CommandId>,
}

impl NewExecution {
    /// Creates an execution in the default namespace and lane that runs at once.
    #[must_use]
    pub fn new(kind: Kind, input: Payload) -> Self {
        let (input, input_bytes) = input.into_fields();
        Self {
            namespace: Namespace::default(),
            kind,
            input,
            input_bytes,
            lane: Lane::default(),
            priority: 0,
            delay: None,
            run_at: None,
            expires_after: None,
            expires_at: None,
            tags: BTreeMap::new(),
            requires: Class::default(),
            idempotency_key: None,
            unique_key: None,
            signal: None,
            policy: Policy::default(),
            uuid: None,
            trace: None,
            call: None,
        }
    }

    /// Sets the input of the handler.
    pub fn set_input(&mut self, input: Payload) {
        (self.input, self.input_bytes) = input.into_fields();
    }

    /// Sets the time at which it runs.
    pub fn set_when(&mut self, when: When) {
        (self.delay, self.run_at) = when.split();
    }

    /// Sets the deadline.
    pub fn set_deadline(&mut self, deadline: Option<When>) {
        (self.expires_after, self.expires_at) = When::split_deadline(deadline);
    }

    /// The input of the handler.
    ///
    /// # Errors
    /// When both fields are set, or the bytes are not a valid payload.
    pub fn payload(&self) -> Result<Payload, PayloadError> {
        Payload::of_fields(self.input.as_ref(), self.input_bytes.as_ref())
    }

    /// Content type and bytes of the input.
    #[must_use]
    pub fn input_parts(&self) -> (&str, &[u8]) {
        match (&self.input_bytes, &self.input) {
            (Some(blob), _) => (&blob.content_type, &blob.bytes),
            (None, Some(json)) => (JSON_TYPE, json.as_str().as_bytes()),
            (None, None) => (JSON_TYPE, b"null"),
        }
    }

    /// Checks everything that can be judged without a look at what is stored, apart from the input.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self) -> Result<(), Rejection> {
        if self.idempotency_key.is_some() && self.unique_key.is_some() {
            return Err(Rejection::TwoKeys);
        }
        if self.signal.is_some() && self.unique_key.is_none() {
            return Err(Rejection::invalid("signal", "needs a unique_key, by which a running execution is found"));
        }
        self.when()?;
        self.deadline()?;
        if self.uuid.is_some_and(|uuid| uuid.get_version_num() != 7) {
            return Err(Rejection::invalid("uuid", "must be of version 7"));
        }
        limits::check_priority(self.priority)?;
        if self.tags.len() > limits::TAGS_MAX {
            let why = format!("must be at most {}, are {}", limits::TAGS_MAX, self.tags.len());
            return Err(Rejection::invalid("tags", why));
        }
        self.policy.check()
    }

    /// The time at which it runs.
    ///
    /// # Errors
    /// When both fields are set.
    pub fn when(&self) -> Result<When, Rejection> {
        When::of_fields("run_at", self.delay, self.run_at).map(Option::unwrap_or_default)
    }

    /// The deadline, if it has one.
    ///
    /// # Errors
    /// When both fields are set.
    pub fn deadline(&self) -> Result<Option<When>, Rejection> {
        When::of_fields("expires_at", self.expires_after, self.expires_at)
    }
}
