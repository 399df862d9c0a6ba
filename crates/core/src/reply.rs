//! What an accepted command answers.

use crate::record::{ApiKey, AttemptKind, Did, StopRequest};
use crate::{ExecutionId, Fence, Kind, Lane, Millis, Namespace, Payload, TagKey, TagValue, TraceContext};
use std::collections::BTreeMap;

/// The answer to a command that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// To a submit.
    Submitted(Submitted),
    /// To a claim.
    Claimed(Box<Claimed>),
    /// To a renewal.
    Renewed(Renewed),
    /// To a completion.
    Completed,
    /// To a failure.
    Failed(AfterFailure),
    /// To a lease given back.
    Returned,
    /// To an attempt that goes on later.
    Delayed {
        /// When it goes on.
        until: Millis,
    },
    /// To what an attempt said about itself.
    Noted(Renewed),
    /// To a worker that found its execution unwanted.
    Cancelled,
    /// To an operator.
    Operated(Did),
    /// To a due time: whether there was anything to do.
    Due {
        /// Whether the record changed.
        acted: bool,
        /// When to look again; absent when there is nothing to wait for.
        next: Option<Millis>,
    },
    /// To messages: how many were new.
    Delivered {
        /// How many were new.
        applied: usize,
    },
    /// To a removal of delivered messages.
    Forgotten,
    /// To a message set aside.
    Buried,
    /// To a key that was issued: the key as it is kept.
    KeyIssued(Box<ApiKey>),
    /// To a key that was revoked: the key as it is kept.
    KeyRevoked(Box<ApiKey>),
    /// To a lane change: which decision it became.
    LaneSet {
        /// Grows with every decision about the lane.
        revision: u64,
    },
}

/// The answer to a submit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Submitted {
    /// The execution, new or old.
    pub id: ExecutionId,
    /// Whether this call created it; false when its idempotency key stands for an earlier one.
    pub created: bool,
}

/// What a worker learns about its lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewed {
    /// When the lease ends.
    pub expires_at: Millis,
    /// Somebody wants the attempt to stop by itself.
    pub stop: Option<StopRequest>,
}

/// What a worker gets with a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// What proves ownership in every later call.
    pub fence: Fence,
    /// When the lease ends unless it is renewed.
    pub expires_at: Millis,
    /// Whose execution.
    pub namespace: Namespace,
    /// Its lane.
    pub lane: Lane,
    /// Which handler to run.
    pub kind: Kind,
    /// What to work on.
    pub input: Payload,
    /// Its labels.
    pub tags: BTreeMap<TagKey, TagValue>,
    /// Why this attempt was made.
    pub attempt_kind: AttemptKind,
    /// Whether the attempt goes on after a pause.
    pub resumed: bool,
    /// How many failures were retried before.
    pub retries: u32,
    /// When the attempt is ended for having run too long.
    pub times_out_at: Option<Millis>,
    /// When the execution expires.
    pub deadline: Option<Millis>,
    /// When it was submitted.
    pub created_at: Millis,
    /// The trace from which it was submitted.
    pub trace: Option<TraceContext>,
}

/// What follows a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// Another attempt.
    RetryAt(Millis),
    /// The end.
    Finished,
}
