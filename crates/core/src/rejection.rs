//! Why a command was refused: a stable code, what was found, and what the caller can do.

use crate::record::PublicState;
use crate::{ApiKeyId, Capability, ExecutionId, Lane, Millis, PayloadError, Span};

/// A refusal. It is part of the API: the code never changes its meaning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// An argument breaks a rule of its own.
    #[error("{field}: {why}")]
    InvalidArgument {
        /// Which argument.
        field: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// An input or a result breaks a limit.
    #[error("{field}: {error}")]
    Payload {
        /// Which argument.
        field: &'static str,
        /// What is wrong with it.
        error: PayloadError,
    },
    /// A requested time is further in the past than the grace allows.
    #[error("{field} is {ago} in the past")]
    TimeInPast {
        /// Which argument.
        field: &'static str,
        /// How far.
        ago: Span,
    },
    /// No such execution, or it belongs to another namespace.
    #[error("there is no execution {0}")]
    ExecutionNotFound(ExecutionId),
    /// The id is taken by an execution that another call submitted.
    #[error("execution {0} exists already and was submitted by another call")]
    ExecutionExists(ExecutionId),
    /// The key stands for an execution with other arguments.
    #[error("the idempotency key stands for {existing}, which was submitted with other arguments")]
    IdempotencyMismatch {
        /// The execution it stands for.
        existing: ExecutionId,
    },
    /// The execution is not waiting for a worker.
    #[error("execution {execution} is {state}, not ready to be claimed", state = state.as_str())]
    NotReady {
        /// Which.
        execution: ExecutionId,
        /// What it is instead.
        state: PublicState,
    },
    /// The worker lacks capabilities that the execution requires.
    #[error("the worker lacks {}", list(missing))]
    CapabilityMismatch {
        /// What it lacks.
        missing: Vec<Capability>,
    },
    /// The lane lets nobody claim.
    #[error("lane {0} is paused")]
    LanePaused(Lane),
    /// The lane takes no submissions.
    #[error("lane {0} is draining and takes no submissions")]
    LaneDraining(Lane),
    /// The execution is not running, so nobody can act as its worker.
    #[error("execution {execution} is {state}, not active", state = state.as_str())]
    NotActive {
        /// Which.
        execution: ExecutionId,
        /// What it is instead.
        state: PublicState,
    },
    /// The execution has ended, so nothing more can be done to it.
    #[error("execution {execution} has ended: it is {state}", state = state.as_str())]
    Finished {
        /// Which.
        execution: ExecutionId,
        /// How it ended.
        state: PublicState,
    },
    /// The execution has not ended, so it can neither be replayed nor purged.
    #[error("execution {execution} has not ended: it is {state}", state = state.as_str())]
    NotFinished {
        /// Which.
        execution: ExecutionId,
        /// What it is.
        state: PublicState,
    },
    /// The execution does not wait, so its time cannot be chosen.
    #[error("execution {execution} is {state}, not waiting", state = state.as_str())]
    NotWaiting {
        /// Which.
        execution: ExecutionId,
        /// What it is instead.
        state: PublicState,
    },
    /// The execution is being removed. What it remembered of earlier calls may be gone, so this denies none of them.
    #[error("execution {0} has been purged")]
    Purged(ExecutionId),
    /// It was replayed as often as its policy allows.
    #[error("execution {execution} was replayed {replays} times, which is all that its policy allows")]
    ReplaysExhausted {
        /// Which.
        execution: ExecutionId,
        /// How often.
        replays: u32,
    },
    /// The unique key stands for another execution that has not ended.
    #[error("the unique key stands for {existing}, which has not ended")]
    UniqueKeyTaken {
        /// Which.
        existing: ExecutionId,
    },
    /// The attempt has run for as long as its policy allows.
    #[error("the attempt had its time until {timed_out_at}")]
    AttemptTimedOut {
        /// When its time was over.
        timed_out_at: Millis,
    },
    /// The execution's deadline has passed.
    #[error("the deadline passed at {deadline}")]
    DeadlinePassed {
        /// When.
        deadline: Millis,
    },
    /// The caller's lease ran out.
    #[error("the lease ran out at {expired_at}")]
    LeaseExpired {
        /// When.
        expired_at: Millis,
    },
    /// Another lease has been given out since.
    #[error("another lease holds this execution: epoch {current}, not {given}")]
    StaleLease {
        /// The epoch in force.
        current: u64,
        /// The caller's.
        given: u64,
    },
    /// No such key.
    #[error("there is no key {0}")]
    KeyNotFound(ApiKeyId),
    /// The stored record is of a newer version or damaged.
    #[error("record {key} was written by a newer version or is damaged")]
    RecordUnreadable {
        /// Which.
        key: String,
    },
}

/// What a caller should do about a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handling {
    /// Correct the call; repeating it cannot help.
    Correct,
    /// Stop working on this execution: somebody else has it or it is over.
    Abandon,
    /// Ask again later or ask for other work.
    TryOther,
}

impl Rejection {
    /// An argument that breaks a rule.
    pub(crate) fn invalid(field: &'static str, why: impl Into<String>) -> Self {
        Self::InvalidArgument { field, why: why.into() }
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidArgument { .. } => "invalid_argument",
            Self::Payload { error, .. } => error.code(),
            Self::TimeInPast { .. } => "time_in_past",
            Self::ExecutionNotFound(_) => "execution_not_found",
            Self::ExecutionExists(_) => "execution_exists",
            Self::IdempotencyMismatch { .. } => "idempotency_mismatch",
            Self::NotReady { .. } => "execution_not_ready",
            Self::CapabilityMismatch { .. } => "capability_mismatch",
            Self::LanePaused(_) => "lane_paused",
            Self::LaneDraining(_) => "lane_draining",
            Self::NotActive { .. } => "execution_not_active",
            Self::Finished { .. } => "execution_finished",
            Self::NotFinished { .. } => "execution_not_finished",
            Self::NotWaiting { .. } => "execution_not_waiting",
            Self::Purged(_) => "execution_purged",
            Self::ReplaysExhausted { .. } => "replays_exhausted",
            Self::UniqueKeyTaken { .. } => "unique_key_taken",
            Self::AttemptTimedOut { .. } => "attempt_timed_out",
            Self::DeadlinePassed { .. } => "deadline_passed",
            Self::LeaseExpired { .. } => "lease_expired",
            Self::StaleLease { .. } => "stale_lease",
            Self::KeyNotFound(_) => "key_not_found",
            Self::RecordUnreadable { .. } => "record_unreadable",
        }
    }

    /// What the caller can do.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::InvalidArgument { .. } => "correct the argument",
            Self::Payload { error, .. } => error.hint(),
            Self::TimeInPast { .. } => "leave the time out to run at once",
            Self::ExecutionNotFound(_) => "check the id and the namespace; finished work may have been purged",
            Self::ExecutionExists(_) => "let the engine choose the id",
            Self::IdempotencyMismatch { .. } => "use another key, or the arguments of the first submit",
            Self::NotReady { .. } => "claim other work",
            Self::CapabilityMismatch { .. } => "start a worker with these capabilities",
            Self::LanePaused(_) => "open the lane again",
            Self::LaneDraining(_) => "submit to another lane or open this one again",
            Self::Finished { .. } => "replay it to run it again",
            Self::NotFinished { .. } => "wait for its end or cancel it first",
            Self::NotWaiting { .. } => "choose the time of waiting or delayed work",
            Self::Purged(_) => "submit the work again if it is still wanted",
            Self::ReplaysExhausted { .. } => "submit the work again, or allow more replays in its policy",
            Self::UniqueKeyTaken { .. } => "wait for its end or cancel it first",
            Self::NotActive { .. }
            | Self::LeaseExpired { .. }
            | Self::StaleLease { .. }
            | Self::AttemptTimedOut { .. }
            | Self::DeadlinePassed { .. } => "abandon this attempt; its effects must not be reported",
            Self::KeyNotFound(_) => "list the keys and copy the whole id",
            Self::RecordUnreadable { .. } => "update this program, or run a check of the store",
        }
    }

    /// What the caller should do, for programs.
    #[must_use]
    pub fn handling(&self) -> Handling {
        match self {
            Self::NotActive { .. }
            | Self::LeaseExpired { .. }
            | Self::StaleLease { .. }
            | Self::AttemptTimedOut { .. }
            | Self::DeadlinePassed { .. } => Handling::Abandon,
            Self::NotReady { .. } | Self::CapabilityMismatch { .. } | Self::LanePaused(_) => Handling::TryOther,
            _ => Handling::Correct,
        }
    }
}

fn list(capabilities: &[Capability]) -> String {
    capabilities.iter().map(Capability::as_str).collect::<Vec<_>>().join(", ")
}
