//! The leases a worker holds: when each must be renewed, and whose handler to tell when one is lost.

use onward_core::record::StopRequest;
use onward_core::{Claimed, Fence, LeaseId, Millis, Renewed, Span};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{Notify, watch};

/// The leases a worker holds; clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leases {
    tracked: Arc<Mutex<BTreeMap<LeaseId, TrackedLease>>>,
    /// Notified of every lease that is taken: the one that must be renewed first may be new.
    taken: Arc<Notify>,
}

/// When a lease must be renewed, and how its handler is told that it is lost.
#[derive(Debug)]
struct TrackedLease {
    fence: Fence,
    expires_at: Millis,
    renew_at: Millis,
    renewing: bool,
    sign: watch::Sender<Sign>,
}

/// What a handler is told about its lease.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sign {
    /// The lease is lost.
    pub(crate) lost: bool,
    /// Somebody wants the attempt to stop by itself.
    pub(crate) stop: Option<StopRequest>,
}

impl TrackedLease {
    fn is_lost(&self) -> bool {
        self.sign.borrow().lost
    }

    fn lose(&self) {
        self.sign.send_if_modified(|sign| !std::mem::replace(&mut sign.lost, true));
    }
}

/// A lease while its attempt runs and is reported; dropping it ends its renewal.
#[derive(Debug)]
pub(crate) struct HeldLease {
    leases: Leases,
    id: LeaseId,
    sign: watch::Receiver<Sign>,
}

impl HeldLease {
    /// What its handler is told.
    pub(crate) fn signs(&self) -> watch::Receiver<Sign> {
        self.sign.clone()
    }

    /// Whether the lease is lost.
    pub(crate) fn is_lost(&self) -> bool {
        self.sign.borrow().lost
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.leases.tracked.lock().remove(&self.id);
    }
}

impl Leases {
    /// Takes a lease in; it is renewed from half its time on.
    pub(crate) fn take(&self, claimed: &Claimed, ttl: Span) -> HeldLease {
        let (sign, watching) = watch::channel(Sign::default());
        let (id, expires_at) = (claimed.fence.lease, claimed.expires_at);
        let renew_at = expires_at - Span(ttl.0 / 2);
        let lease = TrackedLease { fence: claimed.fence, expires_at, renew_at, renewing: false, sign };
        self.tracked.lock().insert(id, lease);
        self.taken.notify_one();
        HeldLease { leases: self.clone(), id, sign: watching }
    }

    /// Waits until a lease is taken.
    pub(crate) async fn taken(&self) {
        self.taken.notified().await;
    }

    /// The leases whose renewal is due, marked as being renewed.
    pub(crate) fn due(&self, now: Millis) -> Vec<Fence> {
        let mut due = Vec::new();
        for lease in self.tracked.lock().values_mut() {
            if !lease.renewing && !lease.is_lost() && lease.renew_at <= now {
                lease.renewing = true;
                due.push(lease.fence);
            }
        }
        due
    }

    /// Gives up the leases whose time has passed while their renewal was not answered.
    pub(crate) fn lose_expired(&self, now: Millis) {
        for lease in self.tracked.lock().values_mut() {
            if lease.expires_at <= now {
                lease.lose();
            }
        }
    }

    /// When to look again; nothing while no lease is held.
    pub(crate) fn next(&self) -> Option<Millis> {
        let all = self.tracked.lock();
        let alive = all.values().filter(|lease| !lease.is_lost());
        alive.map(|lease| if lease.renewing { lease.expires_at } else { lease.renew_at.min(lease.expires_at) }).min()
    }

    /// A lease was renewed.
    pub(crate) fn renewed(&self, id: LeaseId, renewed: Renewed, ttl: Span) {
        if let Some(lease) = self.tracked.lock().get_mut(&id) {
            lease.renewing = false;
            lease.expires_at = renewed.expires_at;
            lease.renew_at = renewed.expires_at - Span(ttl.0 / 2);
            lease.sign.send_if_modified(|sign| {
                let news = sign.stop != renewed.stop;
                sign.stop = renewed.stop;
                news
            });
        }
    }

    /// A renewal could not be carried out; it is tried again at a later time.
    pub(crate) fn try_again(&self, id: LeaseId, at: Millis) {
        if let Some(lease) = self.tracked.lock().get_mut(&id) {
            lease.renewing = false;
            lease.renew_at = at;
        }
    }

    /// A lease is lost: its handler is told and it is not renewed any more.
    pub(crate) fn lose(&self, id: LeaseId) {
        if let Some(lease) = self.tracked.lock().get_mut(&id) {
            lease.lose();
        }
    }
}
