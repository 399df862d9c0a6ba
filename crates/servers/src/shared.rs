//! The servers that tests share: one of each kind for all that run at the same time, and in it a place of its own for each.

use crate::postgres::Postgres;
use crate::valkey::{Cluster, Kind, Server};
use parking_lot::Mutex;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

/// A server that is shared by all tests that run at the same time; it ends with the last of them.
type SharedServer<T> = Mutex<Weak<T>>;

/// A Postgres server; the first who needs it starts it.
///
/// # Panics
/// When it cannot be started.
#[must_use]
pub fn postgres() -> Arc<Postgres> {
    static SHARED: SharedServer<Postgres> = Mutex::new(Weak::new());
    running(&SHARED, || Postgres::start(&[]))
}

/// A Valkey server; the first who needs it starts it.
///
/// # Panics
/// When it cannot be started.
#[must_use]
pub fn valkey() -> Arc<Server> {
    static SHARED: SharedServer<Server> = Mutex::new(Weak::new());
    running(&SHARED, || Server::start(Kind::Valkey, &[]))
}

/// A cluster of Valkey; the first who needs it starts it.
///
/// # Panics
/// When it cannot be started.
#[must_use]
pub fn valkey_cluster() -> Arc<Cluster> {
    static SHARED: SharedServer<Cluster> = Mutex::new(Weak::new());
    running(&SHARED, || Cluster::start(Kind::Valkey, &[]))
}

/// The shared server, which is started unless it runs already.
fn running<T>(server: &SharedServer<T>, start: impl FnOnce() -> io::Result<T>) -> Arc<T> {
    let mut running = server.lock();
    running.upgrade().unwrap_or_else(|| {
        let server = Arc::new(start().unwrap_or_else(|error| panic!("the server does not start: {error}")));
        *running = Arc::downgrade(&server);
        server
    })
}

/// A name that no other test of this process uses.
#[must_use]
pub fn name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test{}", NEXT.fetch_add(1, Ordering::Relaxed))
}
