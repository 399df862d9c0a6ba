//! The world of one scenario: a store, a client of it here or over HTTP, and a clock that is either real or held still.

use onward::engine::clock::{Chance, Clock, SystemClock};
use onward::layers::Meter;
use onward::store::{Store, memory::Memory, postgres, valkey};
use onward::testing::TestClock;
use onward::{Client, ClientOptions, Description, ExecutionId, Millis, PublicState, Span, limits};
use onward_server::{Options, Server};
use onward_servers::shared;
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;

/// Long enough that only a test that hangs notices.
const HANG: Duration = Duration::from_secs(120);
/// The test moves its clock much faster than a server answers, so calls must not be given up by that clock.
const NEVER: Duration = Duration::from_secs(100_000 * 24 * 3_600);
/// A store on a server is quicker with few partitions, and no scenario needs many.
const PARTITIONS: u16 = 8;

/// For `Client::wait`: ends a test that would hang.
pub(crate) const PATIENCE: Duration = HANG;

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) clock: TestClock,
    /// What was called through the client.
    pub(crate) meter: Meter,
    address: String,
    server: Option<AbortHandle>,
    _place: Box<dyn Any>,
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(server) = &self.server {
            server.abort();
        }
    }
}

/// Where the store is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Memory,
    Sqlite,
    Postgres,
    Valkey,
}

/// How the client gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// With an engine in this process.
    Embedded,
    /// Through a server.
    Http,
}

impl World {
    /// A world in which time passes.
    pub(crate) async fn new(kind: Kind, way: Way) -> Self {
        Self::with(kind, way, None).await
    }

    /// A world whose time moves only with `advance`.
    pub(crate) async fn held(kind: Kind, way: Way) -> Self {
        Self::with(kind, way, Some(TestClock::at(Millis(1_800_000_000_000)))).await
    }

    async fn with(kind: Kind, way: Way, held: Option<TestClock>) -> Self {
        let clock: Arc<dyn Clock> = match &held {
            Some(clock) => Arc::new(clock.clone()),
            None => Arc::new(SystemClock),
        };
        let chance = Arc::new(if held.is_some() { Chance::seeded(7) } else { Chance::from_os() });
        let call_timeout = if held.is_some() { NEVER } else { ClientOptions::default().call_timeout };
        let options = ClientOptions { clock, chance, call_timeout, ..ClientOptions::default() };
        let (store, address, place) = open(kind, held.as_ref(), &options).await;
        let inside = Client::on_store(store, options.clone()).await.unwrap();
        let (client, server) = match way {
            Way::Embedded => (inside, None),
            Way::Http => {
                let bind = "127.0.0.1:0".parse().unwrap();
                let server = Server::bind(inside, Options { bind, ..Options::default() }).await.unwrap();
                let url = format!("http://{}", server.address());
                let running = tokio::spawn(server.run(std::future::pending()));
                (Client::open_with(&url, options).await.unwrap(), Some(running.abort_handle()))
            }
        };
        let (meter, clock) = (Meter::new(), held.unwrap_or_else(|| TestClock::at(Millis(0))));
        Self { client: client.layer(meter.clone()), clock, meter, address, server, _place: place }
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn advance(&self, span: Span) {
        self.clock.advance(span);
    }

    pub(crate) async fn get(&self, id: ExecutionId) -> Description {
        self.client.get(id).await.unwrap().expect("the execution exists")
    }

    /// Looks again and again, without letting held time pass, until a description fits.
    pub(crate) async fn until(&self, id: ExecutionId, fits: impl Fn(&Description) -> bool) -> Description {
        within(async {
            loop {
                let found = self.get(id).await;
                if fits(&found) {
                    return found;
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }

    pub(crate) async fn until_state(&self, id: ExecutionId, state: PublicState) -> Description {
        self.until(id, |found| found.state == state).await
    }

    /// How many calls of a name were answered well.
    pub(crate) fn answered(&self, call: &str) -> u64 {
        let rows = self.meter.read();
        rows.iter().filter(|row| row.call == call && row.code == "ok").map(|row| row.calls).sum()
    }

    /// Waits until so many calls of a name were answered, be it to a worker.
    pub(crate) async fn until_answered(&self, call: &str, calls: u64) {
        within(async {
            while self.answered(call) < calls {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
}

/// A store that is empty and judges time by the scenario's clock, its address, and what keeps it there.
async fn open(kind: Kind, held: Option<&TestClock>, options: &ClientOptions) -> (Arc<dyn Store>, String, Box<dyn Any>) {
    let clock = options.clock.clone();
    let clock: onward::store::Clock = Arc::new(move || clock.now().0);
    match kind {
        Kind::Memory => {
            let store = Memory::new(limits::PARTITIONS_DEFAULT, clock, options.chance.id());
            (Arc::new(store), "memory:".to_owned(), Box::new(()))
        }
        Kind::Sqlite => {
            let folder = tempfile::tempdir().unwrap();
            let address = format!("sqlite:{}", folder.path().join("onward.db").display());
            (onward::open_store(&address, options).await.unwrap(), address, Box::new(folder))
        }
        Kind::Postgres => {
            let server = shared::postgres();
            let address = format!("{}?schema={}&partitions={PARTITIONS}", server.url(), shared::name());
            let chosen = postgres::Options { clock: held.map(|_| clock), ..postgres::Options::default() };
            (Arc::new(postgres::open(&address, chosen).await.unwrap()), address, Box::new(server))
        }
        Kind::Valkey => {
            let server = shared::valkey();
            let address = format!("{}?prefix={}&partitions={PARTITIONS}", server.url(), shared::name());
            let store = match held {
                Some(_) => valkey::open_with_clock(&address, clock).await.unwrap(),
                None => valkey::open(&address).await.unwrap(),
            };
            (Arc::new(store), address, Box::new(server))
        }
    }
}

/// Ends a test that would hang.
#[allow(clippy::disallowed_methods, reason = "a hang guard needs real time, whatever the clock of the scenario says")]
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG, future).await.expect("this takes no time at all unless it hangs")
}

/// Runs each scenario on every store, here and through a server.
macro_rules! on_every_store {
    ($($(#[$attribute:meta])* async fn $name:ident($world:ident: $made:ident) $body:block)+) => {
        $(mod $name {
            #[allow(unused_imports, reason = "each scenario takes what it needs from its file")]
            use super::*;
            use $crate::world::{Kind, Way, World};

            async fn scenario(kind: Kind, way: Way) {
                let $world = World::$made(kind, way).await;
                $crate::world::within(async { $body }).await;
            }

            #[tokio::test]
            async fn on_memory() {
                scenario(Kind::Memory, Way::Embedded).await;
            }

            #[tokio::test]
            async fn on_sqlite() {
                scenario(Kind::Sqlite, Way::Embedded).await;
            }

            #[tokio::test]
            async fn on_postgres() {
                scenario(Kind::Postgres, Way::Embedded).await;
            }

            #[tokio::test]
            async fn on_valkey() {
                scenario(Kind::Valkey, Way::Embedded).await;
            }

            #[tokio::test]
            async fn on_sqlite_over_http() {
                scenario(Kind::Sqlite, Way::Http).await;
            }

            #[tokio::test]
            async fn on_postgres_over_http() {
                scenario(Kind::Postgres, Way::Http).await;
            }

            #[tokio::test]
            async fn on_valkey_over_http() {
                scenario(Kind::Valkey, Way::Http).await;
            }
        })+
    };
}

pub(crate) use on_every_store;
