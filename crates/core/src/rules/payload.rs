//! Payloads: small JSON stands in its execution, anything else in a record of its own.

use crate::record::{PayloadBytes, Record, StoredPayload};
use crate::view::unreadable;
use crate::{ExecutionId, Key, NewExecution, Payload, PayloadSlot, Rejection, Stop, View, limits};
use bytes::Bytes;
use std::sync::Arc;

/// The input of a new execution, within its limits.
pub(crate) fn input(new: &NewExecution) -> Result<Payload, Rejection> {
    let checked = new.payload().and_then(|input| input.check().map(|()| input));
    checked.map_err(|error| Rejection::Payload { field: "input", error })
}

/// Refuses a result beyond its limits.
pub(crate) fn check_result(result: &Payload) -> Result<(), Rejection> {
    result.check().map_err(|error| Rejection::Payload { field: "result", error })
}

/// Stores a payload that was checked: small JSON where it is kept, anything else in a record of its own.
pub(crate) fn store(
    view: &mut View,
    id: ExecutionId,
    slot: PayloadSlot,
    payload: Payload,
) -> Result<StoredPayload, Stop> {
    let content_type: Arc<str> = payload.content_type().into();
    let bytes = match payload {
        Payload::Json(json) if json.as_str().len() <= limits::PAYLOAD_INLINE_BYTES_MAX => {
            return Ok(StoredPayload::Json(json));
        }
        Payload::Json(json) => Bytes::copy_from_slice(json.as_str().as_bytes()),
        Payload::Bytes(blob) => blob.bytes,
    };
    let stored = StoredPayload::Beside { content_type, bytes: bytes.len() as u64 };
    view.put_new(Key::Payload(id, slot), Record::Payload(PayloadBytes(bytes)))?;
    Ok(stored)
}

/// Loads a payload that [`store`] stored.
pub(crate) fn load(view: &mut View, key: &Key, stored: &StoredPayload) -> Result<Payload, Stop> {
    let (content_type, bytes) = match stored {
        StoredPayload::Json(json) => return Ok(Payload::Json(json.clone())),
        StoredPayload::Beside { content_type, .. } => match view.get(key)?.as_deref() {
            Some(Record::Payload(PayloadBytes(bytes))) => (content_type, bytes.clone()),
            _ => return Err(unreadable(key)),
        },
    };
    Payload::bytes(content_type, bytes).map_err(|_| unreadable(key))
}
