//! Time and randomness: the only file that reads the system clock or the system's random source.

use futures_util::future::BoxFuture;
use onward_core::{Millis, Span, limits};
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::{Notify, watch};

/// A clock to read and to sleep on. It is injected everywhere, so that tests and simulations control the time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The local time, which never jumps: deadlines of calls and pauses count by it.
    fn now(&self) -> Millis;

    /// The time of day, which can be set while the program runs: a store without a clock of its own uses it.
    fn time_of_day(&self) -> Millis {
        self.now()
    }

    /// Sleeps for `span`; how long that is does not depend on what [`Clock::now`] returns meanwhile.
    fn sleep(&self, span: Span) -> BoxFuture<'static, ()>;

    /// Pauses before a retry of something that a store or another process prevented. Both run in real time, so a clock
    /// that a test holds must not block this for ever.
    fn rest(&self, span: Span) -> BoxFuture<'static, ()> {
        self.sleep(span)
    }
}

/// The machine's clock: the time of day at the first read, plus the time elapsed since. Setting the machine's time
/// therefore moves no deadline of a call; every commit shows how far this clock differs from the store's time.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

/// The time of day at the first read, and the instant of that read.
static STARTED: LazyLock<(Duration, Instant)> = LazyLock::new(|| {
    #[allow(clippy::disallowed_methods, reason = "this is the clock that everybody else asks")]
    let (time, moment) = (SystemTime::now(), Instant::now());
    (time.duration_since(UNIX_EPOCH).unwrap_or_default(), moment)
});

impl Clock for SystemClock {
    fn now(&self) -> Millis {
        let (time, moment) = *STARTED;
        Millis(u64::try_from((time + moment.elapsed()).as_millis()).unwrap_or(u64::MAX))
    }

    #[allow(clippy::disallowed_methods, reason = "this is the clock that everybody else asks")]
    fn time_of_day(&self) -> Millis {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    #[allow(clippy::disallowed_methods, reason = "this is the clock that everybody else sleeps on")]
    fn sleep(&self, span: Span) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(span.0)))
    }
}

/// A clock for tests that moves only when it is advanced.
#[derive(Debug, Clone)]
pub struct TestClock {
    now: watch::Sender<Millis>,
}

impl TestClock {
    /// Creates a clock that stands still at `now`.
    #[must_use]
    pub fn at(now: Millis) -> Self {
        Self { now: watch::Sender::new(now) }
    }

    /// Moves the time forward and wakes the sleepers that are due.
    pub fn advance(&self, span: Span) {
        self.now.send_modify(|now| *now = *now + span);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Millis {
        *self.now.borrow()
    }

    fn sleep(&self, span: Span) -> BoxFuture<'static, ()> {
        let mut now = self.now.subscribe();
        let until = self.now() + span;
        Box::pin(async move {
            if now.wait_for(|now| *now >= until).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }

    fn rest(&self, span: Span) -> BoxFuture<'static, ()> {
        let (held, own) = (self.sleep(span), SystemClock.sleep(span));
        Box::pin(async move {
            tokio::select! { biased; () = held => {}, () = own => {} }
        })
    }
}

/// The source of ids, seeds and jitter.
#[derive(Debug)]
pub struct Chance(Mutex<StdRng>);

impl Chance {
    /// An unpredictable source, seeded by the operating system.
    #[must_use]
    pub fn from_os() -> Self {
        Self(Mutex::new(StdRng::from_os_rng()))
    }

    /// A reproducible source: the same seed gives the same numbers.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    /// 64 random bits.
    pub fn word(&self) -> u64 {
        self.0.lock().next_u64()
    }

    /// 256 random bits, for a secret.
    #[must_use]
    pub fn secret(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&self.id().to_le_bytes());
        bytes[16..].copy_from_slice(&self.id().to_le_bytes());
        bytes
    }

    /// 128 random bits.
    pub fn id(&self) -> u128 {
        let mut rng = self.0.lock();
        (u128::from(rng.next_u64()) << 64) | u128::from(rng.next_u64())
    }

    /// A random span between half of `span` and all of it, so that many callers spread out.
    pub fn jittered(&self, span: Span) -> Span {
        let half = span.0 / 2;
        Span(half + self.word() % (span.0 - half + 1))
    }
}

/// Estimate of the store's time: the local clock plus an offset that every commit corrects.
#[derive(Debug)]
pub(crate) struct StoreTime {
    clock: Arc<dyn Clock>,
    offset: AtomicI64,
    newest: AtomicU64,
    /// Notified when the store's time was set back: what was computed before lies too far ahead.
    pub(crate) set_back: Notify,
    times_set_back: AtomicU64,
}

impl StoreTime {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            offset: AtomicI64::new(0),
            newest: AtomicU64::new(0),
            set_back: Notify::new(),
            times_set_back: AtomicU64::new(0),
        }
    }

    /// The store's time now; never earlier than what a commit has shown.
    pub(crate) fn now(&self) -> Millis {
        let estimate = self.clock.now().0.saturating_add_signed(self.offset.load(Ordering::Relaxed));
        Millis(estimate.max(self.newest.load(Ordering::Relaxed)))
    }

    /// The local time, to be taken when a call to the store begins.
    pub(crate) fn local(&self) -> Millis {
        self.clock.now()
    }

    /// Adopts the time of a store that has just refused a batch because of it: it counts more than any estimate.
    pub(crate) fn correct(&self, shown: Millis) {
        self.tell(self.now(), shown);
        self.offset.store(shown.0 as i64 - self.clock.now().0 as i64, Ordering::Relaxed);
        self.newest.store(shown.0, Ordering::Relaxed);
    }

    /// Learns from a call that began at local time `sent` and has just returned the store's time. The offset moves only
    /// when it cannot be right: the store read its clock at an unknown moment between the two.
    pub(crate) fn observe(&self, sent: Millis, shown: Millis) {
        let received = self.clock.now();
        let offset = self.offset.load(Ordering::Relaxed);
        let (low, high) = (sent.0.saturating_add_signed(offset), received.0.saturating_add_signed(offset));
        if shown.0 < low {
            self.tell(Millis(low), shown);
            self.offset.store(shown.0 as i64 - sent.0 as i64, Ordering::Relaxed);
            // The estimate ran ahead, so `newest` must not hold the time back.
            self.newest.store(shown.0, Ordering::Relaxed);
        } else if shown.0 > high {
            self.offset.store(shown.0 as i64 - received.0 as i64, Ordering::Relaxed);
            self.newest.fetch_max(shown.0, Ordering::Relaxed);
        }
    }

    /// How often the store's time was set back.
    pub(crate) fn times_set_back(&self) -> u64 {
        self.times_set_back.load(Ordering::Relaxed)
    }

    fn tell(&self, expected: Millis, shown: Millis) {
        if shown + limits::CLOCK_SLACK < expected {
            tracing::warn!(by = %(expected - shown), "the store's time was set back");
            self.times_set_back.fetch_add(1, Ordering::Relaxed);
            self.set_back.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_moves_only_when_it_cannot_be_right() {
        let clock = TestClock::at(Millis(1_000));
        let time = StoreTime::new(Arc::new(clock.clone()));
        clock.advance(Span(10));
        time.observe(Millis(1_000), Millis(1_004));
        assert_eq!(time.now(), Millis(1_010), "an answer on the way teaches nothing");
        time.observe(Millis(1_010), Millis(5_000));
        assert_eq!(time.now(), Millis(5_000));
        time.observe(Millis(1_010), Millis(900));
        assert_eq!(time.now(), Millis(900), "a jumped local clock is corrected downwards too");
    }
}
