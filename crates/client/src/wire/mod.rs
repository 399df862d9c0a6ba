//! The JSON of the HTTP API: requests and responses.
//!
//! A time is in whole milliseconds since 1970, and a duration in whole milliseconds. Requests can also use text:
//! `2030-01-01T09:00:00Z` for a time, and `30s`, `5m`, `1h30m` or `2d` for a duration. Requests are checked strictly: an
//! unknown field is refused. Responses can gain fields.

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
mod tokens;
mod waits;
mod work;

pub use access::{IssuedKey, KeyInfo, KeyList, NewKeyRequest};
pub use bulk::{BulkAnswer, BulkRefusal, BulkRequest, BulkSignalRequest};
pub use events::{EventPage, EventQuery, EventRow};
pub use lanes::{LaneInfo, LaneList, LanePatch};
pub use problem::Problem;
pub use search::{CountOf, CountsAnswer, FilterFields, FoundPage, SearchQuery, States};
#[cfg(feature = "remote")]
pub(crate) use steer::ActBody;
pub use steer::{Acted, AttemptList, HistoryPage};
pub use submit::{ItemAnswer, SubmitAnswer, SubmitBatch, SubmitBatchAnswer};
pub use tokens::{
    DescribeTokenRequest, MintedToken, RotateTokenKeysRequest, SentInfo, TokenInfo, TokenKeyInfo, TokenKeyList,
    TokenSignalRequest, TokenState,
};
pub use waits::{SignalInfo, SuspensionInfo, WaitInfo, WaitsInfo};
pub use work::{
    ClaimAnswer, ClaimRequest, CompleteRequest, DelayRequest, EndKind, FailRequest, LeaseToken, ProgressBatch,
    ProgressRequest, RenewAnswer, RenewRequest, ReportBatch, ReportBatchAnswer, ReportItem, ReturnRequest,
    SuspendRequest, Work, WorkerCancelRequest,
};

/// Creates the error for an invalid argument.
pub(crate) fn invalid(field: &'static str, why: &str) -> crate::Error {
    onward_core::Rejection::InvalidArgument { field, why: why.to_owned() }.into()
}

/// Decodes an object with a `type`; derived code would also accept a list that starts with the type.
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

/// Decodes a list as [`few`] does; `null` means the same as leaving the field out.
pub(crate) fn few_or_none<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct Few<T>(Vec<T>);

    impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            few(deserializer).map(Self)
        }
    }

    Option::<Few<T>>::deserialize(deserializer).map(|found| found.map(|Few(list)| list).unwrap_or_default())
}

/// Decodes a list of at most [`limits::CALL_ITEMS_MAX`] items, and stops at the first item beyond.
pub(crate) fn few<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    struct Few<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Few<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {} items", limits::CALL_ITEMS_MAX)
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

/// Whether a field has its default value, so that it is not serialized.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
