//! Points and spans of time, in milliseconds.

use crate::Rejection;
use jiff::{SpanRelativeTo, Timestamp};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::ops::{Add, Sub};
use std::str::FromStr;

/// A point in time: milliseconds since the Unix epoch, on the store's clock. Where people write one it may also be text,
/// such as `2030-01-01T09:00:00Z`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Millis(pub u64);

/// A length of time in milliseconds. Where people write one it may also be text, such as `30s`, `5m`, `1h30m` or `2d`; a
/// day has 24 hours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Span(pub u64);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(number) = text.parse() {
            return Ok(Self(number));
        }
        let wrong = |why: &dyn fmt::Display| format!("{:?} is not a duration such as 30s: {why}", cut(text));
        let span: jiff::Span = text.trim().parse().map_err(|error: jiff::Error| wrong(&error))?;
        let length = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|error| wrong(&error))?;
        u64::try_from(length.as_millis()).map(Self).map_err(|_| wrong(&"it is negative"))
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "milliseconds, or a duration such as \"30s\"";
        deserializer.deserialize_any(NumberOrText(expected, Self, Self::from_str))
    }
}

/// Reads a number or a text.
struct NumberOrText<T>(&'static str, fn(u64) -> T, fn(&str) -> Result<T, String>);

impl<T> Visitor<'_> for NumberOrText<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        Ok(self.1(number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        self.2(text).map_err(E::custom)
    }
}

/// When an execution may run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum When {
    /// At once.
    #[default]
    Now,
    /// After a pause.
    After(Span),
    /// At a time, which may not lie in the past.
    At(Millis),
}

impl When {
    /// A time from the two fields in which requests hold it; `field` names the second.
    ///
    /// # Errors
    /// When there are both.
    pub fn of_fields(field: &'static str, after: Option<Span>, at: Option<Millis>) -> Result<Option<Self>, Rejection> {
        match (after, at) {
            (None, None) => Ok(None),
            (Some(span), None) => Ok(Some(Self::After(span))),
            (None, Some(at)) => Ok(Some(Self::At(at))),
            (Some(_), Some(_)) => Err(Rejection::invalid(field, "is given both as a time and as a duration")),
        }
    }

    /// The two fields in which requests hold a deadline, where absence means that there is none.
    pub(crate) fn split_deadline(deadline: Option<Self>) -> (Option<Span>, Option<Millis>) {
        match deadline {
            None => (None, None),
            Some(Self::Now) => (Some(Span(0)), None),
            Some(when) => when.split(),
        }
    }

    /// The two fields in which requests hold it, where absence means now.
    #[must_use]
    pub fn split(self) -> (Option<Span>, Option<Millis>) {
        match self {
            Self::Now => (None, None),
            Self::After(span) => (Some(span), None),
            Self::At(at) => (None, Some(at)),
        }
    }
}

impl FromStr for Millis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(number) = text.parse() {
            return Ok(Self(number));
        }
        let wrong =
            |why: &dyn fmt::Display| format!("{:?} is not a time such as 2030-01-01T09:00:00Z: {why}", cut(text));
        let time: Timestamp = text.trim().parse().map_err(|error: jiff::Error| wrong(&error))?;
        u64::try_from(time.as_millisecond()).map(Self).map_err(|_| wrong(&"it is before 1970"))
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "milliseconds since 1970, or a time such as \"2030-01-01T09:00:00Z\"";
        deserializer.deserialize_any(NumberOrText(expected, Self, Self::from_str))
    }
}

/// As much of a text as an error should repeat.
fn cut(text: &str) -> &str {
    crate::reason::cut(text, 40)
}

impl Span {
    /// A span of whole seconds.
    #[must_use]
    pub const fn seconds(n: u64) -> Self {
        Self(n * 1_000)
    }

    /// A span of whole minutes.
    #[must_use]
    pub const fn minutes(n: u64) -> Self {
        Self::seconds(n * 60)
    }

    /// A span of whole hours.
    #[must_use]
    pub const fn hours(n: u64) -> Self {
        Self::minutes(n * 60)
    }

    /// A span of whole days.
    #[must_use]
    pub const fn days(n: u64) -> Self {
        Self::hours(n * 24)
    }
}

impl Add<Span> for Millis {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Millis {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl Sub for Millis {
    type Output = Span;
    fn sub(self, earlier: Self) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ms if ms >= 1_000 && ms % 1_000 == 0 => write!(f, "{} s", ms / 1_000),
            ms => write!(f, "{ms} ms"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_say_the_same() {
        for (text, ms) in [("\"30s\"", 30_000), ("\"1h30m\"", 5_400_000), ("\"2d\"", 172_800_000), ("250", 250)] {
            assert_eq!(serde_json::from_str::<Span>(text).unwrap(), Span(ms), "{text}");
        }
        assert_eq!("250".parse(), Ok(Span(250)), "as in a query");
        for text in ["\"\"", "\"s\"", "\"-5s\"", "-5", "1.5", "null", "\"1 month\"", "[1]"] {
            assert!(serde_json::from_str::<Span>(text).is_err(), "{text}");
        }
        let time = Millis(1_893_488_400_000);
        for text in ["1893488400000", "\"2030-01-01T09:00:00Z\"", "\"2030-01-01T10:00:00+01:00\""] {
            assert_eq!(serde_json::from_str::<Millis>(text).unwrap(), time, "{text}");
        }
        for text in ["\"2030-01-01\"", "\"1960-01-01T00:00:00Z\"", "-1", "\"soon\""] {
            assert!(serde_json::from_str::<Millis>(text).is_err(), "{text}");
        }
    }
}
