//! What keeps a benchmark from giving a figure.

use onward_core::{Rejection, Stop};
use onward_store::ErrorKind;

/// A benchmark that could not be run, or whose figures mean nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The stores to measure cannot be made at this address, or cannot be removed.
    #[error(transparent)]
    Scratch(#[from] onward_scratch::Error),
    /// An option has no meaning for the scenario.
    #[error("{0}")]
    Option(String),
    /// Too much of the work failed for the figures to mean anything.
    #[error("the run is void: in one round {side} did only {:.1} % of its work; first failure: {first}", .ratio * 100.0)]
    Void {
        /// Whose work it was.
        side: String,
        /// The part that succeeded.
        ratio: f64,
        /// Why the first failure happened.
        first: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] onward_store::Error),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] onward_engine::Error),
    /// A call to a server, or to an engine as a client makes it, failed.
    #[error(transparent)]
    Client(#[from] onward::Error),
    /// The rules refused what the benchmark prepared.
    #[error("the rules refused prepared work: {0}")]
    Refused(#[from] Rejection),
    /// The operating system failed.
    #[error("{0}")]
    System(#[from] std::io::Error),
    /// Another process of the benchmark did not do its part.
    #[error("a child process {0}")]
    Child(String),
    /// A promise of the engine was broken while it was measured.
    #[error("{0}")]
    Broken(String),
}

impl Error {
    /// The stable code.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Scratch(error) => error.code(),
            Self::Option(_) => "bench_option",
            Self::Void { .. } => "bench_void",
            Self::Store(error) => error.kind().code(),
            Self::Engine(error) => error.code(),
            Self::Client(error) => error.code(),
            Self::Refused(rejection) => rejection.code(),
            Self::System(_) => ErrorKind::Unavailable.code(),
            Self::Child(_) => "bench_child",
            Self::Broken(_) => "bench_broken",
        }
    }

    /// What the caller can do.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            Self::Scratch(error) => error.hint(),
            Self::Option(_) => "leave the option out, or choose another scenario",
            Self::Void { .. } => "look at the first failure; a full disk or a stopped machine are the usual reasons",
            Self::Engine(error) => error.hint(),
            Self::Client(error) => error.hint(),
            Self::Store(_) | Self::System(_) => "check the disk and the directory that the store URL names",
            Self::Refused(_) | Self::Child(_) | Self::Broken(_) => "report this with the program's log",
        }
    }
}

impl From<Stop> for Error {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Refuse(rejection) => Self::Refused(rejection),
            Stop::Need(wanted) => Self::Broken(format!("a rule kept asking for records, first {:?}", wanted.first())),
        }
    }
}
