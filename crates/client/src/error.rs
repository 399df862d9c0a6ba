//! The error type of client calls, with a stable code, a message and a hint.

use crate::AddressError;
use crate::wire::Problem;
use onward_core::record::{ExpiredBy, PublicState};
use onward_core::{ExecutionId, Failure, IdError, NameError, PayloadError, Reason, Rejection, Span, TraceError};

/// The result of a client call.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a call was refused or failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An error of the engine or the store.
    #[error(transparent)]
    Engine(#[from] onward_engine::Error),
    /// The text is not the address of a store.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A name is too long or contains a character that is not allowed.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The text is not an id.
    #[error(transparent)]
    Id(#[from] IdError),
    /// The text is not a trace context.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The value is not a valid payload.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The server returned an error.
    #[error("{}", .0.detail)]
    Server(Box<Problem>),
    /// The server is unreachable, or the connection failed; the call may have taken effect.
    #[error("the server did not respond: {why}")]
    Unreachable {
        /// Description of the failure.
        why: String,
    },
    /// The response is not one of an Onward server.
    #[error("the response is not one of an Onward server: {why}")]
    Unintelligible {
        /// Description of the response.
        why: String,
    },
    /// The circuit breaker is open.
    #[error("the circuit breaker is open because too many calls failed; retry in {retry_after}")]
    CircuitOpen {
        /// Pause before the next try.
        retry_after: Span,
    },
    /// The execution has no result because it failed.
    #[error("execution {id} failed ({category}): {message}", category = failure.category.as_str(), message = failure.message)]
    ExecutionFailed {
        /// The execution.
        id: ExecutionId,
        /// Reason of the failure.
        failure: Box<Failure>,
    },
    /// The execution has no result because it was cancelled.
    #[error("execution {id} was cancelled: {reason}")]
    ExecutionCancelled {
        /// The execution.
        id: ExecutionId,
        /// Reason of the cancellation.
        reason: Reason,
    },
    /// The execution has no result because it expired.
    #[error("execution {id} expired: {message}", message = failure.message)]
    ExecutionExpired {
        /// The execution.
        id: ExecutionId,
        /// Why.
        failure: Box<Failure>,
        /// Which time was over: that of its last attempt, or its deadline.
        expired_by: Option<ExpiredBy>,
    },
    /// The execution did not end before the wait timed out.
    #[error("execution {id} is still {state} after {waited}", state = state.as_str())]
    WaitTimedOut {
        /// The execution.
        id: ExecutionId,
        /// Its state when the wait timed out.
        state: PublicState,
        /// Duration of the wait.
        waited: Span,
    },
    /// The result cannot be decoded as the requested type.
    #[error("the result of execution {id} cannot be decoded as the requested type: {why}")]
    ResultMismatch {
        /// The execution.
        id: ExecutionId,
        /// Error of the decoder.
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
            Self::Unreachable { .. } => "check the address and that the server runs, then retry the call",
            Self::Unintelligible { .. } => "check the address and the server's version",
            Self::CircuitOpen { .. } => "retry the call later",
            Self::Address(AddressError::NotBuilt { .. }) => {
                "build the program with the feature `postgres`, `valkey` or `remote`"
            }
            Self::Address(_) => "use, for example, sqlite:onward.db",
            Self::Name(_) => "use another name",
            Self::Id(_) => "copy the whole id, such as x-0192f0c8-0000-7000-8000-000000000001-17",
            Self::Trace(_) => "pass the `traceparent` on unchanged, or leave it out",
            Self::Payload(error) => error.hint(),
            Self::ExecutionFailed { .. } => "fix the cause, then replay it or submit it again",
            Self::ExecutionCancelled { .. } => "replay it if it is still needed",
            Self::ExecutionExpired { .. } => "allow more time, then replay it or submit it again",
            Self::WaitTimedOut { .. } => "wait longer, or check that a worker serves its lane",
            Self::ResultMismatch { .. } => "request the type that the handler returns",
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

    /// Whether the call was refused, so that a retry is refused too.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        match self {
            Self::Engine(onward_engine::Error::Refused(_)) => true,
            Self::Server(problem) => (400..500).contains(&problem.status) && !problem.temporary,
            Self::Name(_) | Self::Id(_) | Self::Trace(_) | Self::Payload(_) => true,
            _ => false,
        }
    }

    /// Whether an argument is invalid, independent of what is stored.
    #[must_use]
    pub fn is_argument(&self) -> bool {
        match self {
            Self::Engine(onward_engine::Error::Refused(
                Rejection::InvalidArgument { .. } | Rejection::Payload { .. } | Rejection::TwoKeys,
            )) => true,
            Self::Server(problem) => matches!(problem.status, 400 | 413),
            Self::Name(_) | Self::Id(_) | Self::Trace(_) | Self::Payload(_) => true,
            _ => false,
        }
    }

    /// Whether the request was too large for the server.
    #[cfg(feature = "remote")]
    pub(crate) fn is_too_large(&self) -> bool {
        matches!(self, Self::Server(problem) if problem.status == 413)
    }

    /// Whether the engine failed on a bug; a later call may succeed.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        match self {
            Self::Engine(onward_engine::Error::Internal(_)) => true,
            Self::Server(problem) => problem.status == 500,
            _ => false,
        }
    }

    /// Whether the client itself was shut down. This excludes a server that is shutting down: another one may respond.
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
