//! The times of a history: one clock for all processes of the machine, which no jump of the wall clock moves.

use onward_core::Span;
use onward_engine::clock::{Clock, SystemClock};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Milliseconds of the machine's monotonic clock.
pub(crate) fn now() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000
}

/// Lets time pass in a process that works.
pub(crate) async fn sleep(millis: u64) {
    SystemClock.sleep(Span(millis)).await;
}

/// Lets time pass in the driver.
pub(crate) fn rest(millis: u64) {
    #[allow(
        clippy::disallowed_methods,
        reason = "faults have a rhythm, and nobody tells the driver when servers are ready"
    )]
    std::thread::sleep(Duration::from_millis(millis));
}
