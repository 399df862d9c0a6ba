//! Whether the Postgres store passes the suite.

#![cfg(feature = "postgres")]

#[path = "support/postgres.rs"]
mod shared;

use async_trait::async_trait;
use onward_servers::postgres::Postgres;
use onward_store::Store;
use onward_store::conformance::Subject;
use onward_store::postgres::{self, Options};
use std::sync::Arc;

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
    InSchema { server: shared::server(), schema: shared::schema() }
}

onward_store::conformance_tests!(fresh);
