//! How values are decoded: text from the input's own bytes without a copy in between, and `null` as absence.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// Decodes a field for which `null` means the same as its absence.
///
/// # Errors
/// Those of the value.
pub fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Decodes a text with a parser; `expected` says what else is wrong with.
pub(crate) fn decode<'de, D, T, E>(
    deserializer: D,
    expected: &'static str,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    E: fmt::Display,
{
    deserializer.deserialize_str(Text(expected, parse))
}

struct Text<P>(&'static str, P);

impl<T, E: fmt::Display, P: FnOnce(&str) -> Result<T, E>> Visitor<'_> for Text<P> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_str<F: Error>(self, text: &str) -> Result<T, F> {
        (self.1)(text).map_err(Error::custom)
    }
}
