//! The state of an execution: one enum that carries its data, so that illegal combinations cannot be written down.

use super::{Attempt, AttemptKind};
use crate::{Failure, LeaseId, Millis, WorkerName};
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
    /// What its next attempt will be.
    pub next: AttemptKind,
}

/// What a waiting execution waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// A worker.
    Ready {
        /// Since when. The place in the queue is kept apart, as the first time it was ready.
        since: Millis,
    },
    /// A time.
    Delayed {
        /// When it becomes ready.
        until: Millis,
        /// Who said so.
        why: WhyDelayed,
    },
}

/// Why an execution is delayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhyDelayed {
    /// Its submitter asked for it.
    Submitted,
    /// It failed and is tried again after a pause.
    Retry,
    /// It lost several leases in a row.
    Reclaim,
}

/// An execution that a worker runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Active {
    /// The worker's ownership.
    pub lease: Lease,
    /// The run itself.
    pub attempt: Attempt,
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
    /// From this time on it is dead, whether or not anybody noticed.
    pub expires_at: Millis,
}

/// An execution that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// How.
    pub outcome: Outcome,
    /// When.
    pub at: Millis,
    /// Why, when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Its handler succeeded.
    Success,
    /// No attempt succeeded and none is left.
    Failed,
}

/// What users see, always computed and never stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublicState {
    /// Waits for a worker.
    Waiting,
    /// Waits for a time.
    Delayed,
    /// Runs.
    Active,
    /// Ended well.
    Completed,
    /// Ended badly.
    Failed,
}

impl PublicState {
    /// The stable word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delayed => "delayed",
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }
}

impl Outcome {
    /// The stable word for it, which is part of an index name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failed => "failed",
        }
    }
}

impl State {
    /// What users see.
    #[must_use]
    pub fn public(&self) -> PublicState {
        match self {
            Self::Waiting(Waiting { readiness: Readiness::Ready { .. }, .. }) => PublicState::Waiting,
            Self::Waiting(Waiting { readiness: Readiness::Delayed { .. }, .. }) => PublicState::Delayed,
            Self::Active(_) => PublicState::Active,
            Self::Finished(Finished { outcome: Outcome::Success, .. }) => PublicState::Completed,
            Self::Finished(Finished { outcome: Outcome::Failed, .. }) => PublicState::Failed,
        }
    }

    /// The earliest time at which somebody must look at it.
    #[must_use]
    pub fn due(&self) -> Option<Millis> {
        match self {
            Self::Waiting(Waiting { readiness: Readiness::Delayed { until, .. }, .. }) => Some(*until),
            Self::Active(active) => Some(active.lease.expires_at),
            Self::Waiting(Waiting { readiness: Readiness::Ready { .. }, .. }) | Self::Finished(_) => None,
        }
    }
}

impl Readiness {
    /// The readiness of work that may run from `until` on.
    #[must_use]
    pub fn at(until: Millis, why: WhyDelayed, now: Millis) -> Self {
        if until > now { Self::Delayed { until, why } } else { Self::Ready { since: now } }
    }
}
