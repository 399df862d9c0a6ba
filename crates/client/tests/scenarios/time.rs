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

/// Two processes on one file, and a machine whose time is wrong by a year for a while: what was begun under the false time
/// is noticed, timed out and tried again by the true one.
#[tokio::test]
async fn a_time_that_was_wrong_for_a_while_freezes_nothing() {
    let place = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", place.path().join("onward.db").display());
    let ahead = Arc::<AtomicU64>::default();
    let machine = Machine { own: TestClock::at(START), ahead: ahead.clone() };
    let beside = Machine { own: TestClock::at(START), ahead: ahead.clone() };
    let first = open(&address, &machine).await;
    let second = open(&address, &beside).await;
    ahead.store(Span::days(365).0, Ordering::Relaxed);

    let begun = first.submit("lost", &()).await.unwrap().id;
    let forever = async |_: Context, (): ()| std::future::pending::<Result<(), Failed>>().await;
    let _worker = Worker::new(&second).on("lost", forever).start().unwrap();
    let state = async |id| first.get(id).await.unwrap().unwrap().state;
    for _ in 0..30_000 {
        if state(begun).await == PublicState::Active {
            break;
        }
        beside.own.advance(Span(10));
    }
    let lease = first.get(begun).await.unwrap().unwrap().lease_expires_at.unwrap();
    assert!(lease > START + Span::days(365), "it was claimed under the false time");

    // The time is corrected, and the second process stops: its clock moves no more.
    ahead.store(0, Ordering::Relaxed);
    until(&machine, async || state(begun).await == PublicState::Waiting).await;
    assert!(machine.own.now() < START + HOUR, "the lost worker was noticed by the true time");

    let attempts = Arc::<AtomicU64>::default();
    let counted = attempts.clone();
    let fails_once = move |_: Context, (): ()| {
        let attempt = counted.fetch_add(1, Ordering::Relaxed);
        async move { if attempt == 0 { Err(Failed::transient("not yet")) } else { Ok(()) } }
    };
    let _worker = Worker::new(&first).on("lost", fails_once).start().unwrap();
    until(&machine, async || state(begun).await == PublicState::Completed).await;
    assert!(machine.own.now() < START + HOUR, "the retry came by the true time");
    assert_eq!(attempts.load(Ordering::Relaxed), 2);
}
