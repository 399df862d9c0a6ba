//! Why a command was refused: a stable code, a message and a hint.

use crate::record::{PublicState, WaitRef};
use crate::{ApiKeyId, Capability, ExecutionId, Lane, Millis, PayloadError, SignalId, Span, limits};
use std::sync::Arc;

/// A refusal. It is part of the API: the code never changes its meaning.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// An argument is not allowed.
    #[error("{field}: {why}")]
    InvalidArgument {
        /// Name of the argument.
        field: &'static str,
        /// The rule that it violates.
        why: String,
    },
    /// An input or a result is not a valid payload.
    #[error("{field}: {error}")]
    Payload {
        /// Name of the argument.
        field: &'static str,
        /// The rule that it violates.
        error: PayloadError,
    },
    /// A requested time is more than a minute in the past, or a deadline is not in the future.
    #[error("{field} is {ago} in the past")]
    TimeInPast {
        /// Name of the argument.
        field: &'static str,
        /// Distance from now.
        ago: Span,
    },
    /// The execution does not exist, or belongs to another namespace.
    #[error("execution {0} does not exist")]
    ExecutionNotFound(ExecutionId),
    /// Another call has submitted an execution with this id.
    #[error("execution {0} already exists; another call submitted it")]
    ExecutionExists(ExecutionId),
    /// The idempotency key belongs to an execution with other arguments.
    #[error("the idempotency key belongs to execution {existing}, which was submitted with another {field}")]
    IdempotencyMismatch {
        /// Execution that was submitted with the key.
        existing: ExecutionId,
        /// Field that differs.
        field: Arc<str>,
    },
    /// The submission has both a unique key and an idempotency key, which would place it differently.
    #[error("the submission has both a unique_key and an idempotency_key")]
    TwoKeys,
    /// The execution is not waiting for a worker.
    #[error("execution {execution} is {state}, so it cannot be claimed", state = state.as_str())]
    NotReady {
        /// The execution.
        execution: ExecutionId,
        /// Its current state.
        state: PublicState,
    },
    /// The worker lacks capabilities that the execution requires.
    #[error("the worker lacks the capabilities {}", list(missing))]
    CapabilityMismatch {
        /// The missing capabilities.
        missing: Vec<Capability>,
    },
    /// The lane is paused, so workers cannot claim from it.
    #[error("lane {0} is paused")]
    LanePaused(Lane),
    /// The lane is draining, so it accepts no submits.
    #[error("lane {0} is draining and accepts no submits")]
    LaneDraining(Lane),
    /// The namespace has as many lanes as it may have.
    #[error("the namespace has {} lanes, which is the most", limits::LANES_MAX)]
    TooManyLanes,
    /// The lane has as many queues as it may have: one for each kind and set of required capabilities.
    #[error(
        "lane {lane} has as many combinations of kind and required capabilities as it may: {}, or {} KiB of their names",
        limits::QUEUES_MAX,
        limits::QUEUES_RECORD_BYTES_MAX / 1024
    )]
    TooManyQueues {
        /// The lane.
        lane: Lane,
    },
    /// The execution is not running, so no worker holds a lease on it.
    #[error("execution {execution} is {state}, not active", state = state.as_str())]
    NotActive {
        /// The execution.
        execution: ExecutionId,
        /// Its current state.
        state: PublicState,
    },
    /// The execution has ended, so it cannot be cancelled and its priority cannot be changed.
    #[error("execution {execution} has ended: it is {state}", state = state.as_str())]
    Finished {
        /// The execution.
        execution: ExecutionId,
        /// State in which it ended.
        state: PublicState,
    },
    /// The execution has not ended, so it cannot be replayed or purged.
    #[error("execution {execution} has not ended: it is {state}", state = state.as_str())]
    NotFinished {
        /// The execution.
        execution: ExecutionId,
        /// Its current state.
        state: PublicState,
    },
    /// The execution is not waiting or delayed, so it cannot be rescheduled.
    #[error("execution {execution} is {state}, not waiting or delayed", state = state.as_str())]
    NotWaiting {
        /// The execution.
        execution: ExecutionId,
        /// Its current state.
        state: PublicState,
    },
    /// The execution is neither held nor suspended, so it cannot be resumed.
    #[error("execution {execution} is {state}, not suspended", state = state.as_str())]
    NotSuspended {
        /// The execution.
        execution: ExecutionId,
        /// Its current state.
        state: PublicState,
    },
    /// The execution was asked to stop, so it cannot be paused.
    #[error("execution {0} was asked to stop and is about to be cancelled")]
    Stopping(ExecutionId),
    /// A part of the condition can never hold.
    #[error("{path} can never hold: {why}")]
    ConditionUnsatisfiable {
        /// Path of the part.
        path: Arc<str>,
        /// Reason.
        why: &'static str,
    },
    /// The condition is nested too deep.
    #[error("{path} is nested deeper than {max} levels")]
    ConditionTooDeep {
        /// Path of the part.
        path: Arc<str>,
        /// Maximum number of levels.
        max: usize,
    },
    /// The condition is too large.
    #[error("the condition is too large: {found}")]
    ConditionTooLarge {
        /// What was found, and the limit.
        found: String,
    },
    /// The wait is over, so it takes no more signals.
    #[error("the wait {wait} is over")]
    WaitpointClosed {
        /// The wait.
        wait: WaitRef,
    },
    /// The execution has no such signal.
    #[error("execution {execution} has no signal {signal}")]
    SignalNotFound {
        /// The execution.
        execution: ExecutionId,
        /// The signal.
        signal: SignalId,
    },
    /// The execution keeps as many signals for later waits as it may.
    #[error("execution {0} keeps {max} signals that no wait has taken, the maximum", max = limits::MAILBOX_MAX)]
    MailboxFull(ExecutionId),
    /// The execution has accepted as many signals as it may.
    #[error("execution {0} has accepted {max} signals, the maximum", max = limits::SIGNALS_MAX)]
    SignalsExhausted(ExecutionId),
    /// The token has expired.
    #[error("the token expired at {at}")]
    TokenExpired {
        /// Time at which it expired.
        at: Millis,
    },
    /// The text is no token, or nobody who may signed it.
    #[error("the token is not valid")]
    TokenInvalid,
    /// As many keys are good as may be at the same time.
    #[error("{max} token keys are good, the maximum", max = limits::TOKEN_KEYS_MAX)]
    TokenKeysExhausted,
    /// The token keys are bound to a secret that this process does not have.
    #[error("the token keys are bound to a secret that this process was not given")]
    TokenSecretMissing,
    /// The execution is being removed. Its memory of earlier calls may be gone, so an earlier try of this call may have
    /// taken effect.
    #[error("execution {0} has been purged")]
    Purged(ExecutionId),
    /// The execution was replayed as often as its policy allows.
    #[error("execution {execution} was replayed {replays} times, the maximum of its policy")]
    ReplaysExhausted {
        /// The execution.
        execution: ExecutionId,
        /// Number of replays.
        replays: u32,
    },
    /// Another execution that has not ended has the unique key.
    #[error("the unique key belongs to execution {existing}, which has not ended")]
    UniqueKeyTaken {
        /// Execution that has the key.
        existing: ExecutionId,
    },
    /// The attempt exceeded the timeout of its policy.
    #[error("the attempt timed out at {timed_out_at}")]
    AttemptTimedOut {
        /// Time at which it timed out.
        timed_out_at: Millis,
    },
    /// The execution's deadline has passed.
    #[error("the deadline passed at {deadline}")]
    DeadlinePassed {
        /// The deadline.
        deadline: Millis,
    },
    /// The caller's lease expired.
    #[error("the lease expired at {expired_at}")]
    LeaseExpired {
        /// Time at which it expired.
        expired_at: Millis,
    },
    /// The execution has a newer lease.
    #[error("the execution has another lease: its epoch is {current}, not {given}")]
    StaleLease {
        /// Epoch of the current lease.
        current: u64,
        /// Epoch of the caller's lease.
        given: u64,
    },
    /// The API key does not exist.
    #[error("API key {0} does not exist")]
    KeyNotFound(ApiKeyId),
    /// A stored record was written by a newer version, or is damaged.
    #[error("record {key} was written by a newer version or is damaged")]
    RecordUnreadable {
        /// Key of the record.
        key: String,
    },
}

/// What a caller should do about a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handling {
    /// Correct the call; a retry cannot succeed.
    Correct,
    /// Abandon the attempt: another worker has the execution, or it has ended.
    Abandon,
    /// Try later, or claim other work.
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
            Self::TwoKeys => "two_keys",
            Self::NotReady { .. } => "execution_not_ready",
            Self::CapabilityMismatch { .. } => "capability_mismatch",
            Self::LanePaused(_) => "lane_paused",
            Self::LaneDraining(_) => "lane_draining",
            Self::TooManyLanes => "too_many_lanes",
            Self::TooManyQueues { .. } => "too_many_queues",
            Self::NotActive { .. } => "execution_not_active",
            Self::Finished { .. } => "execution_finished",
            Self::NotFinished { .. } => "execution_not_finished",
            Self::NotWaiting { .. } => "execution_not_waiting",
            Self::NotSuspended { .. } => "execution_not_suspended",
            Self::Stopping(_) => "execution_stopping",
            Self::ConditionUnsatisfiable { .. } => "condition_unsatisfiable",
            Self::ConditionTooDeep { .. } => "condition_too_deep",
            Self::ConditionTooLarge { .. } => "condition_too_large",
            Self::WaitpointClosed { .. } => "waitpoint_closed",
            Self::SignalNotFound { .. } => "signal_not_found",
            Self::MailboxFull(_) => "mailbox_full",
            Self::SignalsExhausted(_) => "signals_exhausted",
            Self::TokenExpired { .. } => "token_expired",
            Self::TokenInvalid => "token_invalid",
            Self::TokenKeysExhausted => "token_keys_exhausted",
            Self::TokenSecretMissing => "token_secret_missing",
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
            Self::TimeInPast { .. } => "leave the time out to run the execution at once",
            Self::ExecutionNotFound(_) => "check the id and the namespace; an ended execution may have been purged",
            Self::ExecutionExists(_) => "let the engine choose the id",
            Self::IdempotencyMismatch { .. } => "use another key, or the arguments of the first submit",
            Self::TwoKeys => "keep one of them; the header Idempotency-Key can stand beside a unique_key",
            Self::NotReady { .. } => "claim other work",
            Self::CapabilityMismatch { .. } => "start a worker with these capabilities",
            Self::LanePaused(_) => "wait until the lane is open, or open it",
            Self::LaneDraining(_) => "submit to another lane, or open this one",
            Self::TooManyLanes => "use fewer lanes; those that were not used for a day are forgotten",
            Self::TooManyQueues { .. } => "use fewer kinds, or another lane; put what varies into the input",
            Self::Finished { .. } => "replay it to run it again",
            Self::NotFinished { .. } => "wait until it ends, or cancel it first",
            Self::NotWaiting { .. } => "reschedule only waiting or delayed executions",
            Self::NotSuspended { .. } => "pause it first, or send it a signal, which is kept until it waits for one",
            Self::Stopping(_) => "wait until it has ended",
            Self::ConditionUnsatisfiable { .. } => "correct this part of the condition",
            Self::ConditionTooDeep { .. } => "flatten the condition",
            Self::ConditionTooLarge { .. } => "wait for less at a time, or let several executions wait",
            Self::WaitpointClosed { .. } => "send the signal to the name alone if it is meant for the next wait",
            Self::SignalNotFound { .. } => "check the ids of the execution and the signal, and the namespace",
            Self::MailboxFull(_) => "wait until the execution has taken some, or check the name of the wait",
            Self::SignalsExhausted(_) => "submit another execution for what follows",
            Self::TokenExpired { .. } => "ask for a new link or token",
            Self::TokenInvalid => "copy the whole token or link, or ask for a new one",
            Self::TokenKeysExhausted => "wait until some have expired, or rotate with a shorter grace",
            Self::TokenSecretMissing => "give this process the same token secret as the others",
            Self::Purged(_) => "submit it again if it is still needed",
            Self::ReplaysExhausted { .. } => "submit it again, with a higher max_replays in its policy",
            Self::UniqueKeyTaken { .. } => "wait until the other execution ends, or cancel it first",
            Self::NotActive { .. }
            | Self::LeaseExpired { .. }
            | Self::StaleLease { .. }
            | Self::AttemptTimedOut { .. }
            | Self::DeadlinePassed { .. } => "abandon this attempt; do not report its result",
            Self::KeyNotFound(_) => "list the API keys and copy the whole id",
            Self::RecordUnreadable { .. } => "update this program, or check the store with `onward doctor`",
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
