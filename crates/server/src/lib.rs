//! Onward over HTTP: everything the engine does, for programs in any language.
//!
//! [`Server::bind`] opens the door, [`Server::run`] serves until it is told to drain. The rules, the limits and the answers
//! are those of the engine; this crate reads requests, checks who may ask, and writes answers.

mod access;
mod answer;
mod app;
mod approve;
mod body;
mod docs;
#[cfg(test)]
mod fuzz;
mod keyring;
mod lane_metrics;
mod listener;
mod metrics;
mod options;
mod problem;
mod repeat;
mod routes;
#[cfg(feature = "otel")]
mod spans;
mod strict;
mod tls;
mod traces;
mod write_timeout;

pub use options::{Limits, Options, Tls};

use app::App;
use listener::Listener;
use onward::Client;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

/// A server that has opened its door.
pub struct Server {
    app: Arc<App>,
    listener: Listener,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.listener.address()).finish_non_exhaustive()
    }
}

/// Why a server could not be started.
#[derive(Debug)]
pub enum StartError {
    /// Anybody in the network could call it.
    Open(SocketAddr),
    /// The client speaks to a server itself.
    NoEngine,
    /// The address cannot be used.
    Bind(SocketAddr, io::Error),
    /// The certificate or its key cannot be used.
    Tls(String),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Open(address) => write!(f, "{address} can be reached from elsewhere, so callers must have keys"),
            Self::NoEngine => f.write_str("a server needs an engine of its own; give it a store"),
            Self::Bind(address, error) => write!(f, "{address} cannot be used: {error}"),
            Self::Tls(why) => write!(f, "the certificate cannot be used: {why}"),
        }
    }
}

impl std::error::Error for StartError {}

impl Server {
    /// Opens the door of a server on a client with an engine inside.
    ///
    /// # Errors
    /// When the address can be reached from elsewhere and callers need no keys, or when it or the certificate cannot be used.
    pub async fn bind(client: Client, options: Options) -> Result<Self, StartError> {
        let Some(engine) = client.engine().cloned() else { return Err(StartError::NoEngine) };
        if !options.bind.ip().is_loopback() && !options.require_keys {
            return Err(StartError::Open(options.bind));
        }
        let tls = match &options.tls {
            Some(files) => Some(tls::Certificates::load(files).map_err(StartError::Tls)?),
            None => None,
        };
        let listener =
            Listener::bind(options.bind, tls).await.map_err(|error| StartError::Bind(options.bind, error))?;
        Ok(Self { app: Arc::new(App::new(client, engine, options)), listener })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// Serves until the signal, then drains: takes no more calls, ends long polls and streams, and finishes what runs. The
    /// client is left as it is; whoever made it shuts it down.
    pub async fn run(self, signal: impl Future<Output = ()>) {
        let router = routes::router(&self.app);
        self.listener.run(&self.app, router, signal).await;
    }
}

/// The description of the API, as it is served.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    routes::describe()
}
