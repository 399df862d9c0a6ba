//! What is stored: one file per kind of record, and the table of all kinds with their keys.

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

/// Makes the table of kinds: the keys of all of them, printed and parsed, the records, and what must know all kinds.
macro_rules! records {
    ($($(#[$about:meta])* $kind:ident($($field:ident: $of:ty),+) = $pattern:literal holds $record:ty,)+) => {
        /// The key of a record. It is unique in the whole store: where several partitions hold a record of one name, the
        /// key ends with its partition. Records of one execution share its id as a prefix, so that they are neighbours on
        /// disk.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Key {
            $($(#[$about])* #[doc = concat!("\n\n`", $pattern, "`")] $kind($($of),+),)+
        }

        impl fmt::Display for Key {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self { $(Self::$kind($($field),+) => write!(f, $pattern),)+ }
            }
        }

        impl FromStr for Key {
            type Err = KeyError;

            fn from_str(text: &str) -> Result<Self, KeyError> {
                let parsed = None$(.or_else(|| {
                    let mut fields = key::fields($pattern, text)?.into_iter();
                    Some(Self::$kind($({ let $field = fields.next()?; $field.parse().ok()? }),+))
                }))+;
                // A key has one spelling: `out/1/2/+7` names nothing.
                parsed.filter(|key: &Self| key.to_string() == text).ok_or_else(|| KeyError::new(text))
            }
        }

        /// Any record of the system.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Record {
            $($(#[$about])* $kind($record),)+
            /// Bytes this version cannot read; never rewritten.
            Unreadable(Bytes),
        }

        impl Record {
            /// What its kind says about it; nothing when it cannot be read.
            pub(crate) fn stored(&self) -> Option<&dyn Stored> {
                match self {
                    $(Self::$kind(record) => Some(record),)+
                    Self::Unreadable(_) => None,
                }
            }

            pub(crate) fn encode(&self) -> Bytes {
                match self {
                    $(Self::$kind(record) => Body::encode(record, record.usual_bytes()),)+
                    Self::Unreadable(bytes) => bytes.clone(),
                }
            }

            pub(crate) fn decode(key: &Key, body: &Bytes) -> Self {
                let read = match key { $(Key::$kind(..) => Body::decode(body).map(Self::$kind),)+ };
                read.unwrap_or_else(|| Self::Unreadable(body.clone()))
            }
        }
    };
}

mod api_key;
mod attempt;
mod dead;
mod errand;
mod execution;
mod format;
mod history;
mod idempotency;
mod inbox;
mod lane_copy;
mod lane_master;
mod member;
mod message;
mod operation;
mod outbox;
mod payload;
mod queues;
mod secret;
mod signal;
mod state;
mod stored;
mod suspension;
mod token_keys;
mod unique;
mod wait;

pub use api_key::{ApiKey, Role};
pub use attempt::{Attempt, AttemptEnd, AttemptKind, EndedAttempt, Pause, Paused};
pub use dead::DeadLetter;
pub use errand::{Errand, ErrandKind};
pub use execution::{Execution, Progress, StoredPayload};
pub use format::{FORMAT, Format};
pub(crate) use format::{Formatted, formats, is_newer, keeps_all, plain};
pub use history::{HistoryPage, Transition};
pub use idempotency::IdempotencyRecord;
pub use inbox::Inbox;
pub use lane_copy::LaneCopy;
pub use lane_master::{LaneMaster, LaneSettings, LaneState};
pub use member::{LaneServed, Member};
pub use message::{Message, MessageBody};
pub use operation::Operated;
pub use outbox::Outbox;
pub use payload::{PayloadBytes, PayloadSlot};
pub use queues::{LaneQueues, QueueSeen};
pub use secret::{KeyHash, KeySecret};
pub use signal::{Ordinal, SignalEffect, SignalRecord};
pub use state::{
    Active, Cancellation, Canceller, ExpiredBy, Finished, Lease, Next, Outcome, PublicState, Purging, Readiness, State,
    StopRequest, Waiting, WhyDelayed,
};
pub use suspension::{Held, OnTimeout, Over, Suspension, Timeout, WaitEnd, WhyHeld, Woke};
pub use token_keys::{TokenKey, TokenKeys};
pub use unique::{NamedCall, UniqueRecord};
pub use wait::{HowOver, Mail, Taken, WaitAddress, WaitId, WaitOver, WaitRef, Waits};

pub(crate) use stored::Stored;

use crate::codec::Body;
use crate::key::{self, KeyError};
use crate::{ApiKeyId, ExecutionId, IdempotencyKey, Lane, MemberId, Namespace, PartitionId, SignalId, UniqueKey};
use bytes::Bytes;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

records! {
    /// A unit of work; shared, so that a rule that only reads it copies nothing.
    Execution(id: ExecutionId) = "{id}" holds Arc<Execution>,
    /// An attempt that ended and was followed by another.
    Attempt(id: ExecutionId, number: u32) = "{id}/a/{number:05}" holds EndedAttempt,
    /// A payload too large or too binary for the record of its execution.
    Payload(id: ExecutionId, slot: PayloadSlot) = "{id}/{slot}" holds PayloadBytes,
    /// Which execution an idempotency key stands for.
    Idempotency(namespace: Namespace, key: IdempotencyKey) = "key/{namespace}/{key}" holds IdempotencyRecord,
    /// Which unfinished execution a unique key stands for, or that it is free again.
    Unique(namespace: Namespace, key: UniqueKey) = "unique/{namespace}/{key}" holds UniqueRecord,
    /// Older transitions of an execution.
    History(id: ExecutionId, page: u32) = "{id}/h/{page:05}" holds HistoryPage,
    /// A signal that an execution has accepted.
    Signal(id: ExecutionId, signal: SignalId) = "{id}/s/{signal}" holds SignalRecord,
    /// A wait of an execution that is over.
    Wait(id: ExecutionId, wait: WaitId) = "{id}/w/{wait}" holds WaitOver,
    /// Work on an execution that a commit left over.
    Errand(id: ExecutionId, kind: ErrandKind) = "{id}/e/{kind}" holds Errand,
    /// A lane's settings, in the namespace's gate partition.
    LaneMaster(namespace: Namespace, lane: Lane) = "lane/{namespace}/{lane}" holds LaneMaster,
    /// The copy of a lane's settings that one partition's rules read.
    LaneCopy(namespace: Namespace, lane: Lane, at: PartitionId) = "lane/{namespace}/{lane}/{at}" holds LaneCopy,
    /// The queues of a lane that have had work in this partition.
    Queues(namespace: Namespace, lane: Lane, at: PartitionId) = "queues/{namespace}/{lane}/{at}" holds LaneQueues,
    /// The sequence of messages from one partition to another.
    Outbox(from: PartitionId, to: PartitionId) = "out/{from}/{to}" holds Outbox,
    /// A message on its way.
    Message(from: PartitionId, to: PartitionId, seq: u64) = "out/{from}/{to}/{seq:020}" holds Message,
    /// What a partition has applied from another.
    Inbox(to: PartitionId, from: PartitionId) = "in/{to}/{from}" holds Inbox,
    /// A message that could not be delivered.
    Dead(from: PartitionId, to: PartitionId, seq: u64) = "dead/{from}/{to}/{seq:020}" holds DeadLetter,
    /// A process that runs on the store.
    Member(id: MemberId) = "member/{id}" holds Member,
    /// A key that lets its holder call.
    ApiKey(id: ApiKeyId) = "apikey/{id}" holds ApiKey,
    /// The keys that sign tokens.
    TokenKeys(at: PartitionId) = "tokenkeys/{at}" holds TokenKeys,
}

/// Whether a field need not be written.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
