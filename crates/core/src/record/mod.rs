//! What is stored: data and small predicates, no decisions.

/// Declares an enum of plain words: the stable word of each, all of them, and the one of a word.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$about_one:meta])* $one:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$about_one])* $one,)+
        }

        impl $name {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$one,)+];

            /// The stable word for it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$one => $word,)+ }
            }

            /// The one of this word.
            #[must_use]
            pub fn named(word: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.as_str() == word)
            }
        }
    };
}

mod access;
mod attempt;
mod execution;
mod format;
mod history;
mod lane;
mod member;
mod message;
mod operation;
mod state;

pub use access::{ApiKey, KeyHash, Role};
pub use attempt::{Attempt, AttemptEnd, AttemptKind, EndedAttempt, Pause, Paused};
pub use execution::{Execution, Progress, StoredPayload};
pub use format::{FORMAT, Format};
pub use history::{HistoryPage, Transition};
pub use lane::{ClassSeen, IdempotencyRecord, LaneCopy, LaneMaster, LaneSettings, LaneState, UniqueRecord};
pub use member::Member;
pub use message::{Inbox, Message, MessageBody, Outbox};
pub use operation::Operated;
pub use state::{
    Active, Cancellation, Canceller, Finished, Lease, Next, Outcome, PublicState, Purging, Readiness, State,
    StopRequest, Waiting, WhyDelayed,
};

use bytes::Bytes;
use std::sync::Arc;

/// Any record of the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A unit of work; shared, so that a rule that only reads it copies nothing.
    Execution(Arc<Execution>),
    /// An attempt that ended and was followed by another.
    Attempt(EndedAttempt),
    /// A payload stored beside its execution, as raw bytes.
    Payload(Bytes),
    /// Which execution an idempotency key stands for.
    Idempotency(IdempotencyRecord),
    /// Which unfinished execution a unique key stands for, or that it is free again.
    Unique(UniqueRecord),
    /// Older transitions of an execution.
    History(HistoryPage),
    /// A lane's settings.
    LaneMaster(LaneMaster),
    /// One partition's copy of them.
    LaneCopy(LaneCopy),
    /// A class that has been used.
    Class(ClassSeen),
    /// The sequence of messages to one partition.
    Outbox(Outbox),
    /// A message on its way.
    Message(Message),
    /// What has been applied from one partition.
    Inbox(Inbox),
    /// The bytes of a message that could not be delivered.
    Dead(Bytes),
    /// A process that runs on the store.
    Member(Member),
    /// A key that lets its holder call.
    ApiKey(ApiKey),
    /// Bytes this version cannot read; never rewritten.
    Unreadable(Bytes),
}

/// Whether a field need not be written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
