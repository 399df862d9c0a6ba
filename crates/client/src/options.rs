//! What can be chosen when a client is opened.

use onward_core::{Namespace, RootSecret, Span};
use onward_engine::clock::{Chance, Clock, SystemClock};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What can be chosen when a client is opened; the default is right for most programs.
#[derive(Debug, Clone)]
pub struct ClientOptions {
    /// Whose work the client submits and sees.
    pub namespace: Namespace,
    /// How many partitions a new store gets. An existing one keeps what it has and refuses another number.
    pub partitions: Option<u16>,
    /// How long a call is tried before it is given up.
    pub call_timeout: Duration,
    /// The key for a server that requires one.
    pub api_key: Option<ApiKeyText>,
    /// What new token keys are bound to, so that a copy of the store alone cannot sign tokens; the same in every process. Only
    /// for an engine in this process.
    pub token_secret: Option<RootSecret>,
    /// The time; tests inject their own.
    pub clock: Arc<dyn Clock>,
    /// Where ids and jitter come from; tests inject their own.
    pub chance: Arc<Chance>,
}

/// A key as its holder was given it. It is never printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKeyText(String);

impl ApiKeyText {
    /// All of it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ApiKeyText {
    fn from(text: &str) -> Self {
        Self(text.trim().to_owned())
    }
}

impl fmt::Debug for ApiKeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKeyText(..)")
    }
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            namespace: Namespace::default(),
            partitions: None,
            call_timeout: Duration::from_secs(30),
            api_key: None,
            token_secret: None,
            clock: Arc::new(SystemClock),
            chance: Arc::new(Chance::from_os()),
        }
    }
}

impl ClientOptions {
    pub(crate) fn engine(&self) -> onward_engine::Options {
        onward_engine::Options {
            clock: self.clock.clone(),
            chance: self.chance.clone(),
            call_timeout: span(self.call_timeout),
            token_secret: self.token_secret.clone(),
            ..onward_engine::Options::default()
        }
    }

    /// The clock of a store that has none of its own: the time of day at each commit, so that a machine that slept or
    /// whose time was set is right again, and agrees with other processes on the same file.
    pub(crate) fn store_clock(&self) -> onward_store::Clock {
        let clock = self.clock.clone();
        Arc::new(move || clock.time_of_day().0)
    }
}

/// A duration in whole milliseconds, rounded up so that nothing short becomes nothing.
pub(crate) fn span(duration: Duration) -> Span {
    Span(u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX))
}
