//! How soon a wait is repeated that ended with nothing.

use onward_core::{Millis, Span};
use onward_engine::clock::{Clock, SystemClock};

/// How long a wait takes at least that ends with nothing.
const WAIT_LEAST: Span = Span(50);

/// Sees to it that a wait which ended with nothing took a moment. Whoever waits asks again at once, and something between
/// here and the server may answer at once too.
#[derive(Debug)]
pub(super) struct Pace {
    until: Millis,
}

impl Pace {
    /// A wait begins. It is measured by the machine's clock, as all that a network does.
    pub(super) fn start(wait: Span) -> Self {
        Self { until: SystemClock.now() + wait.min(WAIT_LEAST) }
    }

    /// It ended, and nothing came.
    pub(super) async fn nothing_came(self) {
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
        Pace::start(Span::hours(1)).nothing_came().await;
        assert!(SystemClock.now() - began >= WAIT_LEAST);
        let none = Pace::start(Span(0));
        assert!(none.until <= SystemClock.now());
    }
}
