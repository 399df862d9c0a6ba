//! What the engine has done since it started, as counters that only grow.

use std::sync::atomic::{AtomicU64, Ordering};

/// Declares the counters once: as atomics inside the engine and as plain numbers for readers.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        #[derive(Debug, Default)]
        pub(crate) struct Metrics { $(pub(crate) $name: Counter,)* }

        /// What the engine has done since it started.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct MetricsSnapshot { $($(#[$doc])* pub $name: u64,)* }

        impl Metrics {
            pub(crate) fn snapshot(&self) -> MetricsSnapshot {
                MetricsSnapshot { $($name: self.$name.get(),)* }
            }
        }

        impl MetricsSnapshot {
            /// Every counter with its name.
            #[must_use]
            pub fn all(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)*]
            }
        }
    };
}

counters! {
    /// Commands answered, refusals included.
    commands,
    /// Batches committed.
    commits,
    /// Batches refused because a record had changed.
    conflicts,
    /// Batches refused because the store's clock was outside their window.
    outside,
    /// Commits whose outcome was not known at first.
    unknown_outcomes,
    /// Ready work given to a parked worker in the commit that made it ready.
    hand_offs,
    /// Leases given back because nobody received them.
    returned,
    /// Calls refused because too many were waiting.
    overloaded,
    /// Leases that ran out and whose executions were made ready or failed.
    lease_expiry,
    /// Delayed and retried executions whose time came.
    delayed_promoter,
    /// Attempts that ran for too long.
    attempt_timeout,
    /// Executions whose deadline passed.
    execution_deadline,
    /// Running executions that were asked to stop and did not in time.
    stop_grace,
    /// Steps in which ended executions were removed after their retention.
    retention_trimmer,
    /// Steps in which old events were removed.
    events_trimmed,
    /// Idempotency keys forgotten.
    idempotency_expiry,
    /// Records of freed unique keys that were removed.
    unique_expiry,
    /// Due commands that failed.
    due_errors,
    /// Messages delivered.
    messages_delivered,
    /// Messages set aside.
    messages_dead,
    /// Rules that panicked.
    rule_panics,
    /// Background jobs that were started again after a panic.
    job_restarts,
    /// Sweeps that looked at the store.
    sweeps,
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
