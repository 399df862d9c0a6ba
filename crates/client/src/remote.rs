//! Calls to a server over HTTP.

mod claims;
mod decode;
mod encode;
mod exchange;
mod gather;
mod minimum_wait;
mod reports;
mod room;
mod service;
mod submits;
mod time;
mod undelivered;

use crate::calls::Calls;
use crate::{ClientOptions, Result, ServerUrl};
use exchange::Exchange;
use onward_core::Millis;
use service::Remote;
use std::sync::Arc;

/// What a client keeps of its server.
#[derive(Debug)]
pub(crate) struct Connection(Arc<Exchange>);

impl Connection {
    /// The server's time, as far as it is known.
    pub(crate) fn now(&self) -> Millis {
        self.0.now()
    }

    /// Turns new calls away.
    pub(crate) fn close(&self) {
        self.0.close();
    }

    /// Turns new calls away and waits for those that are under way.
    pub(crate) async fn shutdown(&self) {
        self.0.shutdown().await;
    }
}

/// Prepares calls to a server; it is first asked by the first of them.
pub(crate) fn connect(url: &ServerUrl, options: &ClientOptions) -> Result<(Connection, Calls)> {
    let exchange = Arc::new(Exchange::new(url, options)?);
    let calls = Remote::new(exchange.clone()).into_calls();
    Ok((Connection(exchange), calls))
}
