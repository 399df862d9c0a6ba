//! Events: one per transition, written once to the partition's feed in the commit of the transition.

use crate::record::{
    Canceller, Execution, ExpiredBy, Format, Formatted, HowOver, LaneState, OnTimeout, Outcome, SignalEffect, WaitRef,
    formats, is_default,
};
use crate::{
    Actor, ApiKeyId, Category, ExecutionId, Kind, Lane, Millis, Namespace, Reason, SignalId, SignalName, TokenKeyId,
    WaitName, WorkerName,
};
use serde::{Deserialize, Serialize, Serializer};
use std::sync::Arc;

/// An event: one transition of an execution, or a change of a lane, an API key or the store.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// Version of the event format.
    #[serde(rename = "v")]
    #[cfg_attr(feature = "openapi", schema(value_type = u32, example = 1))]
    pub format: Format,
    /// Time of the event.
    pub at: Millis,
    /// What the event is about.
    #[serde(flatten)]
    pub subject: Subject,
    /// Name of the operator who caused it, if it has one.
    pub by: Option<Actor>,
    /// Type of the event, and the fields of this type.
    #[serde(flatten)]
    pub what: What,
}

/// With the format number that follows from the rest.
impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[serde_with::skip_serializing_none]
        #[derive(Serialize)]
        struct Fields<'a> {
            v: u32,
            at: Millis,
            #[serde(flatten)]
            subject: &'a Subject,
            by: Option<&'a Actor>,
            #[serde(flatten)]
            what: &'a What,
        }
        let Self { format: _, at, subject, by, what } = self;
        Fields { v: self.format(), at: *at, subject, by: by.as_ref(), what }.serialize(serializer)
    }
}

formats!(struct Event { format, at, subject, by, what });
formats!(enum Subject { Execution { namespace, lane, execution }, Lane { namespace, lane }, Everything });

impl Event {
    /// Creates an event without the name of an operator.
    pub(crate) fn new(at: Millis, subject: Subject, what: What) -> Self {
        Self { format: Format, at, subject, by: None, what }
    }

    /// Creates the event for a restored store.
    #[must_use]
    pub fn restored(at: Millis) -> Self {
        Self::new(at, Subject::Everything, What::Restored)
    }

    /// The execution that it is about, if it is about one.
    #[must_use]
    pub fn execution(&self) -> Option<ExecutionId> {
        self.subject.fields().2
    }

    /// The lane that it is about, if it is about one or about an execution in one.
    #[must_use]
    pub fn lane(&self) -> Option<&Lane> {
        self.subject.fields().1
    }

    /// The namespace that it belongs to, if it belongs to one.
    #[must_use]
    pub fn namespace(&self) -> Option<&Namespace> {
        self.subject.fields().0
    }
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "SubjectFields", into = "SubjectFields")]
pub enum Subject {
    /// An execution.
    Execution {
        /// Its namespace.
        namespace: Namespace,
        /// Its lane.
        lane: Lane,
        /// Its id.
        execution: ExecutionId,
    },
    /// A lane.
    Lane {
        /// Its namespace.
        namespace: Namespace,
        /// Its name.
        lane: Lane,
    },
    /// All namespaces: API keys and the store.
    Everything,
}

impl Subject {
    /// An execution.
    pub(crate) fn of(execution: &Execution) -> Self {
        let (namespace, lane) = (execution.namespace.clone(), execution.lane.clone());
        Self::Execution { namespace, lane, execution: execution.id }
    }

    fn fields(&self) -> (Option<&Namespace>, Option<&Lane>, Option<ExecutionId>) {
        match self {
            Self::Execution { namespace, lane, execution } => (Some(namespace), Some(lane), Some(*execution)),
            Self::Lane { namespace, lane } => (Some(namespace), Some(lane), None),
            Self::Everything => (None, None, None),
        }
    }
}

/// What an event is about, as its fields say it.
#[serde_with::skip_serializing_none]
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Subject))]
struct SubjectFields {
    /// Namespace; absent for events about API keys and the store.
    namespace: Option<Namespace>,
    /// Lane; absent for events about API keys and the store.
    lane: Option<Lane>,
    /// Execution; absent for events about lanes, API keys and the store.
    execution: Option<ExecutionId>,
}

impl From<SubjectFields> for Subject {
    fn from(fields: SubjectFields) -> Self {
        match (fields.namespace, fields.lane, fields.execution) {
            (Some(namespace), Some(lane), Some(execution)) => Self::Execution { namespace, lane, execution },
            (Some(namespace), Some(lane), None) => Self::Lane { namespace, lane },
            _ => Self::Everything,
        }
    }
}

impl From<Subject> for SubjectFields {
    fn from(subject: Subject) -> Self {
        let (namespace, lane, execution) = subject.fields();
        Self { namespace: namespace.cloned(), lane: lane.cloned(), execution }
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Subject {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        SubjectFields::schema()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Subject {
    fn name() -> std::borrow::Cow<'static, str> {
        SubjectFields::name()
    }
}

/// Declares the types of events and their names.
macro_rules! events {
    ($($(#[$about:meta])* $name:literal $variant:ident $({ $($fields:tt)* })?,)+) => {
        /// Type of an event, with its fields.
        #[serde_with::skip_serializing_none]
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(tag = "type", rename_all = "snake_case")]
        pub enum What {
            $($(#[$about])* $variant $({ $($fields)* })?,)+
        }

        impl What {
            /// All names that [`What::name`] returns.
            pub const NAMES: &'static [&'static str] = &[$($name,)+];

            /// Stable name.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $name,)+ }
            }
        }
    };
}

events! {
    /// The execution was submitted.
    "submitted" Submitted {
        /// Kind of work, which selects the handler.
        kind: Kind,
        /// Time at which it becomes ready; absent when it is ready at once.
        delayed_until: Option<Millis>,
    },
    /// The delayed execution became ready.
    "ready" Ready,
    /// A worker claimed the execution, and an attempt started or resumed.
    "claimed" Claimed {
        /// Number of the attempt.
        attempt: u32,
        /// Epoch of the lease.
        epoch: u64,
        /// Name of the worker.
        worker: WorkerName,
        /// Whether the attempt resumed after a pause.
        #[serde(default, skip_serializing_if = "is_default")]
        resumed: bool,
    },
    /// The worker paused the attempt and released the lease.
    "delayed" Delayed {
        /// Number of the attempt.
        attempt: u32,
        /// Time at which the attempt resumes.
        until: Millis,
    },
    /// The attempt succeeded, and the execution completed.
    "completed" Completed {
        /// Number of the attempt.
        attempt: u32,
    },
    /// The attempt failed; the execution is retried at `retry_at`, or has failed.
    "attempt_failed" AttemptFailed {
        /// Number of the attempt.
        attempt: u32,
        /// Category of the failure.
        category: Category,
        /// Time of the retry; absent when the execution failed or is held.
        retry_at: Option<Millis>,
        /// Whether no retry was left and the execution is held for an operator.
        #[serde(default, skip_serializing_if = "is_default")]
        held: bool,
    },
    /// The lease expired, which interrupted the attempt.
    "lease_expired" LeaseExpired {
        /// Number of the attempt.
        attempt: u32,
        /// Time from which it can be claimed again; absent when the execution failed or is held.
        again_at: Option<Millis>,
        /// Whether too many leases were lost and the execution is held for an operator.
        #[serde(default, skip_serializing_if = "is_default")]
        held: bool,
    },
    /// The lease was returned.
    "returned" Returned {
        /// Number of the attempt.
        attempt: u32,
    },
    /// An operator revoked the lease, which interrupted the attempt.
    "lease_revoked" LeaseRevoked {
        /// Number of the attempt.
        attempt: u32,
        /// Reason.
        #[serde(default, skip_serializing_if = "Reason::is_empty")]
        reason: Reason,
        /// Time from which it can be claimed again; absent when the execution failed or is held.
        again_at: Option<Millis>,
        /// Whether too many leases were lost and the execution is held for an operator.
        #[serde(default, skip_serializing_if = "is_default")]
        held: bool,
    },
    /// The attempt timed out; the execution is retried at `retry_at`, or has expired.
    "timed_out" TimedOut {
        /// Number of the attempt.
        attempt: u32,
        /// Time of the retry; absent when the execution expired.
        retry_at: Option<Millis>,
        /// Why the execution expired; absent when it is retried or held.
        expired_by: Option<ExpiredBy>,
        /// Whether no retry was left and the execution is held for an operator.
        #[serde(default, skip_serializing_if = "is_default")]
        held: bool,
    },
    /// The deadline passed, and the execution expired.
    "expired" Expired {
        /// Number of the attempt that this ended.
        attempt: Option<u32>,
        /// Whether that attempt was paused, so that no worker held a lease.
        #[serde(default, skip_serializing_if = "is_default")]
        paused: bool,
        /// Why the execution expired.
        expired_by: ExpiredBy,
    },
    /// The running attempt was asked to stop.
    "stop_requested" StopRequested {
        /// Number of the attempt.
        attempt: u32,
        /// End of the grace period: the execution is cancelled then if it has not ended.
        until: Millis,
        /// Reason.
        #[serde(default, skip_serializing_if = "Reason::is_empty")]
        reason: Reason,
    },
    /// The execution was cancelled.
    "cancelled" Cancelled {
        /// Who cancelled it.
        cancelled_by: Canceller,
        /// Reason.
        #[serde(default, skip_serializing_if = "Reason::is_empty")]
        reason: Reason,
        /// Number of the attempt that this ended.
        attempt: Option<u32>,
        /// Whether that attempt was paused, so that no worker held a lease.
        #[serde(default, skip_serializing_if = "is_default")]
        paused: bool,
    },
    /// The attempt was suspended: it waits without a worker, and its lease is over.
    "suspended" Suspended {
        /// Number of the attempt.
        attempt: u32,
        /// Time at which a wait or the suspension times out first, if one does.
        until: Option<Millis>,
        /// What it waits for, for people.
        #[serde(default, skip_serializing_if = "Reason::is_empty")]
        reason: Reason,
    },
    /// The suspension ended, or an operator let a held execution go on.
    "resumed" Resumed {
        /// Number of the attempt that goes on; absent when the execution was held.
        attempt: Option<u32>,
        /// What ended the suspension.
        resumed_by: HowOver,
        /// Time at which it can be claimed; absent when it can be at once.
        delayed_until: Option<Millis>,
    },
    /// The suspension timed out, and the execution did not go on.
    "suspension_timed_out" SuspensionTimedOut {
        /// Number of the attempt.
        attempt: u32,
        /// What happened to the execution.
        then: OnTimeout,
    },
    /// A signal was accepted. It is in the feed and not in the history of the execution.
    "signalled" Signalled {
        /// Id of the signal.
        signal: SignalId,
        /// Name of the wait that it was sent to.
        wait: WaitName,
        /// Name of the signal, if it has one.
        name: Option<SignalName>,
        /// What it did.
        effect: SignalEffect,
    },
    /// An operator ended a wait without a signal; the execution waits for others.
    "wait_closed" WaitClosed {
        /// The wait.
        wait: WaitRef,
    },
    /// An operator holds the execution.
    "paused" Paused {
        /// Number of the attempt that lost its lease, if one ran.
        attempt: Option<u32>,
        /// Reason.
        #[serde(default, skip_serializing_if = "Reason::is_empty")]
        reason: Reason,
    },
    /// An operator rescheduled the execution.
    "rescheduled" Rescheduled {
        /// Time at which it becomes ready; absent when it is ready.
        until: Option<Millis>,
    },
    /// An operator changed the priority.
    "priority_changed" PriorityChanged {
        /// Priority before the change.
        before: u16,
        /// Priority after the change.
        after: u16,
    },
    /// An operator changed the tags.
    "tags_changed" TagsChanged,
    /// An operator set the note, or removed it.
    "annotated" Annotated {
        /// The note; empty when it was removed.
        #[cfg_attr(feature = "openapi", schema(value_type = String))]
        note: Arc<str>,
    },
    /// An operator replayed the execution.
    "replayed" Replayed {
        /// Number of replays so far, including this one.
        replays: u32,
        /// Reason.
        #[serde(default, skip_serializing_if = "Reason::is_empty")]
        reason: Reason,
    },
    /// The execution and all its data are being removed.
    "purged" Purged,
    /// An operator changed a lane.
    "lane_changed" LaneChanged {
        /// State of the lane after the change.
        state: LaneState,
        /// Revision of the settings; grows with every change.
        revision: u64,
    },
    /// An API key was issued.
    "key_issued" KeyIssued {
        /// Id of the API key.
        key: ApiKeyId,
        /// Name of the holder.
        name: Actor,
    },
    /// An API key was revoked.
    "key_revoked" KeyRevoked {
        /// Id of the API key.
        key: ApiKeyId,
        /// Name of the holder.
        name: Actor,
    },
    /// A new key signs tokens, and those before it expire.
    "token_keys_rotated" TokenKeysRotated {
        /// Id of the new key.
        key: TokenKeyId,
    },
    /// The store was restored from a backup: events that were read before may be undone.
    "restored" Restored,
}

formats!(enum What {
    Submitted { kind, delayed_until },
    Ready,
    Claimed { attempt, epoch, worker, resumed },
    Delayed { attempt, until },
    Completed { attempt },
    AttemptFailed { attempt, category, retry_at, held = 2 },
    LeaseExpired { attempt, again_at, held = 2 },
    Returned { attempt },
    LeaseRevoked { attempt, reason, again_at, held = 2 },
    TimedOut { attempt, retry_at, expired_by, held = 2 },
    Expired { attempt, paused, expired_by },
    StopRequested { attempt, until, reason },
    Cancelled { cancelled_by, reason, attempt, paused },
    Suspended { attempt, until, reason } = 2,
    Resumed { attempt, resumed_by, delayed_until } = 2,
    SuspensionTimedOut { attempt, then } = 2,
    Signalled { signal, wait, name, effect } = 2,
    WaitClosed { wait } = 2,
    Paused { attempt, reason } = 2,
    Rescheduled { until },
    PriorityChanged { before, after },
    TagsChanged,
    Annotated { note },
    Replayed { replays, reason },
    Purged,
    LaneChanged { state, revision },
    KeyIssued { key, name },
    KeyRevoked { key, name },
    TokenKeysRotated { key } = 2,
    Restored,
});

/// What a transition meant for the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeaseEvent {
    /// A worker acquired it.
    Acquired,
    /// It was released.
    Released,
    /// It expired.
    Expired,
    /// An operator revoked it.
    Revoked,
}

impl What {
    /// How the execution ended with this, if it did.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        match self {
            Self::Completed { .. } => Some(Outcome::Success),
            Self::AttemptFailed { retry_at: None, held: false, .. }
            | Self::LeaseExpired { again_at: None, held: false, .. }
            | Self::LeaseRevoked { again_at: None, held: false, .. }
            | Self::SuspensionTimedOut { then: OnTimeout::Fail, .. } => Some(Outcome::Failed),
            Self::TimedOut { retry_at: None, held: false, .. }
            | Self::Expired { .. }
            | Self::SuspensionTimedOut { then: OnTimeout::Expire, .. } => Some(Outcome::Expired),
            Self::Cancelled { .. } | Self::SuspensionTimedOut { then: OnTimeout::Cancel, .. } => {
                Some(Outcome::Cancelled)
            }
            _ => None,
        }
    }

    /// What this meant for the lease, if anything.
    #[must_use]
    pub fn lease(&self) -> Option<LeaseEvent> {
        match self {
            Self::Claimed { .. } => Some(LeaseEvent::Acquired),
            Self::LeaseExpired { .. } => Some(LeaseEvent::Expired),
            Self::LeaseRevoked { .. } | Self::Paused { attempt: Some(_), .. } => Some(LeaseEvent::Revoked),
            Self::Completed { .. }
            | Self::AttemptFailed { .. }
            | Self::Returned { .. }
            | Self::Delayed { .. }
            | Self::Suspended { .. }
            | Self::TimedOut { .. }
            | Self::Expired { attempt: Some(_), paused: false, .. }
            | Self::Cancelled { attempt: Some(_), paused: false, .. } => Some(LeaseEvent::Released),
            _ => None,
        }
    }
}
