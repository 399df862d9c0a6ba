//! What the tests of the Valkey store share: a store of its own under a fresh prefix.

use async_trait::async_trait;
use onward_store::conformance::Subject;
use onward_store::{Store, valkey};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A store under a prefix that nobody else uses.
pub(crate) struct Prefix {
    /// The address to open.
    pub(crate) url: String,
}

impl Prefix {
    /// A prefix that was not used before on this server.
    pub(crate) fn fresh(server: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { url: format!("{server}?prefix=test{number}&partitions=4") }
    }
}

#[async_trait]
impl Subject for Prefix {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(valkey::open(&self.url).await.expect("the store opens"))
    }
}
