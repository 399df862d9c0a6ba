//! One process as its clock and its store see it: whether it runs, how wrong its clock is, whether it is the home.

use onward_store::Home;
use std::sync::atomic::{AtomicI64, Ordering};
use tokio::sync::watch;

/// Whether a process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pulse {
    Runs,
    /// Stopped by the operating system; it goes on later as if nothing had happened.
    Stands,
    /// Gone for good; its successor has a line of its own.
    Dead,
}

/// One life of one process.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) process: usize,
    pulse: watch::Sender<Pulse>,
    home: watch::Sender<Home>,
    skew: AtomicI64,
}

impl Line {
    pub(crate) fn new(process: usize, skew: i64) -> Self {
        Self {
            process,
            pulse: watch::Sender::new(Pulse::Runs),
            home: watch::Sender::new(Home::Nowhere),
            skew: AtomicI64::new(skew),
        }
    }

    /// Waits until the process runs; for ever when it is dead.
    pub(crate) async fn awake(&self) {
        if *self.pulse.borrow() != Pulse::Runs {
            // The sender lives in `self`, so this ends only when the process runs.
            let _runs = self.pulse.subscribe().wait_for(|pulse| *pulse == Pulse::Runs).await.is_ok();
        }
    }

    /// Waits until the process is dead.
    pub(crate) async fn death(&self) {
        let _died = self.pulse.subscribe().wait_for(|pulse| *pulse == Pulse::Dead).await.is_ok();
    }

    pub(crate) fn pulse(&self) -> Pulse {
        *self.pulse.borrow()
    }

    /// The dead stay dead.
    pub(crate) fn set_pulse(&self, pulse: Pulse) {
        if self.pulse() != Pulse::Dead {
            self.pulse.send_replace(pulse);
        }
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
