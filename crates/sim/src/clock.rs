//! The simulated time: one timeline for the store, and for each process a clock that may be wrong.

use crate::process_state::ProcessState;
use futures_util::future::BoxFuture;
use onward_core::{Millis, Span};
use onward_engine::clock::Clock;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// What the store's clock shows when a run begins.
const BEGIN: u64 = 1_750_000_000_000;

/// The store's time. It stands still while anybody works and jumps to the next sleeper when everybody waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timeline(Instant);

impl Timeline {
    #[allow(clippy::disallowed_methods, reason = "this is the clock that everybody in a run asks")]
    pub(crate) fn begin() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> Millis {
        Millis(BEGIN) + self.elapsed()
    }

    pub(crate) fn elapsed(self) -> Span {
        Span(u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX))
    }
}

/// Lets simulated time pass.
#[allow(clippy::disallowed_methods, reason = "this is the clock that everybody in a run sleeps on")]
pub(crate) async fn sleep(span: Span) {
    tokio::time::sleep(Duration::from_millis(span.0)).await;
}

/// A process's own clock: the timeline with an error, and sleeps that do not end while the process stands still.
#[derive(Debug)]
pub(crate) struct SimClock {
    pub(crate) timeline: Timeline,
    pub(crate) state: Arc<ProcessState>,
}

impl Clock for SimClock {
    fn now(&self) -> Millis {
        Millis(self.timeline.now().0.saturating_add_signed(self.state.skew()))
    }

    fn sleep(&self, span: Span) -> BoxFuture<'static, ()> {
        let state = self.state.clone();
        Box::pin(async move {
            sleep(span).await;
            state.awake().await;
        })
    }
}
