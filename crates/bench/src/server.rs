//! Servers that a run starts for itself, in a temporary directory, and that end with it.

use super::{Error, weight};
use onward_servers::postgres::Postgres;
use onward_servers::valkey::{self, Cluster, Kind};

/// Memory for what is written in a few seconds, as an operator gives to a server with much to do; the default is for a machine that has other work.
const ROOMY: &str = "shared_buffers=512MB";
/// Files of its log that Postgres keeps to write them again, and as many as it has then.
const LOG_KEPT: &str = "min_wal_size=1GB";
const FILL_LOG: &str = "SELECT count(pg_switch_wal()) FROM generate_series(1, 64) \
    WHERE pg_logical_emit_message(false, 'onward', '') IS NOT NULL";
/// Queries in a second that an idle engine may ask Postgres.
const POSTGRES_IDLE_MAX: f64 = 3.0;
/// Operations in a second that it may ask Valkey.
const VALKEY_IDLE_MAX: f64 = 10.0;
/// The same for a cluster, whose six servers also talk to each other.
const CLUSTER_IDLE_MAX: f64 = 30.0;

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
            "postgres:" => seasoned().map(Self::Postgres),
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

    /// What the server itself says it was asked since it started, and how often in a second an idle engine may ask.
    pub(crate) fn operations(&self) -> Result<(u64, f64), Error> {
        match self {
            Self::Postgres(server) => {
                // Every call of ours is a transaction of its own, and so is this question.
                let question = "SELECT sum(xact_commit + xact_rollback)::bigint FROM pg_stat_database";
                Ok((number(&server.sql("postgres", question)?)?, POSTGRES_IDLE_MAX))
            }
            Self::Valkey(server) => Ok((commands(server)?, VALKEY_IDLE_MAX)),
            Self::Cluster(cluster) => {
                let all: Result<Vec<u64>, Error> = cluster.servers.iter().map(commands).collect();
                Ok((all?.iter().sum(), CLUSTER_IDLE_MAX))
            }
        }
    }

    /// Removes a store that nobody has open, so that a long run fills neither disk nor memory.
    pub(crate) fn remove(&self, name: &str) -> Result<(), Error> {
        match self {
            Self::Postgres(server) => {
                // It says what went with the schema as if that were something to worry about.
                let drop = format!("SET client_min_messages = warning; DROP SCHEMA IF EXISTS {name} CASCADE");
                server.sql("postgres", &drop)?;
            }
            Self::Valkey(server) => unlink(server, name)?,
            Self::Cluster(cluster) => {
                for server in weight::primaries(cluster)? {
                    unlink(server, name)?;
                }
            }
        }
        Ok(())
    }

    /// Lets it remove what is dead every second.
    pub(crate) fn hasten_upkeep(&self) -> Result<(), Error> {
        if let Self::Postgres(server) = self {
            server.sql("postgres", "ALTER SYSTEM SET autovacuum_naptime = '1s'")?;
            server.sql("postgres", "SELECT pg_reload_conf()")?;
        }
        Ok(())
    }
}

/// A Postgres as it is after some hours: a new one has to make each file of its log before it writes it the first time, on
/// the time of whoever commits just then, while one that has run for a while writes the same files again.
fn seasoned() -> std::io::Result<Postgres> {
    let server = Postgres::start(&[ROOMY, LOG_KEPT])?;
    server.sql("postgres", FILL_LOG)?;
    server.sql("postgres", "CHECKPOINT")?;
    Ok(server)
}

fn commands(server: &valkey::Server) -> Result<u64, Error> {
    let info = server.ask(&["info", "stats"])?;
    let line = info.lines().find_map(|line| line.strip_prefix("total_commands_processed:"));
    number(line.unwrap_or_default())
}

fn unlink(server: &valkey::Server, prefix: &str) -> Result<(), Error> {
    for key in weight::keys(server, prefix)? {
        server.ask(&["UNLINK", &key])?;
    }
    Ok(())
}

/// A number that a server answered.
pub(crate) fn number(text: &str) -> Result<u64, Error> {
    text.trim().parse().map_err(|_| Error::Broken(format!("a server answered {text:?} instead of a number")))
}
