//! How long a call may wait for the server, and when to try again to reach it.
//!
//! This is the one place of the store that knows real time: a server that is away tells nobody when it is back.
#![allow(clippy::disallowed_methods)]

use std::time::Duration;
use tokio::time::Instant;

/// A call that takes longer has met a server that is stopped or cut off; every call here is bounded work.
const CALL: Duration = Duration::from_secs(30);
/// How long connecting may take.
pub(super) const CONNECT: Duration = Duration::from_secs(5);
const RECONNECT_FIRST: Duration = Duration::from_millis(20);
const RECONNECT_MAX: Duration = Duration::from_millis(500);

/// What a call answers, or nothing when it took too long.
pub(super) async fn in_time<F: Future>(call: F) -> Option<F::Output> {
    tokio::time::timeout(CALL, call).await.ok()
}

/// What connecting leads to, or nothing when it took too long.
pub(super) async fn to_connect<F: Future>(connecting: F) -> Option<F::Output> {
    tokio::time::timeout(CONNECT, connecting).await.ok()
}

/// Lets time pass.
pub(super) async fn rest(time: Duration) {
    tokio::time::sleep(time).await;
}

/// When the server may be tried again, so that callers of a server that is away do not hammer it.
#[derive(Debug, Default)]
pub(super) struct Pause {
    until: Option<Instant>,
    next: Duration,
}

impl Pause {
    pub(super) fn is_over(&self) -> bool {
        self.until.is_none_or(|until| until <= Instant::now())
    }

    pub(super) fn failed(&mut self) {
        self.next = (self.next * 2).clamp(RECONNECT_FIRST, RECONNECT_MAX);
        self.until = Some(Instant::now() + self.next);
    }

    pub(super) fn worked(&mut self) {
        *self = Self::default();
    }

    /// Waits this long before the next time.
    pub(super) fn wait(&mut self, time: Duration) {
        self.until = Some(Instant::now() + time);
    }

    /// How long it is still to go.
    pub(super) fn left(&self) -> Duration {
        self.until.map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }
}
