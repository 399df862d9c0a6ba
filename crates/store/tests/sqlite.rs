//! Whether the SQLite store passes the suite.

#![cfg(feature = "sqlite")]

use async_trait::async_trait;
use onward_store::conformance::{Hand, Subject};
use onward_store::sqlite::{self, Options};
use onward_store::{Millis, Store};
use std::sync::Arc;

struct InFile {
    directory: tempfile::TempDir,
    hand: Hand,
}

#[async_trait]
impl Subject for InFile {
    async fn open(&self) -> Arc<dyn Store> {
        let options = Options { partitions: Some(4), clock: self.hand.clock(), ..Options::default() };
        Arc::new(sqlite::open(self.directory.path().join("test.db"), options).await.expect("the store opens"))
    }

    fn set_clock(&self, now: Millis) -> bool {
        self.hand.set(now);
        true
    }
}

async fn fresh() -> InFile {
    InFile { directory: tempfile::tempdir().expect("a directory"), hand: Hand::at(1_700_000_000_000) }
}

onward_store::conformance_tests!(fresh);
