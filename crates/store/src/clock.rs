//! Which clock a store judges windows by when nobody injects another.

use crate::{Clock, Millis};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The machine's wall clock.
#[must_use]
pub fn system_clock() -> Clock {
    Arc::new(system_now)
}

#[allow(clippy::disallowed_methods)] // A store that is given no clock has to read the machine's somewhere: here.
fn system_now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}
