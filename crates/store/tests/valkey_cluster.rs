//! Whether the Valkey store passes the suite on a cluster of three primaries.

#![cfg(feature = "valkey")]

mod valkey_kit;

use onward_servers::valkey::{Cluster, Kind};
use std::sync::OnceLock;
use valkey_kit::Prefix;

async fn fresh() -> Prefix {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    let cluster = CLUSTER.get_or_init(|| Cluster::start(Kind::Valkey, &[]).expect("a cluster"));
    Prefix::fresh(&cluster.url())
}

onward_store::conformance_tests!(fresh);
