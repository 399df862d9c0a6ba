//! The state of an execution: one enum that carries its data, so that illegal combinations cannot be written down.

use super::{Attempt, AttemptKind, Paused, Suspension, formats};
use crate::{Failure, LeaseId, Millis, Reason, Span, WorkerName};
use serde::{Deserialize, Serialize};

/// Where an execution stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Nobody runs it.
    Waiting(Waiting),
    /// A worker runs it under a lease.
    Active(Active),
    /// It has ended.
    Finished(Finished),
}

/// An execution that nobody runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// What it waits for.
    pub readiness: Readiness,
    /// What a claim starts.
    pub next: Next,
}

/// What the next claim of a waiting execution starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// The first attempt.
    Initial,
    /// Another attempt after one that failed.
    Retry,
    /// Another attempt after one that lost its lease.
    Reclaim,
    /// Another attempt after the execution had ended.
    Replay,
    /// The same attempt goes on.
    Resume(Box<Paused>),
}

impl Next {
    /// Why the attempt that comes next was or will be made.
    #[must_use]
    pub fn kind(&self) -> AttemptKind {
        match self {
            Self::Initial => AttemptKind::Initial,
            Self::Retry => AttemptKind::Retry,
            Self::Reclaim => AttemptKind::Reclaim,
            Self::Replay => AttemptKind::Replay,
            Self::Resume(paused) => paused.attempt.kind,
        }
    }

    /// The paused attempt that goes on, if one does.
    #[must_use]
    pub fn paused(&self) -> Option<&Paused> {
        match self {
            Self::Resume(paused) => Some(paused),
            _ => None,
        }
    }

    /// A fresh attempt of this kind.
    pub(crate) fn fresh(kind: AttemptKind) -> Self {
        match kind {
            AttemptKind::Initial => Self::Initial,
            AttemptKind::Retry => Self::Retry,
            AttemptKind::Reclaim => Self::Reclaim,
            AttemptKind::Replay => Self::Replay,
        }
    }
}

/// What a waiting execution waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// A worker.
    Ready {
        /// Since when. The place in the queue is kept apart.
        since: Millis,
    },
    /// A time.
    Delayed {
        /// When it becomes ready.
        until: Millis,
        /// Who said so.
        why: WhyDelayed,
    },
    /// Signals, an operator or a time.
    Suspended(Box<Suspension>),
}

/// Why an execution is delayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum WhyDelayed {
    /// It was submitted with a delay.
    Submitted,
    /// An attempt failed, and the retry comes after a pause.
    Retry,
    /// It lost several leases in a row.
    Reclaim,
    /// Its worker paused the attempt.
    Worker,
    /// An operator rescheduled it.
    Operator,
    /// Its suspension ended, and it goes on after a pause.
    Resumed,
}

/// An execution that a worker runs.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Active {
    /// The worker's ownership.
    pub lease: Lease,
    /// The run itself.
    pub attempt: Attempt,
    /// It was asked to stop and is cancelled when its time is up.
    pub stop: Option<StopRequest>,
}

/// A request to a running attempt to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StopRequest {
    /// Who requested it, and the reason.
    pub cancellation: Cancellation,
    /// End of the grace period: the execution is cancelled then if it has not ended.
    pub until: Millis,
    /// Length of the grace period.
    pub grace: Span,
}

/// Who cancelled an execution, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Cancellation {
    /// Who cancelled it.
    pub by: Canceller,
    /// Reason, for people.
    #[serde(default, skip_serializing_if = "Reason::is_empty")]
    pub reason: Reason,
}

/// Who cancelled an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Canceller {
    /// The worker that held its lease.
    Owner,
    /// An operator.
    Operator,
    /// The timeout of its suspension.
    Timeout,
}

/// A worker's fenced, expiring ownership of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Random; with the epoch it is the fence.
    pub id: LeaseId,
    /// Grows with every lease of the execution; never used twice.
    pub epoch: u64,
    /// Who holds it, for people.
    pub worker: WorkerName,
    /// From this time on it may be ended; it is dead once that is committed.
    pub expires_at: Millis,
    /// How long it lasts from its last renewal.
    pub ttl: Span,
}

/// An execution that has ended.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// How.
    pub outcome: Outcome,
    /// When.
    pub at: Millis,
    /// Why, when it failed or expired.
    pub failure: Option<Failure>,
    /// Which time was over, when it expired.
    pub expired_by: Option<ExpiredBy>,
    /// By whom and why, when it was cancelled.
    pub cancelled: Option<Cancellation>,
    /// It is being removed. From here on nothing can be done with it.
    pub purging: Option<Purging>,
}

/// The removal of an ended execution. Its contents are gone; an errand removes what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purging {
    /// Its own record stays at least until then, so that calls that are repeated find themselves.
    pub until: Millis,
}

impl Finished {
    /// An end with no more to say about it.
    #[must_use]
    pub fn new(outcome: Outcome, at: Millis) -> Self {
        Self { outcome, at, failure: None, expired_by: None, cancelled: None, purging: None }
    }
}

words! {
    /// How an execution ended.
    Outcome {
        /// The handler succeeded.
        Success = "success",
        /// No attempt succeeded, and none is left.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
        /// Its deadline passed, or its last attempt timed out.
        Expired = "expired",
    }
}

words! {
    /// Which time was over when an execution expired.
    ExpiredBy {
        /// The timeout of its last attempt.
        AttemptTimeout = "attempt_timeout",
        /// Its deadline.
        Deadline = "deadline",
        /// The timeout of its suspension.
        SuspensionTimeout = "suspension_timeout",
    }
}

words! {
    /// State of an execution; always computed and never stored.
    PublicState {
        /// Ready; waits for a worker.
        Waiting = "waiting",
        /// Waits until a time.
        Delayed = "delayed",
        /// A worker runs it.
        Active = "active",
        /// Waits for signals or an operator.
        Suspended = "suspended",
        /// It ended with a result.
        Completed = "completed",
        /// No attempt succeeded, and none is left.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
        /// Its deadline passed, or its last attempt timed out.
        Expired = "expired",
    }
}

impl PublicState {
    /// How an execution in this state ended, if it has.
    #[must_use]
    pub fn outcome(self) -> Option<Outcome> {
        match self {
            Self::Waiting | Self::Delayed | Self::Active | Self::Suspended => None,
            Self::Completed => Some(Outcome::Success),
            Self::Failed => Some(Outcome::Failed),
            Self::Cancelled => Some(Outcome::Cancelled),
            Self::Expired => Some(Outcome::Expired),
        }
    }
}

impl Outcome {
    /// What users see of an execution that ended so.
    #[must_use]
    pub fn public(self) -> PublicState {
        match self {
            Self::Success => PublicState::Completed,
            Self::Failed => PublicState::Failed,
            Self::Cancelled => PublicState::Cancelled,
            Self::Expired => PublicState::Expired,
        }
    }
}

impl State {
    /// What users see, unless the execution is held.
    #[must_use]
    pub fn public(&self) -> PublicState {
        match self {
            Self::Waiting(Waiting { readiness: Readiness::Ready { .. }, .. }) => PublicState::Waiting,
            Self::Waiting(Waiting { readiness: Readiness::Delayed { .. }, .. }) => PublicState::Delayed,
            Self::Waiting(Waiting { readiness: Readiness::Suspended(_), .. }) => PublicState::Suspended,
            Self::Active(_) => PublicState::Active,
            Self::Finished(finished) => finished.outcome.public(),
        }
    }
}

formats!(
    enum State {
        Waiting(waiting),
        Active(active),
        Finished(finished),
    }
);
formats!(struct Waiting { readiness, next });
formats!(
    enum Next {
        Initial,
        Retry,
        Reclaim,
        Replay,
        Resume(paused),
    }
);
formats!(enum Readiness { Ready { since }, Delayed { until, why }, Suspended(suspension) = 2 });
formats!(
    enum WhyDelayed {
        Submitted,
        Retry,
        Reclaim,
        Worker,
        Operator,
        Resumed = 2,
    }
);
formats!(struct Active { lease, attempt, stop });
formats!(struct Lease { id, epoch, worker, expires_at, ttl });
formats!(struct StopRequest { cancellation, until, grace });
formats!(struct Cancellation { by, reason });
formats!(
    enum Canceller {
        Owner,
        Operator,
        Timeout = 2,
    }
);
formats!(struct Finished { outcome, at, failure, expired_by, cancelled, purging });
formats!(struct Purging { until });
formats!(
    enum Outcome {
        Success,
        Failed,
        Cancelled,
        Expired,
    }
);
formats!(
    enum ExpiredBy {
        AttemptTimeout,
        Deadline,
        SuspensionTimeout = 2,
    }
);
