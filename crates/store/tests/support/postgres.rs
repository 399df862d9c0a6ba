//! One Postgres server for all tests of a program, and a schema of its own for each.

use onward_servers::postgres::Postgres;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};

/// One server for all tests that run at the same time; it ends with the last of them.
pub(crate) fn server() -> Arc<Postgres> {
    static SHARED: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock();
    shared.upgrade().unwrap_or_else(|| {
        let server = Arc::new(Postgres::start(&[]).expect("Postgres starts"));
        *shared = Arc::downgrade(&server);
        server
    })
}

/// The name of a schema that nobody uses yet.
pub(crate) fn schema() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}
