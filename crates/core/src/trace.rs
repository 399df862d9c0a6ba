//! Which trace an execution belongs to: the W3C's `traceparent`, checked where it enters.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// The length of a context in its first version, which is also the least of every later one.
const BYTES: usize = 55;

/// The place in a trace from which an execution was submitted: `00-<trace>-<span>-<flags>` in lower-case hexadecimal
/// digits, as in the header `traceparent`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceContext {
    trace: u128,
    span: u64,
    flags: u8,
}

/// Why a text is not the context of a trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// It is written differently.
    #[error("a trace context is 00-<32 digits>-<16 digits>-<2 digits>, in lower-case hexadecimal, not {0:?}")]
    Malformed(String),
    /// An id that stands for nothing.
    #[error("the {0} of a trace context must not be zero")]
    Zero(&'static str),
}

impl TraceContext {
    /// A context from its parts.
    ///
    /// # Errors
    /// When an id is zero, which stands for none.
    pub fn new(trace: u128, span: u64, flags: u8) -> Result<Self, TraceError> {
        match (trace, span) {
            (0, _) => Err(TraceError::Zero("trace id")),
            (_, 0) => Err(TraceError::Zero("span id")),
            _ => Ok(Self { trace, span, flags }),
        }
    }

    /// The context in a header. Callers of later versions may have said more behind what is known here, and one that
    /// makes no sense is as good as none: nobody's work is refused for its trace.
    #[must_use]
    pub fn from_header(text: &str) -> Option<Self> {
        let (version, rest) = text.trim().split_once('-')?;
        if version == "00" {
            return text.trim().parse().ok();
        }
        let known = rest.get(..BYTES - 3)?;
        let is_version = digits(version, 2).is_some() && version != "ff";
        let ends_here = rest.len() == known.len() || rest[known.len()..].starts_with('-');
        if is_version && ends_here { format!("00-{known}").parse().ok() } else { None }
    }

    /// The trace.
    #[must_use]
    pub fn trace_id(self) -> u128 {
        self.trace
    }

    /// The span within the trace.
    #[must_use]
    pub fn span_id(self) -> u64 {
        self.span
    }

    /// What is to be done with the trace.
    #[must_use]
    pub fn flags(self) -> u8 {
        self.flags
    }
}

/// A number of exactly so many digits.
fn digits(text: &str, count: usize) -> Option<u128> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (text.len() == count && text.bytes().all(is_digit)).then(|| u128::from_str_radix(text, 16).ok())?
}

impl FromStr for TraceContext {
    type Err = TraceError;

    fn from_str(text: &str) -> Result<Self, TraceError> {
        let malformed = || TraceError::Malformed(text.chars().take(BYTES + 5).collect());
        let mut parts = text.split('-');
        let mut part = |count| parts.next().and_then(|part| digits(part, count)).ok_or_else(malformed);
        let (version, trace, span, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        if version != 0 || parts.next().is_some() {
            return Err(malformed());
        }
        // Each has as many digits as its type holds.
        Self::new(trace, span as u64, flags as u8)
    }
}

impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, self.flags)
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for TraceContext {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TraceContext {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::decode(deserializer, "a trace context", str::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_context_is_read_and_written_alike() {
        let context: TraceContext = GOOD.parse().unwrap();
        assert_eq!(context.to_string(), GOOD);
        assert_eq!(context.trace_id(), 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
        assert_eq!((context.span_id(), context.flags()), (0xb7ad_6b71_6920_3331, 1));
        let json = serde_json::to_string(&context).unwrap();
        assert_eq!((json.as_str(), serde_json::from_str(&json).unwrap()), (format!("{GOOD:?}").as_str(), context));
        let largest = format!("00-{}-{}-ff", "f".repeat(32), "f".repeat(16));
        assert_eq!(largest.parse::<TraceContext>().unwrap().to_string(), largest);
    }

    #[test]
    fn what_is_no_context_is_refused() {
        for text in [
            "",
            "00",
            "-",
            &GOOD[..54],
            &GOOD.to_uppercase(),
            &format!("{GOOD}-00"),
            &format!(" {GOOD}"),
            &GOOD.replacen("00", "01", 1),
            &GOOD.replacen("0af", "+af", 1),
            &GOOD.replace('-', "_"),
            &"é".repeat(28),
        ] {
            assert!(matches!(text.parse::<TraceContext>(), Err(TraceError::Malformed(_))), "{text:?}");
            assert!(serde_json::from_str::<TraceContext>(&format!("{text:?}")).is_err(), "{text:?}");
        }
        let no_trace = format!("00-{}-b7ad6b7169203331-01", "0".repeat(32));
        assert_eq!(no_trace.parse::<TraceContext>(), Err(TraceError::Zero("trace id")));
        let no_span = format!("00-{}-{}-01", "1".repeat(32), "0".repeat(16));
        assert_eq!(no_span.parse::<TraceContext>(), Err(TraceError::Zero("span id")));
    }

    #[test]
    fn a_header_may_be_of_a_later_version_and_is_never_a_mistake() {
        let good = GOOD.parse().ok();
        let later = GOOD.replacen("00", "cc", 1);
        for (text, expected) in [
            (GOOD.to_owned(), good),
            (format!(" {GOOD}\t"), good),
            (later.clone(), good),
            (format!("{later}-what-comes"), good),
            (format!("{later}."), None),
            (format!("{GOOD}-more"), None),
            (GOOD.replacen("00", "ff", 1), None),
            (GOOD.replacen("00", "0", 1), None),
            (later.replacen("b7ad", "B7AD", 1), None),
            ("cc-éé".to_owned() + &"é".repeat(60), None),
            (String::new(), None),
        ] {
            assert_eq!(TraceContext::from_header(&text), expected, "{text:?}");
        }
    }
}
