//! What happened: one event per transition, written once to the partition's feed in the transition's own commit.

use crate::record::{Format, LaneState};
use crate::{Category, ExecutionId, Kind, Lane, Millis, Namespace, WorkerName};
use serde::{Deserialize, Serialize};

/// One transition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The format of this event.
    #[serde(rename = "v")]
    pub format: Format,
    /// When.
    pub at: Millis,
    /// Whose.
    pub namespace: Namespace,
    /// In which lane.
    pub lane: Lane,
    /// Of which execution; absent when a lane changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<ExecutionId>,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// An execution was accepted.
    Submitted {
        /// Which handler it is for.
        kind: Kind,
        /// When it becomes ready, if not at once.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delayed_until: Option<Millis>,
    },
    /// Its time came.
    Ready,
    /// A worker acquired a lease on it and an attempt began.
    Claimed {
        /// The attempt.
        attempt: u32,
        /// The lease's epoch.
        epoch: u64,
        /// Who.
        worker: WorkerName,
    },
    /// The attempt succeeded, the lease was released, and the execution finished.
    Completed {
        /// The attempt.
        attempt: u32,
    },
    /// The attempt failed and the lease was released; the execution is tried again at `retry_at` or has failed.
    AttemptFailed {
        /// The attempt.
        attempt: u32,
        /// What kind of failure.
        category: Category,
        /// When it is tried again; absent when the execution failed for good.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Millis>,
    },
    /// The lease ran out and the attempt was interrupted.
    LeaseExpired {
        /// The attempt.
        attempt: u32,
        /// When it may be claimed again; absent when the execution failed for good.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again_at: Option<Millis>,
    },
    /// The lease was given back before the attempt ran.
    Returned {
        /// The attempt.
        attempt: u32,
    },
    /// An operator changed a lane.
    LaneChanged {
        /// What it lets through now.
        state: LaneState,
        /// Grows with every decision.
        revision: u64,
    },
}
