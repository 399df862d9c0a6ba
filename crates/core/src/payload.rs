//! Inputs and results: JSON by default, any bytes with a content type.

use crate::limits;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use std::sync::Arc;

/// JSON text kept exactly as it was given, apart from white space around it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Box<RawValue>);

impl Json {
    /// The JSON `null`.
    #[must_use]
    pub fn null() -> Self {
        Self(RawValue::NULL.to_owned())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }

    /// Checks its size and how deep it is nested.
    pub(crate) fn check(&self, max: usize) -> Result<(), PayloadError> {
        let found = self.as_str().len();
        if found > max {
            return Err(PayloadError::TooLarge { max, found });
        }
        check_depth(self.as_str())
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

/// Bytes that are not JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Blob {
    /// Content type of the bytes.
    #[cfg_attr(feature = "openapi",
        schema(value_type = String, example = "image/png", min_length = 1, max_length = 100))]
    pub content_type: Arc<str>,
    /// The bytes, encoded as base64 in JSON.
    #[serde(rename = "base64", with = "base64_text")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, example = "aGVsbG8=", content_encoding = "base64"))]
    pub bytes: Bytes,
}

/// Bytes as text in base64.
mod base64_text {
    use base64::Engine as _;
    use base64::display::Base64Display;
    use base64::engine::general_purpose::STANDARD;
    use bytes::Bytes;
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(bytes, &STANDARD))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        let decode = |text: &str| match STANDARD.decode(text) {
            Ok(bytes) => Ok(Bytes::from(bytes)),
            Err(error) => Err(format!("not base64: {error}")),
        };
        crate::text::decode(deserializer, "bytes in base64", decode)
    }
}

/// The input or result of an execution, at most 512 KiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// JSON text.
    Json(Json),
    /// Bytes of any other content type.
    Bytes(Blob),
}

/// The content type of JSON payloads.
pub(crate) const JSON_TYPE: &str = "application/json";

/// Why a value is not a valid payload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// Too many bytes.
    #[error("the payload has {found} bytes; the maximum is {max}")]
    TooLarge {
        /// Maximum size in bytes.
        max: usize,
        /// Size of the payload.
        found: usize,
    },
    /// Nested deeper than the limit.
    #[error("the JSON is nested deeper than {max} levels")]
    TooDeep {
        /// Maximum number of levels.
        max: usize,
    },
    /// Given both as JSON and as bytes.
    #[error("the payload is given both as JSON and as bytes")]
    Twice,
    /// Not JSON, or not JSON of the expected type.
    #[error("not valid JSON: {0}")]
    NotJson(String),
    /// The content type is empty, too long or not printable ASCII.
    #[error("a content type must have 1 to {max} printable ASCII characters")]
    ContentType {
        /// Maximum number of characters.
        max: usize,
    },
}

impl PayloadError {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "payload_too_large",
            Self::TooDeep { .. } => "payload_too_deep",
            Self::Twice => "payload_twice",
            Self::NotJson(_) => "payload_not_json",
            Self::ContentType { .. } => "invalid_content_type",
        }
    }

    /// What the caller can do.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "store large data elsewhere and pass a reference to it",
            Self::TooDeep { .. } => "flatten the value",
            Self::Twice => "leave one of them out",
            Self::NotJson(_) => "correct the JSON; strings need double quotes",
            Self::ContentType { .. } => "use, for example, image/png",
        }
    }
}

impl Payload {
    /// The JSON `null`, for work that needs no input or gives no result.
    #[must_use]
    pub fn null() -> Self {
        Self::Json(Json::null())
    }

    /// Checks JSON text: size, depth, syntax.
    ///
    /// # Errors
    /// When the text is too large, too deep or not JSON.
    pub fn json(text: impl Into<String>) -> Result<Self, PayloadError> {
        let text = text.into();
        check_size(text.len())?;
        check_depth(&text)?;
        let raw = RawValue::from_string(text).map_err(|error| PayloadError::NotJson(error.to_string()))?;
        Ok(Self::Json(Json(raw)))
    }

    /// Turns a value into JSON. How deep it is nested is checked where it is stored.
    ///
    /// # Errors
    /// When the value cannot be JSON or is too large.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, PayloadError> {
        let raw = to_raw_value(value).map_err(|error| PayloadError::NotJson(error.to_string()))?;
        check_size(raw.get().len())?;
        Ok(Self::Json(Json(raw)))
    }

    /// Creates a payload from bytes. JSON bytes are checked and become [`Payload::Json`].
    ///
    /// # Errors
    /// When the bytes are too large, the content type is invalid, or JSON bytes are not JSON.
    pub fn bytes(content_type: &str, bytes: impl Into<Bytes>) -> Result<Self, PayloadError> {
        let bytes = bytes.into();
        check_size(bytes.len())?;
        let max = limits::CONTENT_TYPE_BYTES_MAX;
        let printable = content_type.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        if content_type.is_empty() || content_type.len() > max || !printable {
            return Err(PayloadError::ContentType { max });
        }
        if content_type == JSON_TYPE {
            let text = String::from_utf8(bytes.into()).map_err(|error| PayloadError::NotJson(error.to_string()))?;
            return Self::json(text);
        }
        Ok(Self::Bytes(Blob { content_type: content_type.into(), bytes }))
    }

    /// Creates a payload from the two fields that a request has for it; JSON `null` when both are absent.
    ///
    /// # Errors
    /// When both are set, or the bytes are not a valid payload.
    pub fn of_fields(json: Option<&Json>, blob: Option<&Blob>) -> Result<Self, PayloadError> {
        match (json, blob) {
            (None, None) => Ok(Self::null()),
            (Some(json), None) => Ok(Self::Json(json.clone())),
            (None, Some(blob)) => Self::bytes(&blob.content_type, blob.bytes.clone()),
            (Some(_), Some(_)) => Err(PayloadError::Twice),
        }
    }

    /// Splits it into the two fields that a response has for it.
    #[must_use]
    pub fn into_fields(self) -> (Option<Json>, Option<Blob>) {
        match self {
            Self::Json(json) => (Some(json), None),
            Self::Bytes(blob) => (None, Some(blob)),
        }
    }

    /// Checks the limits, however it was made: what cannot be read back must not be written.
    pub(crate) fn check(&self) -> Result<(), PayloadError> {
        match self {
            Self::Json(json) => {
                check_size(json.as_str().len())?;
                check_depth(json.as_str())
            }
            Self::Bytes(blob) => Self::bytes(&blob.content_type, blob.bytes.clone()).map(drop),
        }
    }

    /// The content type.
    #[must_use]
    pub fn content_type(&self) -> &str {
        match self {
            Self::Json(_) => JSON_TYPE,
            Self::Bytes(blob) => &blob.content_type,
        }
    }

    /// The bytes, whatever they are.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Json(json) => json.as_str().as_bytes(),
            Self::Bytes(blob) => &blob.bytes,
        }
    }

    /// Reads a JSON payload as a value.
    ///
    /// # Errors
    /// When the payload is not JSON or has another shape.
    pub fn read<T: for<'de> Deserialize<'de>>(&self) -> Result<T, PayloadError> {
        match self {
            Self::Json(json) => {
                serde_json::from_str(json.as_str()).map_err(|error| PayloadError::NotJson(error.to_string()))
            }
            Self::Bytes(blob) => Err(PayloadError::NotJson(format!("its content type is {}", blob.content_type))),
        }
    }
}

fn check_size(found: usize) -> Result<(), PayloadError> {
    let max = limits::PAYLOAD_BYTES_MAX;
    if found > max { Err(PayloadError::TooLarge { max, found }) } else { Ok(()) }
}

/// Counts brackets outside strings, so that no parser has to recurse into a hostile text first.
fn check_depth(text: &str) -> Result<(), PayloadError> {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                if depth > limits::JSON_DEPTH_MAX {
                    return Err(PayloadError::TooDeep { max: limits::JSON_DEPTH_MAX });
                }
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_payloads_are_refused_with_their_reason() {
        let deep = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert!(Payload::json(deep(limits::JSON_DEPTH_MAX)).is_ok());
        assert_eq!(Payload::json(deep(65)), Err(PayloadError::TooDeep { max: 64 }));
        assert_eq!(Payload::json(deep(200_000)), Err(PayloadError::TooDeep { max: 64 }));
        assert!(Payload::json(format!("\"{}\"", "[".repeat(500))).is_ok(), "brackets in a string are text");
        assert!(matches!(Payload::json("{"), Err(PayloadError::NotJson(_))));
        assert!(matches!(Payload::bytes(JSON_TYPE, &b"\xff"[..]), Err(PayloadError::NotJson(_))));
        let found = limits::PAYLOAD_BYTES_MAX + 1;
        let max = limits::PAYLOAD_BYTES_MAX;
        assert_eq!(Payload::bytes("image/png", vec![0; found]), Err(PayloadError::TooLarge { max, found }));
        assert!(Payload::bytes("image/png\n", vec![0]).is_err());
    }

    #[test]
    fn bytes_come_back_exactly() {
        let every: Vec<u8> = (0..=255).collect();
        assert_eq!(Payload::bytes("image/png", every.clone()).unwrap().as_bytes(), every);
        assert_eq!(Payload::json("{\"a\" : 1.50}").unwrap().as_bytes(), b"{\"a\" : 1.50}");
    }
}
