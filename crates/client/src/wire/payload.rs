//! Payloads in JSON: themselves when they are JSON, else their type and their bytes.

use crate::{Error, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use onward_core::{Json, Payload};
use serde::{Deserialize, Serialize};

/// Bytes that are not JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Blob {
    /// What the bytes are.
    #[cfg_attr(feature = "openapi", schema(example = "image/png", min_length = 1, max_length = 100))]
    pub content_type: String,
    /// The bytes in base64.
    #[cfg_attr(feature = "openapi", schema(example = "aGVsbG8=", content_encoding = "base64"))]
    pub base64: String,
}

/// A payload from its two fields, of which one at most may be there.
pub(crate) fn read(json: Option<Json>, blob: Option<Blob>, field: &'static str) -> Result<Payload> {
    match (json, blob) {
        (None, None) => Ok(Payload::null()),
        (Some(json), None) => Ok(Payload::json(json.as_str())?),
        (None, Some(blob)) => {
            let bytes =
                STANDARD.decode(blob.base64).map_err(|error| invalid(field, &format!("is not base64: {error}")))?;
            Ok(Payload::bytes(&blob.content_type, bytes)?)
        }
        (Some(_), Some(_)) => Err(invalid(field, "is given both as JSON and as bytes")),
    }
}

/// The two fields of a payload.
pub(crate) fn write(payload: Payload) -> (Option<Json>, Option<Blob>) {
    match payload {
        Payload::Json(json) => (Some(json), None),
        Payload::Bytes { content_type, bytes } => {
            (None, Some(Blob { content_type: content_type.as_ref().to_owned(), base64: STANDARD.encode(bytes) }))
        }
    }
}

/// The refusal of an argument.
pub(crate) fn invalid(field: &'static str, why: &str) -> Error {
    onward_core::Rejection::InvalidArgument { field, why: why.to_owned() }.into()
}
