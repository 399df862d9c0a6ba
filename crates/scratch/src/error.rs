//! Why a store cannot be made for a run, or cannot be removed after it.

use onward::store::ErrorKind;

/// A store that could not be made or removed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No store can be made at this address, or none that serves the purpose.
    #[error("{0}")]
    Address(String),
    /// The store failed while it was removed.
    #[error(transparent)]
    Store(#[from] onward::store::Error),
    /// The operating system failed.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

impl Error {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Address(_) => "bench_store",
            Self::Store(error) => error.kind().code(),
            Self::System(_) => ErrorKind::Unavailable.code(),
        }
    }

    /// What the caller can do.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Address(_) => "use `sqlite:PATH`, a server, or `memory:` for a scenario that needs one process only",
            Self::Store(_) | Self::System(_) => "check the disk and the directory that the store URL names",
        }
    }
}
