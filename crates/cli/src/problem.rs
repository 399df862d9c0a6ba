//! What a command can end with instead of its answer: a code, a sentence, a hint, and the exit code.

use crate::settings::{Mistake, Place};
use crate::{bench, output};
use onward::Rejection;
use onward::engine::Error as EngineError;
use onward_server::StartError;
use std::net::SocketAddr;
use std::process::ExitCode;

/// How a command ends, for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Success = 0,
    Refused = 1,
    Usage = 2,
    BarMissed = 3,
    NotFound = 4,
    Store = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error(transparent)]
    Client(#[from] onward::Error),
    #[error(transparent)]
    Bench(#[from] bench::Error),
    #[error("{0}")]
    Usage(String),
    #[error("{option}: {text:?} is not a length of time: {why}")]
    Duration { option: &'static str, text: String, why: String },
    #[error("{option}: {text:?} is not a time: {why}")]
    Time { option: &'static str, text: String, why: String },
    #[error("--tag: {0:?} has no '=' between key and value")]
    Tag(String),
    #[error("--state: {0:?} is not a state")]
    State(String),
    #[error("--what: {0:?} is not the name of an event")]
    Event(String),
    #[error("--input: {place} cannot be read: {why}")]
    InputUnreadable { place: String, why: String },
    #[error("there is no store at {0}")]
    StoreMissing(String),
    #[error("this command needs the store itself; a server does not hand it out")]
    NeedsStore,
    #[error("{0}")]
    DemoBroken(String),
    #[error(transparent)]
    Setting(#[from] Mistake),
    #[error("{place}: {bind} can be reached from elsewhere, so require_keys must be true")]
    Reachable { place: Place, bind: SocketAddr },
    #[error(transparent)]
    Start(StartError),
    #[error("{what}: {why}")]
    System { what: &'static str, why: String },
}

impl Problem {
    /// What clap found wrong, in one line.
    pub(crate) fn usage(error: &clap::Error) -> Self {
        if error.kind() == clap::error::ErrorKind::MissingSubcommand {
            return Self::Usage("a command is missing".to_owned());
        }
        let text = error.render().to_string();
        let lines = text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:"));
        let joined = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        Self::Usage(joined.trim_start_matches("error: ").to_owned())
    }

    pub(crate) fn system(what: &'static str, error: &std::io::Error) -> Self {
        Self::System { what, why: error.to_string() }
    }

    /// The stable code.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Client(error) => error.code(),
            Self::Bench(error) => error.code(),
            Self::Usage(_) => "usage",
            Self::Duration { .. } => "invalid_duration",
            Self::Time { .. } => "invalid_time",
            Self::Tag(_) => "invalid_tag",
            Self::State(_) => "invalid_state",
            Self::Event(_) => "invalid_event",
            Self::InputUnreadable { .. } => "input_unreadable",
            Self::StoreMissing(_) => "store_missing",
            Self::NeedsStore | Self::Start(StartError::NoEngine) => "needs_store",
            Self::DemoBroken(_) => "demo_broken",
            Self::Setting(mistake) => mistake.code(),
            Self::Reachable { .. } | Self::Start(StartError::Open(_)) => "keys_required",
            Self::Start(StartError::Bind(..)) => "address_unusable",
            Self::Start(StartError::Tls(_)) => "certificate_unusable",
            Self::System { .. } => "system",
        }
    }

    fn hint(&self) -> &str {
        match self {
            Self::Client(error) => error.hint(),
            Self::Bench(error) => error.hint(),
            Self::Usage(_) => "run the command with --help to see what it takes",
            Self::Duration { .. } => "write for instance 10s, 5m, 1h30m or 2d",
            Self::Time { .. } => "write for instance 2030-01-01T09:00:00Z or 2030-01-01T09:00:00+01:00",
            Self::Tag(_) => "write for instance customer=42",
            Self::State(_) => "choose waiting, delayed, active, completed, failed, cancelled or expired",
            Self::Event(_) => "choose for instance submitted, claimed, completed, cancelled or lease_expired",
            Self::InputUnreadable { .. } => {
                "check the path; text that starts with @ needs quotes inside, as in '\"@x\"'"
            }
            Self::StoreMissing(_) => "name another one with --store, or make it with `onward submit`",
            Self::NeedsStore | Self::Start(StartError::NoEngine) => {
                "run it where the store is, with --store instead of --server"
            }
            Self::DemoBroken(_) => "report this with the output",
            Self::Setting(mistake) => mistake.hint(),
            Self::Reachable { .. } | Self::Start(StartError::Open(_)) => {
                "add --require-keys, and make a key with `onward key create`"
            }
            Self::Start(StartError::Bind(..)) => "choose another address with --bind, or stop what uses this one",
            Self::Start(StartError::Tls(_)) => "check that both files are PEM and belong together",
            Self::System { .. } => "check the limits of this user and the disk",
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        use onward::Error;
        match self {
            Self::Client(Error::Engine(error)) => of_engine(error),
            Self::Client(Error::Server(problem)) if problem.code == "execution_not_found" => Exit::NotFound,
            Self::Client(Error::Server(problem)) if problem.status >= 500 => Exit::Store,
            Self::Client(Error::Unreachable { .. } | Error::Unintelligible { .. }) => Exit::Store,
            Self::Client(Error::Address(_) | Error::Name(_) | Error::Id(_) | Error::Trace(_) | Error::Payload(_)) => {
                Exit::Usage
            }
            Self::Client(_) | Self::DemoBroken(_) => Exit::Refused,
            Self::Bench(error) => of_bench(error),
            Self::StoreMissing(_) | Self::System { .. } | Self::Start(StartError::Bind(..)) => Exit::Store,
            _ => Exit::Usage,
        }
    }

    /// Prints itself and answers the exit code.
    pub(crate) fn report(&self, json: bool) -> ExitCode {
        let (code, message, hint) = (self.code(), one_line(&self.to_string()), self.hint());
        if json {
            let error = serde_json::json!({ "error": { "code": code, "message": message, "hint": hint } });
            output::print_error(&error.to_string());
        } else {
            output::print_error(&format!("error[{code}]: {message}\nhint: {hint}"));
        }
        self.exit().into()
    }
}

fn of_engine(error: &EngineError) -> Exit {
    match error {
        EngineError::Refused(Rejection::ExecutionNotFound(_)) => Exit::NotFound,
        EngineError::Refused(_) => Exit::Refused,
        _ => Exit::Store,
    }
}

fn of_bench(error: &bench::Error) -> Exit {
    match error {
        bench::Error::Url(_) | bench::Error::Option(_) => Exit::Usage,
        bench::Error::Engine(error) => of_engine(error),
        bench::Error::Store(_) | bench::Error::System(_) => Exit::Store,
        _ => Exit::Refused,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
