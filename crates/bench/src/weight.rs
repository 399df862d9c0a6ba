//! How much room a store takes, as the server or the file says, and what takes it.

use super::Error;
use super::server::{Server, number};
use onward_servers::postgres::Postgres;
use onward_servers::valkey;
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes that a finished execution may take.
const POSTGRES_MAX: f64 = 4.0 * 1024.0;
const VALKEY_MAX: f64 = 2.5 * 1024.0;

/// What a store takes.
#[derive(Debug, Default)]
pub(crate) struct Weight {
    /// Everything, in bytes. In the memory of a server it holds what the server needs for itself, too.
    pub(crate) total: u64,
    /// What it is made of, as far as that can be told.
    pub(crate) parts: BTreeMap<String, u64>,
    /// What a finished execution may take here.
    pub(crate) each_max: Option<f64>,
}

impl Weight {
    /// A file with the log beside it; nothing while there is none.
    pub(crate) fn of_file(path: &Path) -> Self {
        let length = |path: &Path| std::fs::metadata(path).map_or(0, |data| data.len());
        let log = path.with_file_name(format!("{}-wal", path.file_name().unwrap_or_default().display()));
        let parts = BTreeMap::from([("file".to_owned(), length(path)), ("log beside it".to_owned(), length(&log))]);
        Self { total: parts.values().sum(), parts, each_max: None }
    }

    /// One store among those of a server.
    pub(crate) fn on_server(server: &Server, name: &str) -> Result<Self, Error> {
        match server {
            Server::Postgres(server) => tables(server, name),
            Server::Valkey(server) => memory(&[server], name),
            Server::Cluster(cluster) => memory(&primaries(cluster)?, name),
        }
    }
}

/// Tables and indexes with all that belongs to them, as autovacuum has left them.
fn tables(server: &Postgres, schema: &str) -> Result<Weight, Error> {
    let question = format!(
        "SELECT relname, pg_table_size(c.oid), pg_indexes_size(c.oid) FROM pg_class c
         JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = '{schema}' AND relkind = 'r'"
    );
    let mut parts = BTreeMap::new();
    for line in server.sql("postgres", &question)?.lines() {
        let fields: Vec<&str> = line.split('|').collect();
        let [name, table, indexes] = fields[..] else {
            return Err(Error::Broken(format!("the server answered {line:?} instead of sizes")));
        };
        parts.insert(format!("table {name}"), number(table)?);
        parts.insert(format!("indexes of {name}"), number(indexes)?);
    }
    Ok(Weight { total: parts.values().sum(), parts, each_max: Some(POSTGRES_MAX) })
}

/// All memory in use but what waits for replicas, which has a fixed size; and each kind of key of this store.
fn memory(servers: &[&valkey::Server], prefix: &str) -> Result<Weight, Error> {
    let mut weight = Weight { each_max: Some(VALKEY_MAX), ..Weight::default() };
    for server in servers {
        let mut info = server.ask(&["INFO", "memory"])?;
        // What was removed shortly before is freed by a thread of the server, and would count as a part of this.
        while !info.contains("lazyfree_pending_objects:0\r") {
            info = server.ask(&["INFO", "memory"])?;
        }
        let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let used = number(field("used_memory").unwrap_or_default())?;
        weight.total += used - number(field("mem_total_replication_buffers").unwrap_or("0"))?;
        for key in keys(server, prefix)? {
            let usage = server.ask(&["MEMORY", "USAGE", &key, "SAMPLES", "0"])?;
            *weight.parts.entry(kind(&key).to_owned()).or_default() += number(usage.trim_start_matches(':'))?;
        }
    }
    Ok(weight)
}

/// The keys of a store that one server holds.
pub(crate) fn keys(server: &valkey::Server, prefix: &str) -> Result<Vec<String>, Error> {
    let found = server.ask(&["KEYS", &format!("{prefix}:*")])?;
    Ok(found.lines().filter(|key| key.starts_with(prefix)).map(str::to_owned).collect())
}

/// What a key holds, by the letter behind its tag.
fn kind(key: &str) -> &'static str {
    match key.rsplit_once("}:").map(|(_, end)| end.split_at_checked(1)) {
        Some(Some(("r", ""))) => "records",
        Some(Some(("i", ""))) => "places in indexes",
        Some(Some(("f", _))) => "events",
        Some(Some(("l", _))) => "logs",
        _ => "other keys",
    }
}

/// The servers of a cluster that hold what it holds, each part once.
pub(crate) fn primaries(cluster: &valkey::Cluster) -> Result<Vec<&valkey::Server>, Error> {
    let mut found = Vec::new();
    for server in &cluster.servers {
        if server.ask(&["INFO", "replication"])?.contains("role:master") {
            found.push(server);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_apart() {
        let kinds = ["p:{0}:r", "p:{12}:i", "p:{12}:f63", "p:{1}:l:x-1", "p:meta"].map(kind);
        assert_eq!(kinds, ["records", "places in indexes", "events", "logs", "other keys"]);
    }

    #[test]
    fn a_file_weighs_with_its_log() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        assert_eq!(Weight::of_file(&path).total, 0);
        std::fs::write(&path, "four").unwrap();
        std::fs::write(dir.path().join("x.db-wal"), "three").unwrap();
        assert_eq!(Weight::of_file(&path).total, 9);
    }
}
