//! Why somebody did something: a short text for people.

use crate::limits;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::sync::Arc;

/// A short text for people; a longer one is cut at a character boundary.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Reason(Arc<str>);

impl Reason {
    /// A reason; what is beyond the limit is cut off.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(cut(text, limits::REASON_BYTES_MAX).into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether nothing was said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The longest beginning of a text that is at most so many bytes and does not end within a character.
pub(crate) fn cut(text: &str, max: usize) -> &str {
    let mut end = text.len().min(max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

impl Default for Reason {
    fn default() -> Self {
        Self("".into())
    }
}

impl From<&str> for Reason {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::decode(deserializer, "a text", |text| Ok::<_, fmt::Error>(Self::new(text)))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}
