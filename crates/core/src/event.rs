//! What happened: one event per transition, written once to the partition's feed in the transition's own commit.

use crate::record::{Canceller, Format, LaneState, Outcome, is_default};
use crate::{Actor, ApiKeyId, Category, ExecutionId, Kind, Lane, Millis, Namespace, Reason, WorkerName};
use serde::{Deserialize, Serialize};

/// One transition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// The format of this event.
    #[serde(rename = "v")]
    #[cfg_attr(feature = "openapi", schema(value_type = u32, example = 1))]
    pub format: Format,
    /// When.
    pub at: Millis,
    /// Whose.
    pub namespace: Namespace,
    /// In which lane.
    pub lane: Lane,
    /// Of which execution; absent when a lane changed or the store was restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionId>,
    /// Who did it, when it was an operator with a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

impl Event {
    /// Tells the readers of one partition that the store was restored. It concerns every namespace, and names the default
    /// one since it must name one.
    #[must_use]
    pub fn restored(at: Millis) -> Self {
        let (namespace, lane) = (Namespace::default(), Lane::default());
        Self { format: Format, at, namespace, lane, execution: None, by: None, what: What::Restored }
    }
}

/// Makes the table of events: the enum of all that can happen, and their names.
macro_rules! events {
    ($($(#[$about:meta])* $name:literal $variant:ident $({ $($fields:tt)* })?,)+) => {
        /// What happened.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        #[serde(tag = "type", rename_all = "snake_case")]
        pub enum What {
            $($(#[$about])* $variant $({ $($fields)* })?,)+
        }

        impl What {
            /// Every name that [`What::name`] answers.
            pub const NAMES: &'static [&'static str] = &[$($name,)+];

            /// The stable word for it.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $name,)+ }
            }
        }
    };
}

events! {
    /// An execution was accepted.
    "submitted" Submitted {
        /// Which handler it is for.
        kind: Kind,
        /// When it becomes ready, if not at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delayed_until: Option<Millis>,
    },
    /// Its time came.
    "ready" Ready,
    /// A worker acquired a lease on it and an attempt began.
    "claimed" Claimed {
        /// The attempt.
        attempt: u32,
        /// The lease's epoch.
        epoch: u64,
        /// Who.
        worker: WorkerName,
        /// Whether the attempt goes on after a pause.
        #[serde(default, skip_serializing_if = "is_default")]
        resumed: bool,
    },
    /// Its worker goes on with the attempt later and released the lease.
    "delayed" Delayed {
        /// The attempt.
        attempt: u32,
        /// When it goes on.
        until: Millis,
    },
    /// The attempt succeeded, the lease was released, and the execution finished.
    "completed" Completed {
        /// The attempt.
        attempt: u32,
    },
    /// The attempt failed and the lease was released; the execution is tried again at `retry_at` or has failed.
    "attempt_failed" AttemptFailed {
        /// The attempt.
        attempt: u32,
        /// What kind of failure.
        category: Category,
        /// When it is tried again; absent when the execution failed for good.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Millis>,
    },
    /// The lease ran out and the attempt was interrupted.
    "lease_expired" LeaseExpired {
        /// The attempt.
        attempt: u32,
        /// When it may be claimed again; absent when the execution failed for good.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again_at: Option<Millis>,
    },
    /// The lease was given back.
    "returned" Returned {
        /// The attempt.
        attempt: u32,
    },
    /// An operator took the lease away and the attempt was interrupted.
    "lease_revoked" LeaseRevoked {
        /// The attempt.
        attempt: u32,
        /// Why.
        #[serde(default, skip_serializing_if = "Reason::is_empty")]
        reason: Reason,
        /// When it may be claimed again; absent when the execution failed for good.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again_at: Option<Millis>,
    },
    /// The attempt ran for too long and the lease was released; it is tried again at `retry_at` or has expired.
    "timed_out" TimedOut {
        /// The attempt.
        attempt: u32,
        /// When it is tried again; absent when the execution expired.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Millis>,
    },
    /// Its deadline passed.
    "expired" Expired {
        /// The attempt that this ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<u32>,
        /// Whether that attempt was paused, so that nobody held a lease.
        #[serde(default, skip_serializing_if = "is_default")]
        paused: bool,
    },
    /// It was asked to stop.
    "stop_requested" StopRequested {
        /// The attempt.
        attempt: u32,
        /// When it is cancelled if it has not ended by then.
        until: Millis,
        /// Why.
        #[serde(default, skip_serializing_if = "Reason::is_empty")]
        reason: Reason,
    },
    /// It was cancelled.
    "cancelled" Cancelled {
        /// By whom.
        cancelled_by: Canceller,
        /// Why.
        #[serde(default, skip_serializing_if = "Reason::is_empty")]
        reason: Reason,
        /// The attempt that this ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<u32>,
        /// Whether that attempt was paused, so that nobody held a lease.
        #[serde(default, skip_serializing_if = "is_default")]
        paused: bool,
    },
    /// An operator chose when it may run.
    "rescheduled" Rescheduled {
        /// When; absent when it is ready.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<Millis>,
    },
    /// An operator changed its place in the queue.
    "priority_changed" PriorityChanged {
        /// What it was.
        before: u16,
        /// What it is.
        after: u16,
    },
    /// An operator changed its labels.
    "tags_changed" TagsChanged,
    /// An operator had it run again.
    "replayed" Replayed {
        /// How often that was done by now.
        replays: u32,
        /// Why.
        #[serde(default, skip_serializing_if = "Reason::is_empty")]
        reason: Reason,
    },
    /// It is removed with all that belongs to it.
    "purged" Purged,
    /// An operator changed a lane.
    "lane_changed" LaneChanged {
        /// What it lets through now.
        state: LaneState,
        /// Grows with every decision.
        revision: u64,
    },
    /// A key was issued.
    "key_issued" KeyIssued {
        /// Its public part.
        key: ApiKeyId,
        /// Who holds it.
        name: Actor,
    },
    /// A key was revoked.
    "key_revoked" KeyRevoked {
        /// Its public part.
        key: ApiKeyId,
        /// Who held it.
        name: Actor,
    },
    /// The store was restored from a copy: what readers were told after that copy was made may be undone.
    "restored" Restored,
}

/// What a transition meant for the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeaseEvent {
    /// A worker got it.
    Acquired,
    /// Its worker gave it up, in whatever way.
    Released,
    /// It ran out.
    Expired,
    /// An operator took it away.
    Revoked,
}

impl What {
    /// How the execution ended with this, if it did.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        match self {
            Self::Completed { .. } => Some(Outcome::Success),
            Self::AttemptFailed { retry_at: None, .. }
            | Self::LeaseExpired { again_at: None, .. }
            | Self::LeaseRevoked { again_at: None, .. } => Some(Outcome::Failed),
            Self::TimedOut { retry_at: None, .. } | Self::Expired { .. } => Some(Outcome::Expired),
            Self::Cancelled { .. } => Some(Outcome::Cancelled),
            _ => None,
        }
    }

    /// What this meant for the lease, if anything.
    #[must_use]
    pub fn lease(&self) -> Option<LeaseEvent> {
        match self {
            Self::Claimed { .. } => Some(LeaseEvent::Acquired),
            Self::LeaseExpired { .. } => Some(LeaseEvent::Expired),
            Self::LeaseRevoked { .. } => Some(LeaseEvent::Revoked),
            Self::Completed { .. }
            | Self::AttemptFailed { .. }
            | Self::Returned { .. }
            | Self::Delayed { .. }
            | Self::TimedOut { .. }
            | Self::Expired { attempt: Some(_), paused: false }
            | Self::Cancelled { attempt: Some(_), paused: false, .. } => Some(LeaseEvent::Released),
            _ => None,
        }
    }
}
