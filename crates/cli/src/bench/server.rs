//! Servers that a run starts for itself, in a temporary directory, and that end with it.

use super::Error;
use onward_servers::postgres::Postgres;
use onward_servers::valkey::{self, Cluster, Kind};

/// The parameter of an address that keeps stores on one Postgres apart.
pub(crate) const SCHEMA: &str = "schema";
/// The parameter of an address that keeps stores on one Valkey apart.
pub(crate) const PREFIX: &str = "prefix";

/// A server started for this run.
#[derive(Debug)]
pub(crate) enum Server {
    Postgres(Postgres),
    Valkey(valkey::Server),
    Cluster(Cluster),
}

impl Server {
    /// Starts the server that a word names; nothing when it names none.
    pub(crate) fn named(word: &str) -> Option<Result<Self, Error>> {
        let started = match word {
            "postgres:" => Postgres::start(&[]).map(Self::Postgres),
            "valkey:" => valkey::Server::start(Kind::Valkey, &[]).map(Self::Valkey),
            "redis:" => valkey::Server::start(Kind::Redis, &[]).map(Self::Valkey),
            "cluster:" => Cluster::start(Kind::Valkey, &[]).map(Self::Cluster),
            _ => return None,
        };
        Some(started.map_err(Error::System))
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Postgres(server) => server.url(),
            Self::Valkey(server) => server.url(),
            Self::Cluster(cluster) => cluster.url(),
        }
    }

    /// The parameter of an address that keeps stores apart.
    pub(crate) fn parameter(&self) -> &'static str {
        match self {
            Self::Postgres(_) => SCHEMA,
            Self::Valkey(_) | Self::Cluster(_) => PREFIX,
        }
    }
}
