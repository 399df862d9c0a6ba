//! Time on a file: a store without a clock of its own follows the time of day, also when that is set.

use futures_util::future::BoxFuture;
use onward::engine::clock::Clock;
use onward::testing::TestClock;
use onward::{Client, ClientOptions, Context, Failed, Millis, PublicState, Span, Worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const START: Millis = Millis(1_800_000_000_000);
const HOUR: Span = Span::hours(1);

/// A machine whose time of day is set while its programs run, as after a sleep; what they count themselves goes on.
#[derive(Debug, Clone)]
struct Machine {
    own: TestClock,
    ahead: Arc<AtomicU64>,
}

impl Clock for Machine {
    fn now(&self) -> Millis {
        self.own.now()
    }

    fn time_of_day(&self) -> Millis {
        self.own.now() + Span(self.ahead.load(Ordering::Relaxed))
    }

    fn sleep(&self, span: Span) -> BoxFuture<'static, ()> {
        self.own.sleep(span)
    }

    fn rest(&self, span: Span) -> BoxFuture<'static, ()> {
        self.own.rest(span)
    }
}

async fn open(address: &str, machine: &Machine) -> Client {
    let call_timeout = Duration::from_secs(100_000_000);
    let options = ClientOptions { clock: Arc::new(machine.clone()), call_timeout, ..ClientOptions::default() };
    Client::open_with(address, options).await.unwrap()
}

/// Lets time go on until something holds, which takes a read of the store each time: slower than the store commits.
async fn until(machine: &Machine, holds: impl AsyncFn() -> bool) {
    for _ in 0..30_000 {
        if holds().await {
            return;
        }
        machine.own.advance(Span(100));
    }
    panic!("it never held");
}

#[tokio::test]
async fn a_file_follows_the_time_of_day() {
    let place = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", place.path().join("onward.db").display());
    let machine = Machine { own: TestClock::at(START), ahead: Arc::default() };
    let first = open(&address, &machine).await;
    let delayed = first.submit("later", &()).delay(Duration::from_secs(3_600)).await.unwrap().id;
    machine.ahead.store(HOUR.0, Ordering::Relaxed);
    // Without any commit, the next sweep asks for the time.
    let is_ready = async || first.get(delayed).await.unwrap().unwrap().state == PublicState::Waiting;
    until(&machine, is_ready).await;
    assert!(machine.own.now() < START + HOUR, "by what the program counts itself it would be an hour late");

    // A second process, which started after the time was set, finds leases of the first alive.
    let later = Machine { own: TestClock::at(machine.time_of_day()), ahead: Arc::default() };
    let second = open(&address, &later).await;
    let forever = async |_: Context, (): ()| std::future::pending::<Result<(), Failed>>().await;
    let _worker = Worker::new(&first).on("later", forever).start().unwrap();
    let is_running = async || first.get(delayed).await.unwrap().unwrap().state == PublicState::Active;
    until(&machine, is_running).await;
    let seen = second.get(delayed).await.unwrap().unwrap();
    assert!(seen.lease_expires_at.unwrap() > later.time_of_day(), "{seen:?}");
}
