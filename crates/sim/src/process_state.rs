//! One process as its clock and its store see it: whether it runs, how wrong its clock is, whether it is the home.

use onward_store::Home;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use tokio::sync::{Notify, watch};

/// Whether a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pulse {
    Runs,
    /// Stopped by the operating system; it goes on later as if nothing had happened.
    Stands,
    /// Gone for good; its successor has a state of its own.
    Dead,
}

/// The state of one process from its start to its crash.
#[derive(Debug)]
pub(crate) struct ProcessState {
    pub(crate) process: usize,
    pulse: Mutex<Pulse>,
    /// Told when the pulse changes. A `watch` would wake those who wait in an order that differs from run to run.
    changed: Notify,
    home: watch::Sender<Home>,
    skew: AtomicI64,
    /// Answers of commits that are on their way back.
    returning: AtomicU64,
}

impl ProcessState {
    pub(crate) fn new(process: usize, skew: i64) -> Self {
        Self {
            process,
            pulse: Mutex::new(Pulse::Runs),
            changed: Notify::new(),
            home: watch::Sender::new(Home::Nowhere),
            skew: AtomicI64::new(skew),
            returning: AtomicU64::new(0),
        }
    }

    /// Waits until the process runs; for ever when it is dead.
    pub(crate) async fn awake(&self) {
        self.until(Pulse::Runs).await;
    }

    /// Waits until the process is dead.
    pub(crate) async fn death(&self) {
        self.until(Pulse::Dead).await;
    }

    async fn until(&self, wanted: Pulse) {
        loop {
            let changed = self.changed.notified();
            if self.pulse() == wanted {
                return;
            }
            changed.await;
        }
    }

    fn pulse(&self) -> Pulse {
        *self.pulse.lock()
    }

    /// The dead stay dead.
    pub(crate) fn set_pulse(&self, pulse: Pulse) {
        if self.pulse() != Pulse::Dead {
            *self.pulse.lock() = pulse;
            self.changed.notify_waiters();
        }
    }

    /// The answer of a commit sets out.
    pub(crate) fn begin_return(&self) {
        self.returning.fetch_add(1, Ordering::Relaxed);
    }

    /// It has arrived.
    pub(crate) fn end_return(&self) {
        self.returning.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether the answer of any commit is on its way.
    pub(crate) fn is_returning(&self) -> bool {
        self.returning.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn skew(&self) -> i64 {
        self.skew.load(Ordering::Relaxed)
    }

    pub(crate) fn set_skew(&self, skew: i64) {
        self.skew.store(skew, Ordering::Relaxed);
    }

    pub(crate) fn home(&self) -> watch::Receiver<Home> {
        self.home.subscribe()
    }

    pub(crate) fn set_home(&self, home: Home) {
        self.home.send_replace(home);
    }
}
