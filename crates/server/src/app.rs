//! What all calls share: the engine, the keys, the room for bodies, and whether the server drains.

use crate::access::AccessTable;
use crate::keyring::Keyring;
use crate::metrics::Metrics;
use crate::options::Options;
use crate::routes;
use onward::Client;
use onward_core::{Millis, Namespace, Span};
use onward_engine::Engine;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Bodies are counted in pieces of this many bytes, since a semaphore counts no further than 2^29 on small machines.
pub(crate) const PIECE: usize = 1024;

#[derive(Debug)]
pub(crate) struct App {
    client: Client,
    engine: Engine,
    pub(crate) options: Options,
    pub(crate) keyring: Keyring,
    pub(crate) access: AccessTable,
    /// One for each piece of a body that may be in memory.
    pub(crate) room: Arc<Semaphore>,
    pub(crate) metrics: Metrics,
    draining: CancellationToken,
}

impl App {
    pub(crate) fn new(client: Client, engine: Engine, options: Options) -> Self {
        let room = Arc::new(Semaphore::new(options.limits.inflight_bytes / PIECE));
        let metrics = Metrics::new(engine.clone());
        Self {
            client: client.without_layers().without_read_retries(),
            engine,
            options,
            keyring: Keyring::default(),
            access: AccessTable::of(&routes::raw()),
            room,
            metrics,
            draining: CancellationToken::new(),
        }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The client of a namespace.
    pub(crate) fn client(&self, namespace: &Namespace) -> Client {
        self.client.of(namespace.clone())
    }

    /// How long a call may wait that asks for so long.
    pub(crate) fn wait(&self, asked: Span) -> Span {
        asked.min(self.options.limits.wait)
    }

    pub(crate) fn sleep(&self, span: Span) -> impl Future<Output = ()> + Send + use<> {
        self.client.sleep(span)
    }

    pub(crate) fn now(&self) -> Millis {
        self.client.now()
    }

    pub(crate) fn drain(&self) {
        self.draining.cancel();
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Waits until the server drains.
    pub(crate) async fn drained(&self) {
        self.draining.cancelled().await;
    }
}
