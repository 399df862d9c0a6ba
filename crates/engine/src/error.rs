//! What a call to the engine can end with instead of its answer.

use onward_core::{Rejection, Span};
use onward_store::ErrorKind;

/// A call that was refused or could not be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The rules refuse it.
    #[error(transparent)]
    Refused(#[from] Rejection),
    /// The store could not do it until the call's deadline.
    #[error("{message}")]
    Store {
        /// What went wrong.
        kind: ErrorKind,
        /// In words.
        message: String,
    },
    /// Too many calls wait for the same partition.
    #[error("too much work is waiting; try again in {retry_after}")]
    Overloaded {
        /// When to try again.
        retry_after: Span,
    },
    /// Others changed the same records until the call's deadline.
    #[error("others kept changing the same records until the deadline")]
    Contended,
    /// The engine is stopping.
    #[error("the engine is shutting down")]
    ShuttingDown,
    /// A defect of the engine; the call had no effect.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Error {
    /// The stable code.
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

    /// What the caller can do.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Refused(rejection) => rejection.hint(),
            Self::Store { kind, .. } => store_hint(*kind),
            Self::Overloaded { .. } => "slow down and repeat the call",
            Self::Contended => "repeat the call with the same ids",
            Self::ShuttingDown => "connect to another process",
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
        ErrorKind::Unavailable => "the store is away or busy; repeat the call",
        ErrorKind::Full => "make room; writing goes on by itself",
        ErrorKind::ReadOnly => "make the file and its directory writable",
        ErrorKind::Corrupt => "restore a backup",
        ErrorKind::Newer => "update this program",
        ErrorKind::Foreign => "choose another file",
        ErrorKind::Unsuitable => "choose a file in an existing directory on a local disk",
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
