//! Why a store could not do what it was asked: a kind to match, whether it may pass, and a sentence with a hint.

use std::error::Error as StdError;

/// The result of a store call.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure of the store, as opposed to an answer such as a conflict.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    unwritten: bool,
    #[source]
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What went wrong, as far as a caller can act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The store cannot be reached or is busy; it may come back by itself.
    Unavailable,
    /// No room is left; writes are refused until there is some.
    Full,
    /// The store may only be read.
    ReadOnly,
    /// What is stored cannot be what was written.
    Corrupt,
    /// A newer version of the program wrote this store.
    Newer,
    /// An earlier version of the program wrote this store, which this one does not read.
    Older,
    /// The place belongs to another program.
    Foreign,
    /// The place cannot give the promised durability or locking.
    Unsuitable,
    /// The call itself breaks the contract: a bug of the caller.
    Invalid,
    /// The store was closed, by request or because a sync failed.
    Closed,
}

impl ErrorKind {
    /// The stable code that callers see.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Unavailable => "store_unavailable",
            Self::Full => "store_full",
            Self::ReadOnly => "store_read_only",
            Self::Corrupt => "store_corrupt",
            Self::Newer => "store_newer",
            Self::Older => "store_older",
            Self::Foreign => "store_foreign",
            Self::Unsuitable => "store_unsuitable",
            Self::Invalid => "store_misused",
            Self::Closed => "store_closed",
        }
    }

    /// Every kind, for documentation and tests.
    pub const ALL: [Self; 10] = [
        Self::Unavailable,
        Self::Full,
        Self::ReadOnly,
        Self::Corrupt,
        Self::Newer,
        Self::Older,
        Self::Foreign,
        Self::Unsuitable,
        Self::Invalid,
        Self::Closed,
    ];
}

impl Error {
    /// An error after which it is unknown whether a commit was written.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), unwritten: false, source: None }
    }

    /// Says that nothing of the call was written and nothing of it will be.
    #[must_use]
    pub fn unwritten(mut self) -> Self {
        self.unwritten = true;
        self
    }

    /// The same failure for another caller whose batches went out in the same call.
    #[cfg(any(feature = "postgres", feature = "valkey"))]
    pub(crate) fn again(&self) -> Self {
        let same = Self::new(self.kind, self.to_string());
        if self.is_unwritten() { same.unwritten() } else { same }
    }

    /// Takes back that nothing was written: an earlier part of the call was.
    #[must_use]
    pub(crate) fn written(mut self) -> Self {
        self.unwritten = false;
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// What went wrong.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the same call may succeed later without anybody's doing.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self.kind, ErrorKind::Unavailable | ErrorKind::Full)
    }

    /// Whether nothing of a failed commit was written and nothing of it will be.
    #[must_use]
    pub fn is_unwritten(&self) -> bool {
        self.unwritten
    }
}
