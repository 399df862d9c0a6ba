//! A store, a clock that the test holds, and engines on them.

use onward_core::{Claimed, Class, ExecutionId, Kind, Lane, Millis, Name, Namespace, Payload, Span, WorkerName};
use onward_engine::clock::{Chance, Clock, TestClock};
use onward_engine::{Engine, NewExecution, Options, Wants};
use onward_store::{Store, memory::Memory, sqlite};
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
}

impl World {
    pub(crate) fn memory() -> Self {
        let clock = TestClock::at(START);
        let store = Memory::new(8, store_clock(&clock), 1);
        Self { clock, kind: StoreKind::Memory(store) }
    }

    pub(crate) fn sqlite() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        Self { clock: TestClock::at(START), kind: StoreKind::Sqlite(dir) }
    }

    /// Opens the store once more.
    pub(crate) async fn store(&self) -> Arc<dyn Store> {
        match &self.kind {
            StoreKind::Memory(store) => Arc::new(store.handle()),
            StoreKind::Sqlite(dir) => {
                let options = sqlite::Options {
                    partitions: Some(8),
                    clock: store_clock(&self.clock),
                    ..sqlite::Options::default()
                };
                Arc::new(sqlite::open(dir.path().join("onward.db"), options).await.expect("a fresh store opens"))
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
        Engine::start(self.store().await, self.options()).await.expect("the engine starts")
    }
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
        capabilities: Class::default(),
        worker: WorkerName::parse(name).expect("a worker name"),
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
