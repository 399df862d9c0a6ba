//! The JSON of the HTTP API: what a server and its callers say to each other.
//!
//! Times are whole milliseconds since 1970 and lengths of time whole milliseconds. A caller may also write a time as
//! `2030-01-01T09:00:00Z` and a length as `30s`, `5m`, `1h30m` or `2d`. What a caller says is checked strictly: an unknown
//! field is refused. What a server says may gain fields.

use onward_core::limits;
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::marker::PhantomData;

mod access;
mod bulk;
mod events;
mod lanes;
mod payload;
mod problem;
mod search;
mod steer;
mod submit;
mod times;
mod work;

pub use access::{IssuedKey, KeyInfo, KeyList, NewKeyRequest};
pub use bulk::{BulkAction, BulkAnswer, BulkRefusal, BulkRequest};
pub use events::{EventPage, EventQuery, EventRow};
pub use lanes::{LaneInfo, LaneList, LanePatch};
pub use payload::Blob;
#[cfg(feature = "remote")]
pub(crate) use payload::{read as read_payload, write as write_payload};
pub use problem::Problem;
pub use search::{CountOf, CountsAnswer, FilterFields, FoundPage, SearchQuery};
pub use steer::{
    Acted, AttemptList, CancelRequest, HistoryPage, PriorityRequest, ReasonRequest, RescheduleRequest, TagsRequest,
};
pub use submit::{ItemAnswer, NewWork, PolicyFields, RetryFields, SubmitAnswer, SubmitBatch, SubmitBatchAnswer};
pub use times::{Length, Time};
pub use work::{
    ClaimAnswer, ClaimRequest, CompleteRequest, DelayRequest, EndKind, FailRequest, LeaseToken, Leased, ProgressBatch,
    ProgressRequest, RenewAnswer, RenewRequest, ReportAnswer, ReportBatch, ReportBatchAnswer, ReportItem,
    ReturnRequest, Work, WorkerCancelRequest,
};

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
