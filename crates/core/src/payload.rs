//! Inputs and results: JSON by default, any bytes with a content type.

use crate::limits;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
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
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Json {}

/// What goes into an execution or comes out of it, at most 512 KiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payload {
    /// JSON text.
    Json(Json),
    /// Bytes of any other type.
    Bytes {
        /// Says what they are.
        content_type: Arc<str>,
        /// The bytes.
        bytes: Bytes,
    },
}

/// The content type of JSON payloads.
pub(crate) const JSON_TYPE: &str = "application/json";

/// Why bytes cannot be a payload.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// Too many bytes.
    #[error("a payload has at most {max} bytes, this one has {found}")]
    TooLarge {
        /// The limit.
        max: usize,
        /// What was given.
        found: usize,
    },
    /// Nested deeper than the limit.
    #[error("JSON may be nested {max} deep, this is deeper")]
    TooDeep {
        /// The limit.
        max: usize,
    },
    /// Not JSON.
    #[error("this is not JSON: {0}")]
    NotJson(String),
    /// The content type is empty, too long or not printable ASCII.
    #[error("a content type has 1 to {max} printable ASCII characters")]
    ContentType {
        /// The limit.
        max: usize,
    },
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
    /// Says what is wrong with the text.
    pub fn json(text: impl Into<String>) -> Result<Self, PayloadError> {
        let text = text.into();
        check_size(text.len())?;
        check_depth(&text)?;
        let raw = RawValue::from_string(text).map_err(|error| PayloadError::NotJson(error.to_string()))?;
        Ok(Self::Json(Json(raw)))
    }

    /// Turns a value into JSON.
    ///
    /// # Errors
    /// When the value cannot be JSON or breaks a limit.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, PayloadError> {
        Self::json(serde_json::to_string(value).map_err(|error| PayloadError::NotJson(error.to_string()))?)
    }

    /// Takes bytes of any type. JSON bytes are checked and become [`Payload::Json`].
    ///
    /// # Errors
    /// Says what is wrong with the bytes or their type.
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
        Ok(Self::Bytes { content_type: content_type.into(), bytes })
    }

    /// Checks the limits again, however it was made: what cannot be read back must not be written.
    pub(crate) fn check(&self) -> Result<(), PayloadError> {
        match self {
            Self::Json(json) => {
                check_size(json.as_str().len())?;
                check_depth(json.as_str())
            }
            Self::Bytes { content_type, bytes } => Self::bytes(content_type, bytes.clone()).map(drop),
        }
    }

    /// Says what the bytes are.
    #[must_use]
    pub fn content_type(&self) -> &str {
        match self {
            Self::Json(_) => JSON_TYPE,
            Self::Bytes { content_type, .. } => content_type,
        }
    }

    /// The bytes, whatever they are.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Json(json) => json.as_str().as_bytes(),
            Self::Bytes { bytes, .. } => bytes,
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
            Self::Bytes { content_type, .. } => Err(PayloadError::NotJson(format!("its type is {content_type}"))),
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
