//! A minimum duration for waits that end with nothing, so that repeating them at once does not flood the server.

use onward_core::{Millis, Span};
use onward_engine::clock::{Clock, SystemClock};

/// The minimum duration of a wait that ends with nothing.
const MINIMUM: Span = Span(50);

/// Pads a wait that ended with nothing to [`MINIMUM`]. Callers repeat such a wait at once, and a proxy before the server may
/// answer at once too.
#[derive(Debug)]
pub(super) struct MinimumWait {
    until: Millis,
}

impl MinimumWait {
    /// Starts a wait. It is measured by the machine's clock, like everything that depends on the network.
    pub(super) fn start(wait: Span) -> Self {
        Self { until: SystemClock.now() + wait.min(MINIMUM) }
    }

    /// Waits for what is left of the minimum.
    pub(super) async fn elapsed(self) {
        let left = self.until - SystemClock.now();
        if left > Span(0) {
            SystemClock.sleep(left).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_wait_for_nothing_takes_a_moment_and_no_wait_takes_none() {
        let began = SystemClock.now();
        MinimumWait::start(Span::hours(1)).elapsed().await;
        assert!(SystemClock.now() - began >= MINIMUM);
        let none = MinimumWait::start(Span(0));
        assert!(none.until <= SystemClock.now());
    }
}
