//! After too many failures in a row no call is let through for a while, so that what is down can come up.

use crate::call::{Answer, Call};
use crate::{Error, Result};
use futures_util::future::BoxFuture;
use onward_core::{Millis, Span};
use onward_engine::clock::{Clock, SystemClock};
use parking_lot::Mutex;
use std::sync::Arc;
use tower::Service;

/// Opens after so many calls in a row that failed for a reason that may pass, and refuses calls with the code
/// `circuit_open` until a pause is over; then one is let through, and decides. Refusals by the rules are answers and not
/// failures. Clones share what they have seen.
#[derive(Debug, Clone)]
pub struct CircuitBreaker {
    seen: Arc<Mutex<Seen>>,
    failures_max: u32,
    pause: Span,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default)]
struct Seen {
    failures: u32,
    /// Until when nothing is let through; afterwards one call at a time tries.
    open_until: Option<Millis>,
    trying: bool,
}

layer! {
    /// Calls behind a breaker.
    CircuitBreaker => Breaking
}

impl Default for CircuitBreaker {
    /// Ten failures, five seconds.
    fn default() -> Self {
        Self::new(10, Span::seconds(5))
    }
}

impl CircuitBreaker {
    /// After so many failures in a row, for so long.
    #[must_use]
    pub fn new(failures: u32, pause: Span) -> Self {
        Self::with_clock(failures, pause, Arc::new(SystemClock))
    }

    /// The same, by another clock.
    #[must_use]
    pub fn with_clock(failures: u32, pause: Span, clock: Arc<dyn Clock>) -> Self {
        Self { seen: Arc::default(), failures_max: failures.max(1), pause, clock }
    }

    /// Whether calls are refused now.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let now = self.clock.now();
        self.seen.lock().open_until.is_some_and(|until| now < until)
    }

    /// Lets a call through, or says when to come again. The answer is whether it tries for the others: one that waits for
    /// something to happen does not, since they would wait with it.
    fn enter(&self, waits: bool) -> Result<bool> {
        let now = self.clock.now();
        let mut seen = self.seen.lock();
        let Some(until) = seen.open_until else { return Ok(false) };
        if now < until || (seen.trying && !waits) {
            return Err(Error::CircuitOpen { retry_after: (until - now).max(Span(1)) });
        }
        seen.trying |= !waits;
        Ok(!waits)
    }

    /// Takes in how a call ended.
    fn learn(&self, failed: bool) {
        let now = self.clock.now();
        let mut seen = self.seen.lock();
        if !failed {
            *seen = Seen::default();
            return;
        }
        seen.failures = seen.failures.saturating_add(1);
        if seen.open_until.is_some() || seen.failures >= self.failures_max {
            seen.open_until = Some(now + self.pause);
            seen.trying = false;
        }
    }

    fn carry<S>(&self, inner: &mut S, call: Call) -> BoxFuture<'static, Result<Answer>>
    where
        S: Service<Call, Response = Answer, Error = Error, Future: Send + 'static>,
    {
        let mut trying = match self.enter(call.ask.waits()) {
            Ok(tries) => Trying(self.clone(), tries),
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let (breaker, calling) = (self.clone(), inner.call(call));
        Box::pin(async move {
            let answer = calling.await;
            trying.1 = false;
            drop(trying);
            // A client that is shut down says nothing about what it spoke to.
            let failed = |error: &Error| (error.is_temporary() || error.is_internal()) && !error.is_shut_down();
            breaker.learn(answer.as_ref().is_err_and(failed));
            answer
        })
    }
}

/// A call that tries for the others. Dropped before its end it has said nothing, and another one may try.
struct Trying(CircuitBreaker, bool);

impl Drop for Trying {
    fn drop(&mut self) {
        if self.1 {
            self.0.seen.lock().trying = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_engine::clock::TestClock;

    #[test]
    fn it_opens_after_failures_in_a_row_and_one_call_tries() {
        let clock = TestClock::at(Millis(1_000));
        let breaker = CircuitBreaker::with_clock(3, Span(100), Arc::new(clock.clone()));
        let enter = || breaker.enter(false).map_err(|error| error.code().to_owned());
        for failed in [true, true, false, true, true] {
            assert_eq!(enter(), Ok(false));
            breaker.learn(failed);
        }
        assert!(!breaker.is_open(), "a success in between forgives");
        breaker.learn(true);
        assert!(breaker.is_open());
        assert_eq!(enter(), Err("circuit_open".to_owned()));
        clock.advance(Span(100));
        assert_eq!(enter(), Ok(true), "one may try");
        assert_eq!(enter(), Err("circuit_open".to_owned()), "and the others wait for it");
        assert_eq!(breaker.enter(true).ok(), Some(false), "a call that waits lets nobody wait for it");
        drop(Trying(breaker.clone(), true));
        assert_eq!(enter(), Ok(true), "one that was given up leaves it to the next");
        breaker.learn(true);
        assert_eq!(enter(), Err("circuit_open".to_owned()), "it failed again");
        clock.advance(Span(100));
        assert_eq!(enter(), Ok(true));
        breaker.learn(false);
        assert_eq!(enter(), Ok(false), "and all is well");
    }
}
