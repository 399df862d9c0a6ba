//! Whether the Valkey store passes the suite on Redis 7.

#![cfg(feature = "valkey")]

mod valkey_kit;

use onward_servers::valkey::{Kind, Server};
use std::sync::OnceLock;
use valkey_kit::Prefix;

async fn fresh() -> Prefix {
    static SERVER: OnceLock<Server> = OnceLock::new();
    let server = SERVER.get_or_init(|| Server::start(Kind::Redis, &[]).expect("a server"));
    Prefix::fresh(&server.url())
}

onward_store::conformance_tests!(fresh);
