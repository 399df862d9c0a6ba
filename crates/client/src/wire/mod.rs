//! The JSON of the HTTP API: what a server and its callers say to each other.
//!
//! Times are whole milliseconds since 1970 and lengths of time whole milliseconds. A caller may also write a time as
//! `2030-01-01T09:00:00Z` and a length as `30s`, `5m`, `1h30m` or `2d`. What a caller says is checked strictly: an unknown
//! field is refused. What a server says may gain fields.

use onward_core::limits;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

mod access;
mod bulk;
mod events;
mod lanes;
mod problem;
mod search;
mod steer;
mod submit;
mod work;

pub use access::{IssuedKey, KeyInfo, KeyList, NewKeyRequest};
pub use bulk::{BulkAnswer, BulkRefusal, BulkRequest};
pub use events::{EventPage, EventQuery, EventRow};
pub use lanes::{LaneInfo, LaneList, LanePatch};
pub use problem::Problem;
pub use search::{CountOf, CountsAnswer, FilterFields, FoundPage, SearchQuery};
#[cfg(feature = "remote")]
pub(crate) use steer::ActBody;
pub use steer::{Acted, AttemptList, HistoryPage};
pub use submit::{ItemAnswer, SubmitAnswer, SubmitBatch, SubmitBatchAnswer};
pub use work::{
    ClaimAnswer, ClaimRequest, CompleteRequest, DelayRequest, EndKind, FailRequest, LeaseToken, ProgressBatch,
    ProgressRequest, RenewAnswer, RenewRequest, ReportBatch, ReportBatchAnswer, ReportItem, ReturnRequest, Work,
    WorkerCancelRequest,
};

/// The refusal of an argument.
pub(crate) fn invalid(field: &'static str, why: &str) -> crate::Error {
    onward_core::Rejection::InvalidArgument { field, why: why.to_owned() }.into()
}

/// Reads an object that names its kind; derived code would also take a list that begins with the name.
pub(crate) fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Object<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(access))
        }
    }

    deserializer.deserialize_map(Object(PhantomData))
}

/// Reads such a list where `null` means the same as its absence.
pub(crate) fn few_or_none<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct Few<T>(Vec<T>);

    impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            few(deserializer).map(Self)
        }
    }

    Option::<Few<T>>::deserialize(deserializer).map(|found| found.map(|Few(list)| list).unwrap_or_default())
}

/// Reads a list of at most so many as one call may hold; whatever is beyond is not even kept.
pub(crate) fn few<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct Few<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Few<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {}", limits::CALL_ITEMS_MAX)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
            let mut few = Vec::new();
            while let Some(item) = items.next_element()? {
                if few.len() == limits::CALL_ITEMS_MAX {
                    return Err(de::Error::invalid_length(few.len() + 1, &self));
                }
                few.push(item);
            }
            Ok(few)
        }
    }

    deserializer.deserialize_seq(Few(PhantomData))
}

/// Whether a field need not be written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
