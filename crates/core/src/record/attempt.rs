//! One concrete run of an execution, while it runs and after it ended.

use super::Format;
use crate::{CommandId, Failure, LeaseId, Millis, WorkerName};
use serde::{Deserialize, Serialize};

/// Why an attempt was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptKind {
    /// The first one.
    Initial,
    /// The one before failed and the policy allows another.
    Retry,
    /// The one before lost its lease.
    Reclaim,
}

/// The attempt that is running now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Counts from 0 without gaps.
    pub index: u32,
    /// Why it was made.
    pub kind: AttemptKind,
    /// When it was claimed.
    pub started_at: Millis,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    /// Its handler finished.
    Succeeded,
    /// Its handler failed; the next attempt may start at `retry_at`, or there is none.
    Failed {
        /// Why.
        failure: Failure,
        /// When the execution becomes ready again; absent when it finished.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Millis>,
    },
    /// Its lease ran out.
    Interrupted,
    /// It was given back before it ran, because nobody was there to receive it.
    Returned,
}

/// An attempt that has ended; it never changes again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedAttempt {
    /// The format of this record when it is stored on its own.
    #[serde(rename = "v")]
    pub format: Format,
    /// Counts from 0 without gaps.
    pub index: u32,
    /// Why it was made.
    pub kind: AttemptKind,
    /// When it was claimed.
    pub started_at: Millis,
    /// When it ended.
    pub ended_at: Millis,
    /// The lease it ran under.
    pub lease: LeaseId,
    /// Who ran it.
    pub worker: WorkerName,
    /// How it ended.
    pub end: AttemptEnd,
    /// The call that ended it, so that a repeat gets the same answer; absent when time ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_by: Option<CommandId>,
}
