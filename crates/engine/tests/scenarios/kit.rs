//! A store, a clock that the test holds, and engines on them.

use onward_core::{
    Claimed, Class, ExecutionId, Kind, Lane, Millis, Name, Namespace, NewExecution, PartitionId, Payload, Span, Submit,
    WorkerName,
};
use onward_engine::clock::{Chance, Clock, TestClock};
use onward_engine::{Engine, Options, Wants};
use onward_servers::shared as servers;
use onward_store::{Home, Store, memory::Memory, postgres, sqlite, valkey};
use std::any::Any;
use std::sync::Arc;

/// The time at which every scenario starts.
pub(crate) const START: Millis = Millis(1_700_000_000_000);

/// A store that can be opened several times, as several processes would.
pub(crate) struct World {
    pub(crate) clock: TestClock,
    kind: StoreKind,
}

enum StoreKind {
    Memory(Memory),
    Sqlite(tempfile::TempDir),
    Postgres(ServerStore),
    Valkey(ServerStore),
}

/// Where a server keeps one scenario's store, and the server, which runs for as long as somebody needs it.
struct ServerStore {
    url: String,
    _server: Arc<dyn Any + Send + Sync>,
}

/// How many partitions every store has.
pub(crate) const PARTITIONS: u16 = 8;

impl World {
    pub(crate) fn memory() -> Self {
        let clock = TestClock::at(START);
        let store = Memory::for_members(PARTITIONS, store_clock(&clock), 1);
        Self { clock, kind: StoreKind::Memory(store) }
    }

    pub(crate) fn sqlite() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        Self { clock: TestClock::at(START), kind: StoreKind::Sqlite(dir) }
    }

    pub(crate) fn postgres() -> Self {
        let server = servers::postgres();
        let url = format!("{}?schema={}&partitions={PARTITIONS}", server.url(), servers::name());
        Self { clock: TestClock::at(START), kind: StoreKind::Postgres(ServerStore { url, _server: server }) }
    }

    pub(crate) fn valkey() -> Self {
        let server = servers::valkey();
        Self::on_valkey(&server.url(), server)
    }

    pub(crate) fn valkey_cluster() -> Self {
        let cluster = servers::valkey_cluster();
        Self::on_valkey(&cluster.url(), cluster)
    }

    fn on_valkey(url: &str, server: Arc<dyn Any + Send + Sync>) -> Self {
        let url = format!("{url}?prefix={}&partitions={PARTITIONS}", servers::name());
        Self { clock: TestClock::at(START), kind: StoreKind::Valkey(ServerStore { url, _server: server }) }
    }

    /// Whether the store is served by another program, which takes its time for every call.
    pub(crate) fn is_served(&self) -> bool {
        matches!(self.kind, StoreKind::Postgres(_) | StoreKind::Valkey(_))
    }

    /// Opens the store once more.
    pub(crate) async fn store(&self) -> Arc<dyn Store> {
        match &self.kind {
            StoreKind::Memory(store) => Arc::new(store.handle()),
            StoreKind::Sqlite(dir) => {
                let options = sqlite::Options {
                    partitions: Some(PARTITIONS),
                    clock: store_clock(&self.clock),
                    ..sqlite::Options::default()
                };
                Arc::new(sqlite::open(dir.path().join("onward.db"), options).await.expect("a fresh store opens"))
            }
            StoreKind::Postgres(place) => {
                let clock = Some(store_clock(&self.clock));
                let options = postgres::Options { clock, ..postgres::Options::default() };
                Arc::new(postgres::open(&place.url, options).await.expect("the store opens"))
            }
            StoreKind::Valkey(place) => {
                let store = valkey::open_with_clock(&place.url, store_clock(&self.clock)).await;
                Arc::new(store.expect("the store opens"))
            }
        }
    }

    pub(crate) fn options(&self) -> Options {
        // The test moves its clock much faster than a disk answers, so calls must not be given up by that clock.
        let call_timeout = Span::days(100_000);
        let clock = Arc::new(self.clock.clone());
        Options { clock, chance: Arc::new(Chance::from_os()), call_timeout, ..Options::default() }
    }

    /// Starts an engine on the store.
    pub(crate) async fn engine(&self) -> Engine {
        self.engine_on(self.store().await).await
    }

    /// Starts an engine on a store that is open, and waits until it knows its homes.
    pub(crate) async fn engine_on(&self, store: Arc<dyn Store>) -> Engine {
        start(store, self.options()).await
    }
}

/// Starts an engine, and waits until it knows its homes.
pub(crate) async fn start(store: Arc<dyn Store>, options: Options) -> Engine {
    let home = store.home();
    let engine = Engine::start(store, options).await.expect("the engine starts");
    while *home.borrow() != Home::Nowhere && engine.homes().is_empty() {
        tokio::task::yield_now().await;
    }
    engine
}

fn store_clock(clock: &TestClock) -> onward_store::Clock {
    let clock = clock.clone();
    Arc::new(move || clock.now().0)
}

pub(crate) fn lane(name: &str) -> Lane {
    Lane::parse(name).expect("a lane name")
}

pub(crate) fn capabilities(names: &[&str]) -> Class {
    Class::new(names.iter().map(|name| name.parse().expect("a capability"))).expect("a class")
}

/// Work for the default lane.
pub(crate) fn work(kind: &str) -> NewExecution {
    NewExecution::new(Kind::parse(kind).expect("a kind"), Payload::of(&kind).expect("a payload"))
}

/// A worker on the default lane with a lease of ten seconds.
pub(crate) fn worker(name: &str) -> Wants {
    Wants {
        namespace: Namespace::default(),
        lanes: vec![Lane::default()],
        kinds: None,
        capabilities: Class::default(),
        worker: WorkerName::parse(name).expect("a worker name"),
        build: None,
        lease: Span::seconds(10),
        max: 1,
    }
}

/// Claims one execution that must be ready now.
pub(crate) async fn claim_now(engine: &Engine, wants: &Wants) -> Claimed {
    let mut claimed = engine.claim(wants, Span(0)).await.expect("the claim is answered");
    assert_eq!(claimed.len(), 1, "exactly one execution is ready");
    claimed.remove(0)
}

/// Claims one execution, however long it takes to become ready.
pub(crate) async fn claim_soon(engine: &Engine, wants: &Wants) -> Claimed {
    let mut claimed = engine.claim(wants, Span::days(100_000)).await.expect("the claim is answered");
    assert_eq!(claimed.len(), 1);
    claimed.remove(0)
}

pub(crate) async fn submit(engine: &Engine, new: NewExecution) -> ExecutionId {
    let submitted = engine.submit(new).await.expect("the submit is accepted");
    assert!(submitted.created);
    submitted.id
}

/// Submits to one partition; by itself an engine chooses a few at a time.
pub(crate) async fn submit_to(engine: &Engine, new: NewExecution, partition: PartitionId) -> ExecutionId {
    let submit = engine.address(new);
    let id = ExecutionId::new(submit.id.uuid(), partition);
    engine.run(Submit { id, ..submit }).await.expect("the submit is accepted").id
}

/// The public state of an execution.
pub(crate) async fn state(engine: &Engine, id: ExecutionId) -> &'static str {
    let execution = engine.get(id).await.expect("the store answers").expect("the execution exists");
    execution.public_state().as_str()
}

/// Waits for something that happens without a call of its own, by yielding to the engine until it has.
pub(crate) async fn eventually<F: AsyncFn() -> bool>(what: &str, done: F) {
    for _ in 0..200_000 {
        if done().await {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it never happened: {what}");
}
