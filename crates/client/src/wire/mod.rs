//! The JSON of the HTTP API: what a server and its callers say to each other.
//!
//! Times are whole milliseconds since 1970 and lengths of time whole milliseconds. A caller may also write a time as
//! `2030-01-01T09:00:00Z` and a length as `30s`, `5m`, `1h30m` or `2d`. What a caller says is checked strictly: an unknown
//! field is refused. What a server says may gain fields.

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
pub use problem::Problem;
pub use search::{CountOf, CountsAnswer, FilterFields, FoundPage, SearchQuery};
pub use steer::{
    Acted, AttemptList, CancelRequest, HistoryPage, PriorityRequest, ReasonRequest, RescheduleRequest, TagsRequest,
};
pub use submit::{
    BatchItem, ItemAnswer, NewWork, PolicyFields, RetryFields, SubmitAnswer, SubmitBatch, SubmitBatchAnswer,
};
pub use times::{Length, Time};
pub use work::{
    ClaimAnswer, ClaimRequest, CompleteRequest, DelayRequest, EndKind, FailRequest, LeaseToken, Leased, ProgressBatch,
    ProgressRequest, RenewAnswer, RenewRequest, ReportAnswer, ReportBatch, ReportBatchAnswer, ReportItem,
    ReturnRequest, Work, WorkerCancelRequest,
};

/// Whether a field need not be written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
