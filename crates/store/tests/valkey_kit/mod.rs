//! What the tests of the Valkey store share: a store of its own under a fresh prefix, and work that notices losses.

#![allow(dead_code)] // Each test file takes what it needs.

pub(crate) mod load;
pub(crate) mod spread;

use async_trait::async_trait;
use onward_store::conformance::{Hand, Subject};
use onward_store::{Millis, Store, valkey};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A store under a prefix that nobody else uses.
pub(crate) struct Prefix {
    /// The address to open.
    pub(crate) url: String,
    /// Without one, the server's clock counts.
    pub(crate) hand: Option<Hand>,
}

impl Prefix {
    /// A prefix that was not used before on this server, with the fewest partitions the suite needs.
    pub(crate) fn fresh(server: &str) -> Self {
        Self { url: format!("{}&partitions=4", fresh_url(server)), hand: Some(Hand::at(1_700_000_000_000)) }
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
        let store = match &self.hand {
            Some(hand) => valkey::open_with_clock(&self.url, hand.clock()).await,
            None => valkey::open(&self.url).await,
        };
        Arc::new(store.expect("the store opens"))
    }

    fn set_clock(&self, now: Millis) -> bool {
        self.hand.iter().for_each(|hand| hand.set(now));
        self.hand.is_some()
    }
}
