//! No more than so many calls in a second: whoever comes too soon waits for its turn.

use crate::call::{Answer, Ask, Call};
use crate::{Error, Result};
use futures_util::future::BoxFuture;
use onward_core::Span;
use onward_engine::clock::{Clock, SystemClock};
use parking_lot::Mutex;
use std::sync::Arc;
use tower::Service;

/// Lets so many calls through in a second. Those of a second may come at once; whoever comes then waits for its turn, in
/// order. Renewals and reports of workers are never held up: they free what others wait for.
#[derive(Debug, Clone)]
pub struct RateLimit {
    turns: Arc<Mutex<Turns>>,
    clock: Arc<dyn Clock>,
}

/// When the next call may go, in microseconds.
#[derive(Debug)]
struct Turns {
    each: u64,
    at_once: u64,
    next: u64,
}

impl Turns {
    /// How long the next one waits.
    fn take(&mut self, now: u64) -> u64 {
        // A pause is worth as many calls as may come at once, and no more.
        self.next = self.next.max(now.saturating_sub(self.at_once)) + self.each;
        self.next.saturating_sub(now)
    }
}

layer! {
    /// Calls that wait for their turn.
    RateLimit => Limited + Clone + Send + 'static
}

impl RateLimit {
    /// So many calls in a second, at least one.
    #[must_use]
    pub fn per_second(calls: u32) -> Self {
        Self::with_clock(calls, Arc::new(SystemClock))
    }

    /// The same, by another clock.
    #[must_use]
    pub fn with_clock(calls: u32, clock: Arc<dyn Clock>) -> Self {
        let turns = Turns { each: 1_000_000 / u64::from(calls.max(1)), at_once: 1_000_000, next: 0 };
        Self { turns: Arc::new(Mutex::new(turns)), clock }
    }

    fn wait(&self) -> Span {
        let now = self.clock.now().0.saturating_mul(1_000);
        let wait = self.turns.lock().take(now);
        Span(wait.div_ceil(1_000))
    }

    fn carry<S>(&self, inner: &mut S, call: Call) -> BoxFuture<'static, Result<Answer>>
    where
        S: Service<Call, Response = Answer, Error = Error, Future: Send + 'static> + Clone + Send + 'static,
    {
        let wait = match call.ask {
            Ask::Renew { .. } | Ask::Report { .. } => Span(0),
            _ => self.wait(),
        };
        if wait == Span(0) {
            return Box::pin(inner.call(call));
        }
        // The one that said it is ready is taken along; another stays behind for the next call.
        let next = inner.clone();
        let (mut ready, clock) = (std::mem::replace(inner, next), self.clock.clone());
        Box::pin(async move {
            clock.sleep(wait).await;
            ready.call(call).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_of_a_second_go_at_once_and_the_rest_in_turn() {
        let mut turns = Turns { each: 250_000, at_once: 1_000_000, next: 0 };
        let start = 10_000_000;
        let waits: Vec<u64> = (0..7).map(|_| turns.take(start)).collect();
        assert_eq!(waits, [0, 0, 0, 0, 250_000, 500_000, 750_000]);
        let later = start + 60_000_000;
        let waits: Vec<u64> = (0..5).map(|_| turns.take(later)).collect();
        assert_eq!(waits, [0, 0, 0, 0, 250_000], "a long pause saves no more than a second");
    }
}
