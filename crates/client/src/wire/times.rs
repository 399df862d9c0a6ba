//! Times and lengths of time as callers write them: numbers of milliseconds, or text for people.

use jiff::{SpanRelativeTo, Timestamp};
use onward_core::{Millis, Span};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::str::FromStr;

/// A time: milliseconds since 1970, or text such as `2030-01-01T09:00:00Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Time(pub Millis);

/// A length of time: milliseconds, or text such as `30s`, `5m`, `1h30m` or `2d`; a day has 24 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Length(pub Span);

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(number) = text.parse() {
            return Ok(Self(Millis(number)));
        }
        let wrong =
            |why: &dyn fmt::Display| format!("{:?} is not a time such as 2030-01-01T09:00:00Z: {why}", cut(text));
        let time: Timestamp = text.trim().parse().map_err(|error: jiff::Error| wrong(&error))?;
        let since = u64::try_from(time.as_millisecond()).map_err(|_| wrong(&"it is before 1970"))?;
        Ok(Self(Millis(since)))
    }
}

impl FromStr for Length {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(number) = text.parse() {
            return Ok(Self(Span(number)));
        }
        let wrong = |why: &dyn fmt::Display| format!("{:?} is not a length of time such as 30s: {why}", cut(text));
        let span: jiff::Span = text.trim().parse().map_err(|error: jiff::Error| wrong(&error))?;
        let length = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|error| wrong(&error))?;
        let ms = u64::try_from(length.as_millis()).map_err(|_| wrong(&"it is negative"))?;
        Ok(Self(Span(ms)))
    }
}

/// As much of a text as an error should repeat.
fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Reads a number or a text.
struct Either<T>(&'static str, fn(u64) -> T, fn(&str) -> Result<T, String>);

impl<T> Visitor<'_> for Either<T> {
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

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "milliseconds since 1970, or a time such as \"2030-01-01T09:00:00Z\"";
        deserializer.deserialize_any(Either(expected, |ms| Self(Millis(ms)), Self::from_str))
    }
}

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "milliseconds, or a length of time such as \"30s\"";
        deserializer.deserialize_any(Either(expected, |ms| Self(Span(ms)), Self::from_str))
    }
}

#[cfg(feature = "openapi")]
mod schemas {
    use super::{Length, Time};
    use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, OneOfBuilder, SchemaFormat, SchemaType, Type};
    use utoipa::openapi::{RefOr, Schema};
    use utoipa::{PartialSchema, ToSchema};

    /// 253402207200 seconds, the last that both forms of a time can say.
    const LAST: f64 = 253_402_207_200_000.0;

    fn number(most: f64) -> ObjectBuilder {
        let integer = SchemaType::new(Type::Integer);
        ObjectBuilder::new().schema_type(integer).minimum(Some(0)).maximum(Some(most))
    }

    fn text() -> ObjectBuilder {
        ObjectBuilder::new().schema_type(SchemaType::new(Type::String))
    }

    impl PartialSchema for Time {
        fn schema() -> RefOr<Schema> {
            let format = SchemaFormat::KnownFormat(KnownFormat::DateTime);
            let text = text().format(Some(format)).examples(["2030-01-01T09:00:00Z"]);
            let describe = "A time: milliseconds since 1970, or text with a zone.";
            OneOfBuilder::new().item(number(LAST)).item(text).description(Some(describe)).into()
        }
    }

    impl PartialSchema for Length {
        fn schema() -> RefOr<Schema> {
            let text =
                text().pattern(Some("^([0-9]{1,3}d)?([0-9]{1,3}h)?([0-9]{1,3}m)?[0-9]{1,5}(s|ms)$")).examples(["30s"]);
            let describe = "A length of time: milliseconds, or text such as 30s, 5m, 1h30m or 2d.";
            OneOfBuilder::new().item(number(LAST)).item(text).description(Some(describe)).into()
        }
    }

    impl ToSchema for Time {}
    impl ToSchema for Length {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_say_the_same() {
        for (text, ms) in [("\"30s\"", 30_000), ("\"1h30m\"", 5_400_000), ("\"2d\"", 172_800_000), ("250", 250)] {
            assert_eq!(serde_json::from_str::<Length>(text).unwrap(), Length(Span(ms)), "{text}");
        }
        assert_eq!("250".parse(), Ok(Length(Span(250))), "as in a query");
        for text in ["\"\"", "\"s\"", "\"-5s\"", "-5", "1.5", "null", "\"1 month\"", "[1]"] {
            assert!(serde_json::from_str::<Length>(text).is_err(), "{text}");
        }
        let time = Time(Millis(1_893_488_400_000));
        for text in ["1893488400000", "\"2030-01-01T09:00:00Z\"", "\"2030-01-01T10:00:00+01:00\""] {
            assert_eq!(serde_json::from_str::<Time>(text).unwrap(), time, "{text}");
        }
        for text in ["\"2030-01-01\"", "\"1960-01-01T00:00:00Z\"", "-1", "\"soon\""] {
            assert!(serde_json::from_str::<Time>(text).is_err(), "{text}");
        }
    }
}
