//! What the tests of the Valkey store share: a store of its own under a fresh prefix, and work that notices losses.

#![allow(dead_code)] // Each test file takes what it needs.

pub(crate) mod load;
pub(crate) mod spread;

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
    /// A prefix that was not used before on this server, with the fewest partitions the suite needs.
    pub(crate) fn fresh(server: &str) -> Self {
        Self { url: format!("{}&partitions=4", fresh_url(server)) }
    }
}

/// The address of a store that nobody else uses.
pub(crate) fn fresh_url(server: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{server}?prefix=test{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

#[async_trait]
impl Subject for Prefix {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(valkey::open(&self.url).await.expect("the store opens"))
    }
}
