//! Whether the Postgres store passes the suite.

#![cfg(feature = "postgres")]

#[path = "support/postgres.rs"]
mod shared;

use async_trait::async_trait;
use onward_servers::postgres::Postgres;
use onward_store::conformance::{Hand, Subject, window};
use onward_store::postgres::{self, Options};
use onward_store::{Batch, Clock, Millis, Outcome, Partition, Store, Version, system_clock};
use std::sync::Arc;

struct InSchema {
    server: Arc<Postgres>,
    schema: String,
    /// Without one, the server's clock counts.
    hand: Option<Hand>,
}

#[async_trait]
impl Subject for InSchema {
    async fn open(&self) -> Arc<dyn Store> {
        let url = format!("{}?schema={}&partitions=4", self.server.url(), self.schema);
        let clock: Option<Clock> = self.hand.as_ref().map(Hand::clock);
        Arc::new(postgres::open(&url, Options { clock, ..Options::default() }).await.expect("the store opens"))
    }

    fn set_clock(&self, now: Millis) -> bool {
        self.hand.iter().for_each(|hand| hand.set(now));
        self.hand.is_some()
    }
}

async fn fresh() -> InSchema {
    InSchema { server: shared::server(), schema: shared::schema(), hand: Some(Hand::at(1_700_000_000_000)) }
}

onward_store::conformance_tests!(fresh);

#[tokio::test(flavor = "multi_thread")]
async fn the_servers_own_clock_counts_unless_a_test_holds_one() {
    let subject = InSchema { hand: None, ..fresh().await };
    window::outside_is_judged_by_the_stores_clock(&subject).await;
    let before = system_clock()();
    let outcomes = subject.open().await.commit(vec![Batch::new(Partition(0), Version(1))]).await;
    let Ok([Outcome::Committed { now }]) = outcomes.as_deref() else { panic!("{outcomes:?}") };
    assert!((before..=system_clock()()).contains(now), "the server runs on this machine");
}
