//! How much of something a setting allows: things, bytes and time.

use super::kind::Kind;
use super::raw::Raw;
use onward::Span;
use serde_json::{Value, json};

pub(crate) const KIB: u64 = 1024;
pub(crate) const MIB: u64 = 1024 * KIB;
pub(crate) const GIB: u64 = 1024 * MIB;

/// The units of sizes, the largest first.
const UNITS: [(&str, u64); 3] = [("GiB", GIB), ("MiB", MIB), ("KiB", KIB)];

/// A number of things.
#[derive(Debug)]
pub(crate) struct Number {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Kind for Number {
    type Value = usize;

    fn allowed(&self) -> String {
        format!("a whole number from {} to {}", self.min, self.max)
    }

    fn read(&self, raw: &Raw) -> Option<usize> {
        let number = match raw {
            Raw::Number(number) => u64::try_from(*number).ok(),
            Raw::Plain(text) => text.parse().ok(),
            _ => None,
        };
        bounded(number?, self.min, self.max)
    }
}

/// A number of bytes.
#[derive(Debug)]
pub(crate) struct Size {
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Kind for Size {
    type Value = usize;

    fn allowed(&self) -> String {
        format!("a size from {} to {}", size(self.min), size(self.max))
    }

    fn read(&self, raw: &Raw) -> Option<usize> {
        let bytes = match raw {
            Raw::Number(bytes) => u64::try_from(*bytes).ok(),
            Raw::Plain(text) | Raw::Text(text) => {
                let unit = UNITS.iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, *bytes)));
                let (number, unit) = unit.unwrap_or((text, 1));
                number.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(unit))
            }
            _ => None,
        };
        bounded(bytes?, self.min, self.max)
    }

    fn text(&self, value: &usize) -> String {
        size(*value as u64)
    }
}

fn bounded(found: u64, min: u64, max: u64) -> Option<usize> {
    (min..=max).contains(&found).then(|| usize::try_from(found).ok())?
}

/// A size in the largest unit that leaves no fraction.
pub(crate) fn size(bytes: u64) -> String {
    let whole = |(_, unit): &&(&str, u64)| bytes > 0 && bytes.is_multiple_of(*unit);
    UNITS.iter().find(whole).map_or_else(|| bytes.to_string(), |(name, unit)| format!("{} {name}", bytes / unit))
}

/// A length of time.
#[derive(Debug)]
pub(crate) struct Pause {
    pub(crate) min: Span,
    pub(crate) max: Span,
}

impl Kind for Pause {
    type Value = Span;

    fn allowed(&self) -> String {
        format!("a length of time from {} to {}", pause(self.min), pause(self.max))
    }

    fn read(&self, raw: &Raw) -> Option<Span> {
        let (Raw::Plain(text) | Raw::Text(text)) = raw else { return None };
        // A bare number would be read as milliseconds, which hardly anybody means.
        if text.trim().parse::<u64>().is_ok() {
            return None;
        }
        let span: Span = text.parse().ok()?;
        (self.min..=self.max).contains(&span).then_some(span)
    }

    fn json(&self, value: &Span) -> Value {
        json!(pause(*value))
    }
}

fn pause(span: Span) -> String {
    let mut rest = span.0;
    let mut text = String::new();
    for (name, unit) in [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
        if rest >= unit {
            text.push_str(&format!("{}{name}", rest / unit));
            rest %= unit;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}
