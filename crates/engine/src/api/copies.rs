//! Calls that wait until every partition has a change of a lane: told by the commit that clears the last debt.

use onward_core::record::LaneMaster;
use onward_core::{Lane, Namespace};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;

/// Waiting calls; few change lanes at the same time.
#[derive(Debug, Default)]
pub(crate) struct CopyWaiters(Mutex<Vec<Arc<Waiting>>>);

/// What one call was told of its lane.
#[derive(Debug)]
struct Waiting {
    namespace: Namespace,
    lane: Lane,
    /// The newest revision that this process committed, and the newest that every partition has; zero if none.
    seen: AtomicU64,
    copied: AtomicU64,
    told: Notify,
}

impl CopyWaiters {
    /// Tells the calls what a commit of this process made of a lane.
    pub(crate) fn learn(&self, master: &LaneMaster) {
        for waiting in self.0.lock().iter() {
            if waiting.lane == master.lane && waiting.namespace == master.namespace {
                waiting.seen.fetch_max(master.revision, Ordering::Relaxed);
                if master.owed.is_empty() {
                    waiting.copied.fetch_max(master.revision, Ordering::Relaxed);
                    waiting.told.notify_one();
                }
            }
        }
    }

    /// Begins to wait. A call does so before it changes the lane.
    pub(crate) fn enter(&self, namespace: &Namespace, lane: &Lane) -> CopyWaiter<'_> {
        let waiting = Arc::new(Waiting {
            namespace: namespace.clone(),
            lane: lane.clone(),
            seen: AtomicU64::new(0),
            copied: AtomicU64::new(0),
            told: Notify::new(),
        });
        self.0.lock().push(waiting.clone());
        CopyWaiter { waiters: self, waiting }
    }
}

/// One waiting call; dropping it removes it from the waiters.
#[derive(Debug)]
pub(crate) struct CopyWaiter<'a> {
    waiters: &'a CopyWaiters,
    waiting: Arc<Waiting>,
}

impl CopyWaiter<'_> {
    /// Whether this process committed a revision, or a later one, since the call began.
    pub(crate) fn has_seen(&self, revision: u64) -> bool {
        self.waiting.seen.load(Ordering::Relaxed) >= revision
    }

    /// Waits until every partition has a revision, or a later one.
    pub(crate) async fn everywhere(&self, revision: u64) {
        while self.waiting.copied.load(Ordering::Relaxed) < revision {
            self.waiting.told.notified().await;
        }
    }
}

impl Drop for CopyWaiter<'_> {
    fn drop(&mut self) {
        self.waiters.0.lock().retain(|waiting| !Arc::ptr_eq(waiting, &self.waiting));
    }
}
