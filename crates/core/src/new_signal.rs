//! A signal to send: the same type is the body of a request and the input of the rule.

use crate::record::WaitAddress;
use crate::{Blob, CommandId, IdempotencyKey, Json, Payload, PayloadError, SignalId, SignalName};
use serde::{Deserialize, Serialize};

/// A signal to an execution.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewSignal {
    /// The wait that it is for: a name, or `name#2` for the second wait for it only. A signal that comes before the wait is
    /// kept for it.
    pub wait: WaitAddress,
    /// Name of the signal, such as `approved`; a wait may take some names only.
    pub name: Option<SignalName>,
    /// What it carries, any JSON; `null` when absent.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub payload: Option<Json>,
    /// What it carries as bytes that are not JSON; not together with `payload`.
    pub payload_bytes: Option<Blob>,
    /// A second signal to the same wait name with the same key is the same signal, for as long as the execution exists.
    pub idempotency_key: Option<IdempotencyKey>,
}

impl NewSignal {
    /// A signal without a name that carries `null`.
    #[must_use]
    pub fn new(wait: impl Into<WaitAddress>) -> Self {
        Self { wait: wait.into(), name: None, payload: None, payload_bytes: None, idempotency_key: None }
    }

    /// Sets what it carries.
    pub fn set_payload(&mut self, payload: Payload) {
        (self.payload, self.payload_bytes) = payload.into_fields();
    }

    /// What it carries.
    ///
    /// # Errors
    /// When both fields are set, or the bytes are not a valid payload.
    pub fn carried(&self) -> Result<Payload, PayloadError> {
        Payload::of_fields(self.payload.as_ref(), self.payload_bytes.as_ref())
    }

    /// Its id: the same for a repeat, which has the same key, or comes from the same call.
    pub(crate) fn id(&self, call: CommandId) -> SignalId {
        match &self.idempotency_key {
            Some(key) => SignalId::of(&[b"key", self.wait.name.as_str().as_bytes(), key.as_str().as_bytes()]),
            None => SignalId::of(&[b"call", &call.0.to_le_bytes()]),
        }
    }

    /// About how many bytes it holds.
    pub(crate) fn bytes(&self) -> usize {
        let json = self.payload.as_ref().map_or(0, |json| json.as_str().len());
        json + self.payload_bytes.as_ref().map_or(0, |blob| blob.bytes.len())
    }
}
