//! The error type of store calls: its kind, a message, and whether anything was written.

use std::error::Error as StdError;

/// The result of a store call.
pub type Result<T> = std::result::Result<T, Error>;

/// A failure of the store. A conflict is not an error but a result of the call.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    unwritten: bool,
    #[source]
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// Kind of failure, as far as a caller can act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ErrorKind {
    /// The store is unreachable or busy; it may recover by itself.
    Unavailable,
    /// The store has no free space; writes fail until there is some.
    Full,
    /// The store is read-only.
    ReadOnly,
    /// The stored data is damaged.
    Corrupt,
    /// A newer version of the program wrote this store.
    Newer,
    /// An earlier version of the program wrote this store, in a layout that this version does not read.
    Older,
    /// The file, schema or prefix belongs to another program.
    Foreign,
    /// The location cannot provide the required durability or locking.
    Unsuitable,
    /// The call violates the store's contract: a bug in the caller.
    Invalid,
    /// The store was closed: by request, or because a sync to disk failed.
    Closed,
}

impl ErrorKind {
    /// Stable, machine-readable code.
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
    /// Creates an error after which it is unknown whether a commit was written.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), unwritten: false, source: None }
    }

    /// Marks that nothing of the call was or will be written.
    #[must_use]
    pub fn unwritten(mut self) -> Self {
        self.unwritten = true;
        self
    }

    /// The same error for another caller whose batches were sent in the same call.
    #[cfg(any(feature = "postgres", feature = "valkey"))]
    pub(crate) fn again(&self) -> Self {
        let same = Self::new(self.kind, self.to_string());
        if self.is_unwritten() { same.unwritten() } else { same }
    }

    /// Clears the mark of [`Self::unwritten`]: an earlier part of the call was written.
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

    /// Kind of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether the same call may succeed later, unchanged.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self.kind, ErrorKind::Unavailable | ErrorKind::Full)
    }

    /// Whether nothing of a failed commit was or will be written.
    #[must_use]
    pub fn is_unwritten(&self) -> bool {
        self.unwritten
    }
}
