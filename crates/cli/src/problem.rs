//! What a command can end with instead of its answer: a code, a sentence, a hint, and the exit code.

use crate::output;
use onward::Rejection;
use onward::engine::Error as EngineError;
use std::process::ExitCode;

/// How a command ends, for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Success = 0,
    Refused = 1,
    Usage = 2,
    #[cfg(feature = "bench")]
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
    Scratch(#[from] onward_scratch::Error),
    #[cfg(feature = "bench")]
    #[error(transparent)]
    Bench(#[from] onward_bench::Error),
    #[cfg(feature = "server")]
    #[error(transparent)]
    Serve(#[from] crate::serve::ServeProblem),
    #[error("{0}")]
    Usage(String),
    #[error("{option}: {why}")]
    Duration { option: &'static str, why: String },
    #[error("{option}: {why}")]
    Time { option: &'static str, why: String },
    #[error("--tag: {0:?} has no '=' between key and value")]
    Tag(String),
    #[error("--state: {0:?} is not a state")]
    State(String),
    #[error("--what: {0:?} is not the name of an event")]
    Event(String),
    #[error("--input: {place} cannot be read: {why}")]
    InputUnreadable { place: String, why: String },
    #[error("{place} cannot be used: {why}")]
    Secret { place: String, why: String },
    #[error("there is no store at {0}")]
    StoreMissing(String),
    #[error("{0}")]
    NeedsStore(String),
    #[error("{0}")]
    DemoBroken(String),
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
            Self::Scratch(error) => error.code(),
            #[cfg(feature = "bench")]
            Self::Bench(error) => error.code(),
            #[cfg(feature = "server")]
            Self::Serve(problem) => problem.code(),
            Self::Usage(_) => "usage",
            Self::Duration { .. } => "invalid_duration",
            Self::Time { .. } => "invalid_time",
            Self::Tag(_) => "invalid_tag",
            Self::State(_) => "invalid_state",
            Self::Event(_) => "invalid_event",
            Self::InputUnreadable { .. } => "input_unreadable",
            Self::Secret { .. } => "token_secret_unusable",
            Self::StoreMissing(_) => "store_missing",
            Self::NeedsStore(_) => "needs_store",
            Self::DemoBroken(_) => "demo_broken",
            Self::System { .. } => "system",
        }
    }

    fn hint(&self) -> &str {
        match self {
            Self::Client(error) => error.hint(),
            Self::Scratch(error) => error.hint(),
            #[cfg(feature = "bench")]
            Self::Bench(error) => error.hint(),
            #[cfg(feature = "server")]
            Self::Serve(problem) => problem.hint(),
            Self::Usage(_) => "run the command with --help to see what it takes",
            Self::Duration { .. } => "write for instance 10s, 5m, 1h30m or 2d",
            Self::Time { .. } => "write for instance 2030-01-01T09:00:00Z or 2030-01-01T09:00:00+01:00",
            Self::Tag(_) => "write for instance customer=42",
            Self::State(_) => "choose waiting, delayed, active, suspended, completed, failed, cancelled or expired",
            Self::Event(_) => "choose for instance submitted, claimed, completed, cancelled or lease_expired",
            Self::InputUnreadable { .. } => {
                "check the path; text that starts with @ needs quotes inside, as in '\"@x\"'"
            }
            Self::Secret { .. } => "make one with `openssl rand -hex 32 > token-secret`, readable by the server alone",
            Self::StoreMissing(_) => "name another one with --store, or make it with `onward submit`",
            Self::NeedsStore(_) => "run it where the store is, with --store instead of --server",
            Self::DemoBroken(_) => "report this with the output",
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
            Self::Scratch(error) => of_scratch(error),
            #[cfg(feature = "bench")]
            Self::Bench(error) => crate::bench::exit(error),
            #[cfg(feature = "server")]
            Self::Serve(problem) => problem.exit(),
            Self::StoreMissing(_) | Self::System { .. } => Exit::Store,
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

pub(crate) fn of_engine(error: &EngineError) -> Exit {
    match error {
        EngineError::Refused(Rejection::ExecutionNotFound(_)) => Exit::NotFound,
        EngineError::Refused(_) => Exit::Refused,
        _ => Exit::Store,
    }
}

pub(crate) fn of_scratch(error: &onward_scratch::Error) -> Exit {
    match error {
        onward_scratch::Error::Address(_) => Exit::Usage,
        onward_scratch::Error::Store(_) | onward_scratch::Error::System(_) => Exit::Store,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
