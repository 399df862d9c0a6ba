//! Numbers what arrives at this process, so that it is served in that order.

use onward_core::{Arrival, Millis};
use parking_lot::Mutex;

/// The newest arrival.
#[derive(Debug)]
pub(crate) struct Arrivals(Mutex<Arrival>);

impl Arrivals {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Arrival::at(Millis(0), 0)))
    }

    /// The arrival of what comes now, behind all before it.
    pub(crate) fn next(&self, now: Millis) -> Arrival {
        let mut newest = self.0.lock();
        *newest = newest.next(now);
        *newest
    }
}
