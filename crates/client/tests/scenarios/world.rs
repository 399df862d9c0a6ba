//! The world of one scenario: a store, a client, and a clock that is either real or held still.

use onward::engine::clock::{Chance, SystemClock};
use onward::testing::TestClock;
use onward::{Client, ClientOptions, Description, ExecutionId, Millis, PublicState, Span};
use std::sync::Arc;
use std::time::Duration;

/// Long enough that only a test that hangs notices.
const HANG: Duration = Duration::from_secs(120);

/// For `Client::wait`: ends a test that would hang.
pub(crate) const PATIENCE: Duration = HANG;

pub(crate) struct World {
    pub(crate) client: Client,
    pub(crate) clock: TestClock,
    address: String,
    _folder: Option<tempfile::TempDir>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Memory,
    Sqlite,
}

impl World {
    /// A world in which time passes.
    pub(crate) async fn new(kind: Kind) -> Self {
        Self::with(kind, ClientOptions { clock: Arc::new(SystemClock), ..ClientOptions::default() }).await
    }

    /// A world whose time moves only with `advance`.
    pub(crate) async fn held(kind: Kind) -> Self {
        let clock = TestClock::at(Millis(1_800_000_000_000));
        let chance = Arc::new(Chance::seeded(7));
        let options = ClientOptions { clock: Arc::new(clock.clone()), chance, ..ClientOptions::default() };
        Self { clock, ..Self::with(kind, options).await }
    }

    async fn with(kind: Kind, options: ClientOptions) -> Self {
        let folder = matches!(kind, Kind::Sqlite).then(|| tempfile::tempdir().unwrap());
        let address = match &folder {
            Some(folder) => format!("sqlite:{}", folder.path().join("onward.db").display()),
            None => "memory:".to_owned(),
        };
        let client = Client::open_with(&address, options).await.unwrap();
        Self { client, clock: TestClock::at(Millis(0)), address, _folder: folder }
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
}

/// Ends a test that would hang.
#[allow(clippy::disallowed_methods, reason = "a hang guard needs real time, whatever the clock of the scenario says")]
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG, future).await.expect("this takes no time at all unless it hangs")
}

/// Runs each scenario on every store.
macro_rules! on_every_store {
    ($($(#[$attribute:meta])* async fn $name:ident($world:ident: $made:ident) $body:block)+) => {
        $(mod $name {
            #[allow(unused_imports, reason = "each scenario takes what it needs from its file")]
            use super::*;

            async fn scenario(kind: $crate::world::Kind) {
                let $world = $crate::world::World::$made(kind).await;
                $crate::world::within(async { $body }).await;
            }

            #[tokio::test]
            async fn on_memory() {
                scenario($crate::world::Kind::Memory).await;
            }

            #[tokio::test]
            async fn on_sqlite() {
                scenario($crate::world::Kind::Sqlite).await;
            }
        })+
    };
}

pub(crate) use on_every_store;
