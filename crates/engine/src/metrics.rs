//! Counters of what the engine has done since it started; they only grow.

use std::sync::atomic::{AtomicU64, Ordering};

/// Declares the counters once: as atomics inside the engine and as plain numbers for readers.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        #[derive(Debug, Default)]
        pub(crate) struct Metrics { $(pub(crate) $name: Counter,)* }

        /// The values of all counters at one moment.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct MetricsSnapshot { $($(#[$doc])* pub $name: u64,)* }

        impl Metrics {
            pub(crate) fn snapshot(&self) -> MetricsSnapshot {
                MetricsSnapshot { $($name: self.$name.get(),)* }
            }
        }

        impl MetricsSnapshot {
            /// Returns every counter with its name.
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
    /// Commits whose outcome was unknown at first.
    unknown_outcomes,
    /// Ready work given to a parked worker in the commit that made it ready.
    hand_offs,
    /// Leases given back because no worker received them.
    returned,
    /// Calls refused because their partition's queue was full.
    overloaded,
    /// Leases that expired; their executions became ready or failed.
    lease_expiry,
    /// Delayed and retried executions that became due.
    delayed_promoter,
    /// Attempts that exceeded their timeout.
    attempt_timeout,
    /// Executions whose deadline passed.
    execution_deadline,
    /// Waits and suspensions that timed out.
    suspension_timeout,
    /// Signals refused because their execution kept as many for later waits as it may.
    pending_wp_expiry,
    /// Running executions that did not stop within their grace period.
    stop_grace,
    /// Steps that removed ended executions after their retention.
    retention_trimmer,
    /// Steps that removed old events.
    events_trimmed,
    /// Expired idempotency keys that were removed.
    idempotency_expiry,
    /// Records of freed unique keys that were removed.
    unique_expiry,
    /// Due commands that failed.
    due_errors,
    /// Messages delivered.
    messages_delivered,
    /// Pauses of a pair of partitions whose next message a newer version wrote.
    messages_resting,
    /// Messages set aside as undeliverable.
    messages_dead,
    /// Rules that panicked.
    rule_panics,
    /// Background jobs restarted after a panic.
    job_restarts,
    /// Sweeps of the store for lost hints.
    sweeps,
}

/// A counter that only grows.
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
