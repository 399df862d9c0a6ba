//! What can be chosen when a server is started.

use crate::StartError;
use crate::tls::Certificates;
use onward_core::Span;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// What can be chosen when a server is started; the default serves this machine alone.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to listen.
    pub bind: SocketAddr,
    /// Whether callers must have keys. Without, everybody who reaches the server may do everything.
    pub require_keys: bool,
    /// The certificate of an encrypted server.
    pub tls: Option<Tls>,
    /// Web pages of these origins may call; none unless chosen.
    pub cors: Vec<String>,
    /// How long a draining server waits for what runs.
    pub grace: Span,
    /// What a caller may use up.
    pub limits: Limits,
}

/// Where the certificate of an encrypted server is. Both files are looked at now and then and read again when they change.
#[derive(Debug, Clone)]
pub struct Tls {
    /// The certificate and those that vouch for it, in PEM.
    pub certificate: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

impl Tls {
    /// Whether a server could use both files as they are now.
    ///
    /// # Errors
    /// When one cannot be read, or they do not belong together.
    pub fn check(&self) -> Result<(), StartError> {
        Certificates::load(self).map(drop).map_err(StartError::Tls)
    }
}

/// What callers may use up.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The largest body of a call about one execution: a payload in base64, and the rest.
    pub body_bytes: usize,
    /// The largest body of a call about many.
    pub batch_bytes: usize,
    /// The most bytes of bodies in memory at once.
    pub inflight_bytes: usize,
    /// How long a body may take to arrive.
    pub body_time: Span,
    /// How long the headers of a call may take to arrive, and how long a connection may be idle.
    pub header_time: Span,
    /// The largest headers.
    pub header_bytes: usize,
    /// The most connections.
    pub connections: usize,
    /// The longest that a call waits for work, results or events.
    pub wait: Span,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1024 * 1024,
            batch_bytes: 8 * 1024 * 1024,
            inflight_bytes: 64 * 1024 * 1024,
            body_time: Span::seconds(30),
            header_time: Span::seconds(60),
            header_bytes: 32 * 1024,
            connections: 10_000,
            wait: Span::minutes(1),
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 8700)),
            require_keys: false,
            tls: None,
            cors: Vec::new(),
            grace: Span::seconds(30),
            limits: Limits::default(),
        }
    }
}
