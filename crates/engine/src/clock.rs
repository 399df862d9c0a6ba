//! The only place that knows what time it is, and where chance comes from.

use futures_util::future::BoxFuture;
use onward_core::{Millis, Span};
use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// A clock that can be asked and slept on. Injected everywhere, so that tests and simulations hold the time.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The time.
    fn now(&self) -> Millis;

    /// Sleeps for a span; how long that is does not depend on what [`Clock::now`] says meanwhile.
    fn sleep(&self, span: Span) -> BoxFuture<'static, ()>;

    /// Rests before something is tried again that a store or another process kept from happening. They take their own time,
    /// so that a clock which a test holds must not hold this up for ever.
    fn rest(&self, span: Span) -> BoxFuture<'static, ()> {
        self.sleep(span)
    }
}

/// The machine's clock: the time of day when it was first asked, and from then on what has passed since. Setting the
/// machine's time therefore moves no deadline of a call; by how much it differs from the store's time, every commit tells.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

/// The time of day, and the moment at which it was that.
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

    #[allow(clippy::disallowed_methods, reason = "this is the clock that everybody else sleeps on")]
    fn sleep(&self, span: Span) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(span.0)))
    }
}

/// A clock that moves only when it is told to, for tests.
#[derive(Debug, Clone)]
pub struct TestClock {
    now: watch::Sender<Millis>,
}

impl TestClock {
    /// A clock that stands at a time.
    #[must_use]
    pub fn at(now: Millis) -> Self {
        Self { now: watch::Sender::new(now) }
    }

    /// Moves the time forward and wakes whoever slept until then.
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

/// Where ids, seeds and jitter come from.
#[derive(Debug)]
pub struct Chance(Mutex<StdRng>);

impl Chance {
    /// Chance that nobody can foresee.
    #[must_use]
    pub fn from_os() -> Self {
        Self(Mutex::new(StdRng::from_os_rng()))
    }

    /// Chance that repeats with its seed.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    /// 64 random bits.
    pub fn word(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next_u64()
    }

    /// 128 random bits.
    pub fn id(&self) -> u128 {
        let mut rng = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (u128::from(rng.next_u64()) << 64) | u128::from(rng.next_u64())
    }

    /// A span between half and the whole of the given one, so that a crowd spreads out.
    pub fn jittered(&self, span: Span) -> Span {
        let half = span.0 / 2;
        Span(half + self.word() % (span.0 - half + 1))
    }
}

/// The store's time, as far as this process knows it: the local clock plus an offset that every commit corrects.
#[derive(Debug)]
pub(crate) struct StoreTime {
    clock: Arc<dyn Clock>,
    offset: AtomicI64,
    newest: AtomicU64,
}

impl StoreTime {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, offset: AtomicI64::new(0), newest: AtomicU64::new(0) }
    }

    /// The store's time now; never earlier than what a commit has shown.
    pub(crate) fn now(&self) -> Millis {
        let estimate = self.clock.now().0.saturating_add_signed(self.offset.load(Ordering::Relaxed));
        Millis(estimate.max(self.newest.load(Ordering::Relaxed)))
    }

    /// The local time at which a call to the store begins.
    pub(crate) fn local(&self) -> Millis {
        self.clock.now()
    }

    /// The store has just refused a batch because of the time, so its time counts more than any estimate.
    pub(crate) fn correct(&self, shown: Millis) {
        self.offset.store(shown.0 as i64 - self.clock.now().0 as i64, Ordering::Relaxed);
        self.newest.store(shown.0, Ordering::Relaxed);
    }

    /// A call that began at local time `sent` and has just ended showed the store's time. The offset moves only when
    /// it cannot be right: the store answered somewhere between the two, and the time on the way is not known.
    pub(crate) fn observe(&self, sent: Millis, shown: Millis) {
        let received = self.clock.now();
        let offset = self.offset.load(Ordering::Relaxed);
        let (low, high) = (sent.0.saturating_add_signed(offset), received.0.saturating_add_signed(offset));
        if shown.0 < low {
            self.offset.store(shown.0 as i64 - sent.0 as i64, Ordering::Relaxed);
            // The estimate ran ahead, so what it showed must not hold the time back.
            self.newest.store(shown.0, Ordering::Relaxed);
        } else if shown.0 > high {
            self.offset.store(shown.0 as i64 - received.0 as i64, Ordering::Relaxed);
            self.newest.fetch_max(shown.0, Ordering::Relaxed);
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
