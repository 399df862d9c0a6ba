//! Why a server is not started: its settings, its address or its certificate.

use crate::problem::{Exit, Problem};
use crate::settings::{Mistake, SettingSource};
use onward_server::StartError;
use std::net::SocketAddr;

/// Why a server is not started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeProblem {
    #[error(transparent)]
    Setting(Mistake),
    #[error("{place}: {bind} can be reached from elsewhere, so require_keys must be true")]
    Reachable { place: SettingSource, bind: SocketAddr },
    #[error(transparent)]
    Open(StartError),
    #[error(transparent)]
    Address(StartError),
    #[error(transparent)]
    Certificate(StartError),
}

impl ServeProblem {
    /// The stable code.
    pub(crate) fn code(&self) -> &str {
        match self {
            Self::Setting(mistake) => mistake.code(),
            Self::Reachable { .. } | Self::Open(_) => "keys_required",
            Self::Address(_) => "address_unusable",
            Self::Certificate(_) => "certificate_unusable",
        }
    }

    pub(crate) fn hint(&self) -> &str {
        match self {
            Self::Setting(mistake) => mistake.hint(),
            Self::Reachable { .. } | Self::Open(_) => "add --require-keys, and make a key with `onward key create`",
            Self::Address(_) => "choose another address with --bind, or stop what uses this one",
            Self::Certificate(_) => "check that both files are PEM and belong together",
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Address(_) => Exit::Store,
            _ => Exit::Usage,
        }
    }
}

impl From<Mistake> for Problem {
    fn from(mistake: Mistake) -> Self {
        Self::Serve(ServeProblem::Setting(mistake))
    }
}

impl From<StartError> for Problem {
    fn from(error: StartError) -> Self {
        Self::Serve(match error {
            // The same code and hint as for any other command that needs the store.
            StartError::NoEngine => return Self::NeedsStore(error.to_string()),
            StartError::Open(_) => ServeProblem::Open(error),
            StartError::Bind(..) => ServeProblem::Address(error),
            StartError::Tls(_) => ServeProblem::Certificate(error),
        })
    }
}
