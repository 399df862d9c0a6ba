//! Whether the reference store passes the suite that it is the reference of.

use async_trait::async_trait;
use onward_store::conformance::{Hand, Subject};
use onward_store::memory::Memory;
use onward_store::{Millis, Store};
use std::sync::Arc;

struct InMemory {
    store: Memory,
    hand: Hand,
}

#[async_trait]
impl Subject for InMemory {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.store.handle())
    }

    fn set_clock(&self, now: Millis) -> bool {
        self.hand.set(now);
        true
    }
}

async fn fresh() -> InMemory {
    let hand = Hand::at(1_700_000_000_000);
    InMemory { store: Memory::new(4, hand.clock(), 7), hand }
}

onward_store::conformance_tests!(fresh);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_suite_runs_in_one_go() {
    onward_store::conformance::run(fresh).await;
}
