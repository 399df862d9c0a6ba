//! The leases a worker holds: when each must be renewed, and whose handler to tell when one is lost.

use onward_core::{Claimed, Fence, LeaseId, Millis, Span};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};

/// The leases a worker holds; clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Leases {
    held: Arc<Mutex<BTreeMap<LeaseId, Held>>>,
    /// Told of every lease that is taken: the one that must be renewed first may be new.
    taken: Arc<Notify>,
}

#[derive(Debug)]
struct Held {
    fence: Fence,
    expires_at: Millis,
    renew_at: Millis,
    renewing: bool,
    lost: watch::Sender<bool>,
}

impl Held {
    fn is_lost(&self) -> bool {
        *self.lost.borrow()
    }
}

/// A lease while its attempt runs and is reported; dropping it ends its renewal.
#[derive(Debug)]
pub(crate) struct HeldLease {
    leases: Leases,
    id: LeaseId,
    lost: watch::Receiver<bool>,
}

impl HeldLease {
    /// Turns true when the lease is lost.
    pub(crate) fn lost(&self) -> &watch::Receiver<bool> {
        &self.lost
    }

    /// Whether the lease is lost.
    pub(crate) fn is_lost(&self) -> bool {
        *self.lost.borrow()
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        self.leases.lock().remove(&self.id);
    }
}

impl Leases {
    /// Takes a lease in; it is renewed from half its time on.
    pub(crate) fn take(&self, claimed: &Claimed, ttl: Span) -> HeldLease {
        let (lost, watching) = watch::channel(false);
        let (id, expires_at) = (claimed.fence.lease, claimed.expires_at);
        let renew_at = expires_at - Span(ttl.0 / 2);
        let held = Held { fence: claimed.fence, expires_at, renew_at, renewing: false, lost };
        self.lock().insert(id, held);
        self.taken.notify_one();
        HeldLease { leases: self.clone(), id, lost: watching }
    }

    /// Waits until a lease is taken.
    pub(crate) async fn taken(&self) {
        self.taken.notified().await;
    }

    /// The leases whose renewal is due, marked as being renewed.
    pub(crate) fn due(&self, now: Millis) -> Vec<Fence> {
        let mut due = Vec::new();
        for held in self.lock().values_mut() {
            if !held.renewing && !held.is_lost() && held.renew_at <= now {
                held.renewing = true;
                due.push(held.fence);
            }
        }
        due
    }

    /// Gives up the leases whose time has passed while their renewal was not answered.
    pub(crate) fn lose_expired(&self, now: Millis) {
        for held in self.lock().values_mut() {
            if held.expires_at <= now {
                held.lost.send_if_modified(|lost| !std::mem::replace(lost, true));
            }
        }
    }

    /// When to look again; nothing while no lease is held.
    pub(crate) fn next(&self) -> Option<Millis> {
        let all = self.lock();
        let alive = all.values().filter(|held| !held.is_lost());
        alive.map(|held| if held.renewing { held.expires_at } else { held.renew_at.min(held.expires_at) }).min()
    }

    /// A lease was renewed.
    pub(crate) fn renewed(&self, id: LeaseId, expires_at: Millis, ttl: Span) {
        if let Some(held) = self.lock().get_mut(&id) {
            held.renewing = false;
            held.expires_at = expires_at;
            held.renew_at = expires_at - Span(ttl.0 / 2);
        }
    }

    /// A renewal could not be carried out; it is tried again at a later time.
    pub(crate) fn try_again(&self, id: LeaseId, at: Millis) {
        if let Some(held) = self.lock().get_mut(&id) {
            held.renewing = false;
            held.renew_at = at;
        }
    }

    /// A lease is lost: its handler is told and it is not renewed any more.
    pub(crate) fn lose(&self, id: LeaseId) {
        if let Some(held) = self.lock().get_mut(&id) {
            held.lost.send_replace(true);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<LeaseId, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
