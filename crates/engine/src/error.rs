//! The error type of engine calls, with a stable code, a hint and whether a retry may help.

use onward_core::{Rejection, Span};
use onward_store::ErrorKind;

/// Why a call was refused or could not be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The rules refused the call.
    #[error(transparent)]
    Refused(#[from] Rejection),
    /// The store failed; an unavailable store is retried until the call's deadline first.
    #[error("{message}")]
    Store {
        /// Kind of failure.
        kind: ErrorKind,
        /// Description of the failure.
        message: String,
    },
    /// The queue of the call's partition is full.
    #[error("too many calls are waiting; retry in {retry_after}")]
    Overloaded {
        /// Pause before the next try.
        retry_after: Span,
    },
    /// Other commits kept changing the same records until the call's deadline.
    #[error("other calls kept changing the same records until the deadline")]
    Contended,
    /// The engine is stopping.
    #[error("the engine is shutting down")]
    ShuttingDown,
    /// A defect of the engine; whether the call had an effect is unknown.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// Stable, machine-readable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused(rejection) => rejection.code(),
            Self::Store { kind, .. } => kind.code(),
            Self::Overloaded { .. } => "overloaded",
            Self::Contended => "contended",
            Self::ShuttingDown => "shutting_down",
            Self::Internal(_) => "internal",
        }
    }

    /// What the caller can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Refused(rejection) => rejection.hint(),
            Self::Store { kind, .. } => store_hint(*kind),
            Self::Overloaded { .. } => "slow down, then retry the call",
            Self::Contended => "retry the call with the same ids",
            Self::ShuttingDown => "retry later, or with another process",
            Self::Internal(_) => "report this with the program's log",
        }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Internal(_) => false,
            Self::Store { kind, .. } => matches!(kind, ErrorKind::Unavailable | ErrorKind::Full),
            Self::Overloaded { .. } | Self::Contended | Self::ShuttingDown => true,
        }
    }
}

fn store_hint(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Unavailable => "the store is unreachable or busy; retry the call",
        ErrorKind::Full => "free some space; writes then succeed again",
        ErrorKind::ReadOnly => "make the file and its directory writable",
        ErrorKind::Corrupt => "restore a backup",
        ErrorKind::Newer => "update this program",
        ErrorKind::Older => "start with a new store",
        ErrorKind::Foreign => "use another file, schema or prefix",
        ErrorKind::Unsuitable => "use a file in an existing directory on a local disk",
        ErrorKind::Invalid => "report this with the program's log",
        ErrorKind::Closed => "restart the program",
    }
}

impl From<&onward_store::Error> for Error {
    fn from(error: &onward_store::Error) -> Self {
        Self::Store { kind: error.kind(), message: error.to_string() }
    }
}

impl From<onward_store::Error> for Error {
    fn from(error: onward_store::Error) -> Self {
        Self::from(&error)
    }
}
