//! The servers that scenarios run on: one of each kind for all of them, and in it a place of its own for each.

use onward_servers::postgres::Postgres;
use onward_servers::valkey::{Cluster, Kind, Server};
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A server for all scenarios that run at the same time; it ends with the last of them.
type Shared<T> = Mutex<Weak<T>>;

pub(crate) fn postgres() -> Arc<Postgres> {
    static SHARED: Shared<Postgres> = Mutex::new(Weak::new());
    shared(&SHARED, || Postgres::start(&[]))
}

pub(crate) fn valkey() -> Arc<Server> {
    static SHARED: Shared<Server> = Mutex::new(Weak::new());
    shared(&SHARED, || Server::start(Kind::Valkey, &[]))
}

pub(crate) fn valkey_cluster() -> Arc<Cluster> {
    static SHARED: Shared<Cluster> = Mutex::new(Weak::new());
    shared(&SHARED, || Cluster::start(Kind::Valkey, &[]))
}

fn shared<T>(shared: &Shared<T>, start: impl FnOnce() -> io::Result<T>) -> Arc<T> {
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let server = Arc::new(start().expect("the server starts"));
        *shared = Arc::downgrade(&server);
        server
    })
}

/// A name that no other scenario uses.
pub(crate) fn name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("scenario{}", NEXT.fetch_add(1, Ordering::Relaxed))
}
