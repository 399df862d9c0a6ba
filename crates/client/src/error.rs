//! What a call of the client can end with instead of its answer: a stable code, a sentence and a hint.

use crate::AddressError;
use crate::wire::Problem;
use onward_core::record::PublicState;
use onward_core::{ExecutionId, Failure, IdError, NameError, PayloadError, Reason, Rejection, Span, TraceError};

/// The result of a client call.
pub type Result<T> = std::result::Result<T, Error>;

/// A call that was refused or could not be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The engine or the store says so.
    #[error(transparent)]
    Engine(#[from] onward_engine::Error),
    /// The address names no store.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A name breaks its alphabet or its length.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A text is not an id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A text is not the context of a trace.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// A value cannot be a payload.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The server says so.
    #[error("{}", .0.detail)]
    Server(Box<Problem>),
    /// The server could not be reached, or broke off; the call may have been carried out.
    #[error("the server did not answer: {why}")]
    Unreachable {
        /// What went wrong.
        why: String,
    },
    /// What was reached is not a server of this kind.
    #[error("the answer is not that of a server: {why}")]
    Unintelligible {
        /// What was answered.
        why: String,
    },
    /// A circuit breaker lets no call through for now.
    #[error("too many calls failed lately; the next one is let through in {retry_after}")]
    CircuitOpen {
        /// When to try again.
        retry_after: Span,
    },
    /// The execution has no result because it failed.
    #[error("execution {id} failed ({category}): {message}", category = failure.category.as_str(), message = failure.message)]
    ExecutionFailed {
        /// Which.
        id: ExecutionId,
        /// Why.
        failure: Failure,
    },
    /// The execution has no result because it was cancelled.
    #[error("execution {id} was cancelled: {reason}")]
    ExecutionCancelled {
        /// Which.
        id: ExecutionId,
        /// Why.
        reason: Reason,
    },
    /// The execution has no result because its time was up.
    #[error("execution {id} expired: {message}", message = failure.message)]
    ExecutionExpired {
        /// Which.
        id: ExecutionId,
        /// Which time.
        failure: Failure,
    },
    /// The execution had not ended when the time was up.
    #[error("execution {id} is still {state} after {waited}", state = state.as_str())]
    WaitTimedOut {
        /// Which.
        id: ExecutionId,
        /// What it was at the end.
        state: PublicState,
        /// How long was waited.
        waited: Span,
    },
    /// The result has another shape than the one asked for.
    #[error("the result of {id} cannot be read as the type asked for: {why}")]
    ResultMismatch {
        /// Which.
        id: ExecutionId,
        /// What does not fit.
        why: String,
    },
}

impl Error {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Engine(error) => error.code(),
            Self::Server(problem) => &problem.code,
            Self::Unreachable { .. } => "server_unreachable",
            Self::Unintelligible { .. } => "server_unintelligible",
            Self::CircuitOpen { .. } => "circuit_open",
            Self::Address(error) => error.code(),
            Self::Name(_) => "invalid_name",
            Self::Id(_) => "invalid_id",
            Self::Trace(_) => "invalid_trace",
            Self::Payload(error) => error.code(),
            Self::ExecutionFailed { .. } => "execution_failed",
            Self::ExecutionCancelled { .. } => "execution_cancelled",
            Self::ExecutionExpired { .. } => "execution_expired",
            Self::WaitTimedOut { .. } => "wait_timed_out",
            Self::ResultMismatch { .. } => "result_mismatch",
        }
    }

    /// What the caller can do.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            Self::Engine(error) => error.hint(),
            Self::Server(problem) => &problem.hint,
            Self::Unreachable { .. } => "check the address and whether the server runs; repeat the call",
            Self::Unintelligible { .. } => "check the address and the version of the server",
            Self::CircuitOpen { .. } => "repeat the call later",
            Self::Address(AddressError::NotBuilt { .. }) => {
                "build it with the feature `postgres`, `valkey` or `remote`"
            }
            Self::Address(_) => "write for instance sqlite:onward.db",
            Self::Name(_) => "choose another name",
            Self::Id(_) => "copy the whole id, as in x-0192f0c8-0000-7000-8000-000000000001-17",
            Self::Trace(_) => "pass on the whole `traceparent`, or leave it out",
            Self::Payload(error) => error.hint(),
            Self::ExecutionFailed { .. } => "correct the cause, then replay it or submit it again",
            Self::ExecutionCancelled { .. } => "replay it if it is needed after all",
            Self::ExecutionExpired { .. } => "allow it more time, and replay it or submit it again",
            Self::WaitTimedOut { .. } => "wait longer, or check that a worker serves its lane",
            Self::ResultMismatch { .. } => "ask for the type that the handler returns",
        }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Engine(error) => error.is_temporary(),
            Self::Server(problem) => problem.temporary,
            Self::WaitTimedOut { .. } | Self::Unreachable { .. } | Self::CircuitOpen { .. } => true,
            _ => false,
        }
    }

    /// Whether the rules refuse the call, so that it will be refused again.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        match self {
            Self::Engine(onward_engine::Error::Refused(_)) => true,
            Self::Server(problem) => (400..500).contains(&problem.status) && !problem.temporary,
            Self::Name(_) | Self::Id(_) | Self::Trace(_) | Self::Payload(_) => true,
            _ => false,
        }
    }

    /// Whether something that was passed in is wrong by itself, whatever there is in the store.
    #[must_use]
    pub fn is_argument(&self) -> bool {
        match self {
            Self::Engine(onward_engine::Error::Refused(
                Rejection::InvalidArgument { .. } | Rejection::Payload { .. },
            )) => true,
            Self::Server(problem) => matches!(problem.status, 400 | 413),
            Self::Name(_) | Self::Id(_) | Self::Trace(_) | Self::Payload(_) => true,
            _ => false,
        }
    }

    /// Whether a server takes no request as large as this one was.
    #[cfg(feature = "remote")]
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self, Self::Server(problem) if problem.status == 413)
    }

    /// Whether the call broke something inside, which the next one may find mended.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        match self {
            Self::Engine(onward_engine::Error::Internal(_)) => true,
            Self::Server(problem) => problem.status == 500,
            _ => false,
        }
    }

    /// Whether the client of the call was shut down. A server that is shut down is another matter: the next one answers.
    #[must_use]
    pub fn is_shut_down(&self) -> bool {
        *self == Self::Engine(onward_engine::Error::ShuttingDown)
    }
}

impl From<Rejection> for Error {
    fn from(rejection: Rejection) -> Self {
        Self::Engine(rejection.into())
    }
}

impl From<onward_store::Error> for Error {
    fn from(error: onward_store::Error) -> Self {
        Self::Engine(error.into())
    }
}
