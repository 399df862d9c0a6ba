//! Payloads: small JSON stands in its execution, anything else in a record of its own.

use crate::record::{Record, StoredPayload};
use crate::view::unreadable;
use crate::{ExecutionId, Key, NewExecution, Payload, PayloadSlot, Rejection, Stop, View, limits};
use bytes::Bytes;

/// The input of a new execution.
pub(crate) fn of(new: &NewExecution) -> Result<Payload, Rejection> {
    new.payload().map_err(|error| Rejection::Payload { field: "input", error })
}

/// Stores a payload: small JSON in the execution, anything else in a record of its own.
pub(crate) fn store(
    view: &mut View,
    id: ExecutionId,
    slot: PayloadSlot,
    payload: &Payload,
) -> Result<StoredPayload, Stop> {
    let field = match slot {
        PayloadSlot::Input => "input",
        PayloadSlot::Result => "result",
    };
    payload.check().map_err(|error| Rejection::Payload { field, error })?;
    let bytes = match payload {
        Payload::Json(json) if json.as_str().len() <= limits::PAYLOAD_INLINE_BYTES_MAX => {
            return Ok(StoredPayload::Json(json.clone()));
        }
        Payload::Json(json) => Bytes::copy_from_slice(json.as_str().as_bytes()),
        Payload::Bytes(blob) => blob.bytes.clone(),
    };
    let stored = StoredPayload::Beside { content_type: payload.content_type().into(), bytes: bytes.len() as u64 };
    view.put_new(Key::Payload(id, slot), Record::Payload(bytes))?;
    Ok(stored)
}

/// Loads a payload that [`store`] stored.
pub(crate) fn load(view: &mut View, key: &Key, stored: &StoredPayload) -> Result<Payload, Stop> {
    let (content_type, bytes) = match stored {
        StoredPayload::Json(json) => return Ok(Payload::Json(json.clone())),
        StoredPayload::Beside { content_type, .. } => match view.get(key)?.as_deref() {
            Some(Record::Payload(bytes)) => (content_type, bytes.clone()),
            _ => return Err(unreadable(key)),
        },
    };
    Payload::bytes(content_type, bytes).map_err(|_| unreadable(key))
}
