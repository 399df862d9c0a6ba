//! Whether the Postgres store passes the suite.

#![cfg(feature = "postgres")]

use async_trait::async_trait;
use onward_servers::postgres::Postgres;
use onward_store::Store;
use onward_store::conformance::Subject;
use onward_store::postgres::{self, Options};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// One server for all tests that run at the same time; it ends with the last of them.
fn server() -> Arc<Postgres> {
    static SHARED: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().expect("no test panics while it starts a server");
    shared.upgrade().unwrap_or_else(|| {
        let server = Arc::new(Postgres::start(&[]).expect("Postgres starts"));
        *shared = Arc::downgrade(&server);
        server
    })
}

struct InSchema {
    server: Arc<Postgres>,
    schema: String,
}

#[async_trait]
impl Subject for InSchema {
    async fn open(&self) -> Arc<dyn Store> {
        let url = format!("{}?schema={}&partitions=4", self.server.url(), self.schema);
        Arc::new(postgres::open(&url, Options::default()).await.expect("the store opens"))
    }
}

async fn fresh() -> InSchema {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let schema = format!("suite_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    InSchema { server: server(), schema }
}

onward_store::conformance_tests!(fresh);
