//! The format number that every stored body starts with: how it follows from what the record holds, and which are read.
//!
//! The formats of all kinds of record are numbered in one sequence, so that one number says what a build can read: it is
//! in the heartbeat of every process. A record is written in the newest format that anything in it needs, and no newer
//! one: an older build then leaves alone what it cannot represent, and nothing else. The number is computed from the
//! whole record where it is encoded, so that no rule can forget it.
//!
//! To store something new, raise [`FORMAT`] and name the number where the type is listed: `new_field = 2` in the list of
//! its struct, or `NewVariant = 2` in that of its enum. The compiler asks for each. What is in no list of its own
//! (`plain!`) never changes.
//!
//! A field that a body's format number does not explain was written by a build that numbers otherwise. Records that
//! several builds rewrite all the time (lanes, messages) are `strict`: with such a field they count as unreadable, since
//! rewriting them would drop it. In any other record it is ignored.

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// The newest format of stored bodies that this build reads and writes.
pub const FORMAT: u32 = 2;

/// The format of everything that is in no other.
pub(crate) const FIRST: u32 = 1;

/// The format number of a body: checked when it is read, and computed when it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format;

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            FIRST..=FORMAT => Ok(Self),
            newer => Err(unknown(newer)),
        }
    }
}

fn unknown<E: de::Error>(format: u32) -> E {
    E::custom(format_args!("format {format} is unknown to this version"))
}

/// Something that is stored, and the format in which it must be.
pub(crate) trait Formatted {
    /// Whether all values of the type have the first format.
    const PLAIN: bool = false;
    /// Whether a body with a field that this build does not know is unreadable.
    const STRICT: bool = false;

    /// The newest format that anything in it needs.
    fn format(&self) -> u32;
}

/// Lists the fields of a struct or the variants of an enum, each with the format in which it came to exist; the first if
/// it names none. A field counts when it is not its default, and what is in it always does.
macro_rules! formats {
    (@in $value:ident) => { $crate::record::Formatted::format($value) };
    (@in $value:ident $since:literal) => {
        if $crate::record::is_default($value) { 1 } else { $crate::record::Formatted::format($value).max($since) }
    };
    (strict $($rest:tt)+) => { formats!(@with { const STRICT: bool = true; } $($rest)+); };
    (struct $($rest:tt)+) => { formats!(@with {} struct $($rest)+); };
    (@with { $($option:tt)* } struct $type:ty { $($field:ident $(= $since:literal)?),+ $(,)? }) => {
        impl $crate::record::Formatted for $type {
            $($option)*

            fn format(&self) -> u32 {
                let Self { $($field),+ } = self;
                let mut newest = 1;
                $(newest = newest.max(formats!(@in $field $($since)?));)+
                newest
            }
        }
    };
    (enum $type:ty { $($variant:ident $({ $($field:ident $(= $field_since:literal)?),+ $(,)? })? $(($inner:ident))?
        $(= $since:literal)?),+ $(,)? }) => {
        impl $crate::record::Formatted for $type {
            #[allow(unused_mut, reason = "a variant of the first format that holds nothing")]
            fn format(&self) -> u32 {
                match self {
                    $(Self::$variant $({ $($field),+ })? $(($inner))? => {
                        let mut newest = 1;
                        $(newest = newest.max($since);)?
                        $($(newest = newest.max(formats!(@in $field $($field_since)?));)+)?
                        $(newest = newest.max(formats!(@in $inner));)?
                        newest
                    })+
                }
            }
        }
    };
}

/// Types of which every value has the first format, for ever.
macro_rules! plain {
    ($($type:ty),+ $(,)?) => {
        $(impl $crate::record::Formatted for $type {
            const PLAIN: bool = true;

            fn format(&self) -> u32 {
                1
            }
        })+
    };
}

pub(crate) use {formats, plain};

plain!(Format, bool, u8, u16, u32, u64, str);
plain!(crate::ApiKeyId, crate::CommandId, crate::ExecutionId, crate::Fingerprint, crate::LeaseId, crate::MessageId);
plain!(crate::PartitionId, crate::TokenKeyId);
plain!(crate::Actor, crate::Build, crate::Class, crate::IdempotencyKey, crate::Kind, crate::Lane, crate::Namespace);
plain!(crate::TagKey, crate::TagValue, crate::UniqueKey, crate::WorkerName, crate::Category, crate::Reason);
plain!(crate::Arrival, crate::Asked, crate::Json, crate::Millis, crate::Span, crate::TraceContext);

impl<T: Formatted + ?Sized> Formatted for Arc<T> {
    const PLAIN: bool = T::PLAIN;
    const STRICT: bool = T::STRICT;

    fn format(&self) -> u32 {
        T::format(self)
    }
}

impl<T: Formatted> Formatted for Box<T> {
    const PLAIN: bool = T::PLAIN;

    fn format(&self) -> u32 {
        T::format(self)
    }
}

impl<A: Formatted, B: Formatted> Formatted for (A, B) {
    const PLAIN: bool = A::PLAIN && B::PLAIN;

    fn format(&self) -> u32 {
        self.0.format().max(self.1.format())
    }
}

impl<T: Formatted> Formatted for Option<T> {
    const PLAIN: bool = T::PLAIN;

    fn format(&self) -> u32 {
        newest(self)
    }
}

impl<T: Formatted> Formatted for Vec<T> {
    const PLAIN: bool = T::PLAIN;

    fn format(&self) -> u32 {
        newest(self)
    }
}

impl<T: Formatted> Formatted for VecDeque<T> {
    const PLAIN: bool = T::PLAIN;

    fn format(&self) -> u32 {
        newest(self)
    }
}

impl<T: Formatted> Formatted for BTreeSet<T> {
    const PLAIN: bool = T::PLAIN;

    fn format(&self) -> u32 {
        newest(self)
    }
}

impl<K: Formatted, V: Formatted> Formatted for BTreeMap<K, V> {
    const PLAIN: bool = K::PLAIN && V::PLAIN;

    fn format(&self) -> u32 {
        if Self::PLAIN { FIRST } else { newest(self.keys()).max(newest(self.values())) }
    }
}

fn newest<'a, T: Formatted + 'a>(all: impl IntoIterator<Item = &'a T>) -> u32 {
    if T::PLAIN { FIRST } else { all.into_iter().map(T::format).fold(FIRST, u32::max) }
}

/// A record as it is written: its format number, then all that it holds.
#[derive(Serialize)]
pub(crate) struct Stamped<'a, T> {
    v: u32,
    #[serde(flatten)]
    record: &'a T,
}

impl<'a, T: Formatted> Stamped<'a, T> {
    pub(crate) fn of(record: &'a T) -> Self {
        Self { v: record.format(), record }
    }
}

/// Writes a record that is part of another, and has a format number because it may also stand alone.
#[expect(clippy::ref_option, reason = "serde gives a reference to the field")]
pub(super) fn stamped<T: Formatted + Serialize, S: serde::Serializer>(
    part: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    part.as_ref().map(Stamped::of).serialize(serializer)
}

/// Whether a strict record keeps all that its body says when it is written again.
pub(crate) fn keeps_all<T: Formatted + Serialize>(body: &[u8], read: &T) -> bool {
    let said = serde_json::from_slice::<Value>(body);
    let kept = serde_json::to_value(Stamped::of(read));
    said.is_ok_and(|said| kept.is_ok_and(|kept| is_kept(&said, Some(&kept))))
}

fn is_kept(said: &Value, kept: Option<&Value>) -> bool {
    match (said, kept) {
        (Value::Object(said), Some(Value::Object(kept))) => said.iter().all(|(name, of)| is_kept(of, kept.get(name))),
        (Value::Array(said), Some(Value::Array(kept))) => said.iter().zip(kept).all(|(of, now)| is_kept(of, Some(now))),
        (Value::Null, None) => true,
        (_, kept) => kept.is_some(),
    }
}

/// Whether a body says that it has a newer format than `known`. One without a format number does not.
pub(crate) fn is_newer(body: &[u8], known: u32) -> bool {
    #[derive(Deserialize)]
    struct Head {
        v: u32,
    }
    serde_json::from_slice::<Head>(body).is_ok_and(|head| head.v > known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Body;
    use crate::record::is_default;

    /// A record as a later build may have it, with parts of several formats.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Later {
        #[serde(rename = "v", skip_serializing)]
        format: AnyFormat,
        old: u32,
        #[serde(default, skip_serializing_if = "is_default")]
        label: Option<Arc<str>>,
        #[serde(default, skip_serializing_if = "is_default")]
        parts: Vec<Part>,
        #[serde(default, skip_serializing_if = "is_default")]
        named: BTreeMap<u8, Box<Part>>,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    enum Part {
        Old,
        Noted { at: u32, note: u32 },
        New,
        Holds(Option<Box<Self>>),
    }

    #[derive(Debug, Clone, PartialEq, Deserialize)]
    struct AnyFormat(u32);

    plain!(AnyFormat);
    formats!(struct Later { format, old, label = 2, parts, named });
    formats!(enum Part { Old, Noted { at, note = 3 }, New = 4, Holds(inner) });

    fn later() -> Later {
        Later { format: AnyFormat(1), old: 7, label: None, parts: Vec::new(), named: BTreeMap::new() }
    }

    #[test]
    fn a_record_has_the_newest_format_of_all_its_parts() {
        let parts = |parts: &[Part]| Later { parts: parts.to_vec(), ..later() };
        let noted = |note| Part::Noted { at: 1, note };
        let cases = [
            (later(), 1),
            (parts(&[Part::Old, noted(0)]), 1),
            (Later { label: Some("x".into()), ..later() }, 2),
            (Later { label: Some("x".into()), ..parts(&[Part::Old, noted(5), Part::Old]) }, 3),
            (parts(&[Part::New, noted(5)]), 4),
            (parts(&[Part::Holds(None)]), 1),
            (parts(&[Part::Old, Part::Holds(Some(Box::new(Part::New)))]), 4),
            (Later { named: [(1, Box::new(noted(5)))].into(), ..later() }, 3),
        ];
        for (record, format) in cases {
            assert_eq!(record.format(), format, "{record:?}");
            let body = record.encode(64);
            assert!(body.starts_with(format!("{{\"v\":{format},").as_bytes()), "{body:?}");
            assert_eq!(<Later as Body>::decode(&body), Some(Later { format: AnyFormat(format), ..record }));
            assert_eq!((is_newer(&body, format - 1), is_newer(&body, format)), (true, false));
        }
        assert!(!is_newer(b"{", 0) && !is_newer(b"{\"old\":1}", 0));
    }

    #[test]
    fn a_part_that_may_stand_alone_has_a_number_of_its_own() {
        #[derive(Serialize)]
        struct Whole {
            #[serde(serialize_with = "stamped")]
            part: Option<Later>,
        }
        let whole = Whole { part: Some(Later { label: Some("x".into()), ..later() }) };
        assert_eq!(serde_json::to_string(&whole).unwrap(), r#"{"part":{"v":2,"old":7,"label":"x"}}"#);
    }

    #[test]
    fn what_rewriting_would_drop_is_noticed_at_any_depth() {
        let kept = |said: &str, kept: &str| {
            is_kept(&serde_json::from_str(said).unwrap(), Some(&serde_json::from_str(kept).unwrap()))
        };
        assert!(kept(r#"{"a":1,"b":[{"c":2}]}"#, r#"{"a":3,"b":[{"c":2,"d":4}],"e":5}"#));
        assert!(kept(r#"{"a":null}"#, "{}"));
        for lost in [r#"{"b":1}"#, r#"{"a":{"b":1}}"#, r#"{"l":[{},{"b":1}]}"#] {
            assert!(!kept(lost, r#"{"a":{},"l":[{},{}]}"#), "{lost}");
        }
    }
}
