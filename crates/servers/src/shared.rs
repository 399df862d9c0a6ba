//! The servers that tests share: one of each kind for all that run at the same time, and in it a place of its own for each.

use crate::postgres::Postgres;
use crate::valkey::{Cluster, Kind, Server};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A server for all tests that run at the same time; it ends with the last of them.
type Shared<T> = Mutex<Weak<T>>;

/// A Postgres server; the first who needs it starts it.
///
/// # Panics
/// When it cannot be started.
#[must_use]
pub fn postgres() -> Arc<Postgres> {
    static SHARED: Shared<Postgres> = Mutex::new(Weak::new());
    shared(&SHARED, || Postgres::start(&[]))
}

/// A Valkey server; the first who needs it starts it.
///
/// # Panics
/// When it cannot be started.
#[must_use]
pub fn valkey() -> Arc<Server> {
    static SHARED: Shared<Server> = Mutex::new(Weak::new());
    shared(&SHARED, || Server::start(Kind::Valkey, &[]))
}

/// A cluster of Valkey; the first who needs it starts it.
///
/// # Panics
/// When it cannot be started.
#[must_use]
pub fn valkey_cluster() -> Arc<Cluster> {
    static SHARED: Shared<Cluster> = Mutex::new(Weak::new());
    shared(&SHARED, || Cluster::start(Kind::Valkey, &[]))
}

fn shared<T>(shared: &Shared<T>, start: impl FnOnce() -> io::Result<T>) -> Arc<T> {
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let server = Arc::new(start().unwrap_or_else(|error| panic!("the server does not start: {error}")));
        *shared = Arc::downgrade(&server);
        server
    })
}

/// A name that no other test of this process uses.
#[must_use]
pub fn name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test{}", NEXT.fetch_add(1, Ordering::Relaxed))
}
