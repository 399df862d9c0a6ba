//! What a server says about itself, and how durable a commit is there.

use super::address::Host;
use super::net::{Net, shown};
use super::script::alone;
use crate::{Durability, Error, ErrorKind, Health, Result};
use redis::Value;
use std::collections::HashMap;

/// The lines of `INFO`, by name.
pub(super) struct Info(HashMap<String, String>);

impl Info {
    fn parse(text: &str) -> Self {
        let line = |line: &str| line.split_once(':').map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self(text.lines().filter_map(line).collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub(super) fn is(&self, name: &str, value: &str) -> bool {
        self.get(name) == Some(value)
    }

    /// The first part of the version of Redis that the server is compatible with.
    pub(super) fn major(&self) -> u32 {
        self.get("redis_version").and_then(|version| version.split('.').next()?.parse().ok()).unwrap_or(0)
    }
}

/// Asks one server about itself.
pub(super) async fn info(net: &Net, host: &Host) -> Result<Info> {
    let mut command = redis::cmd("INFO");
    command.arg("everything");
    let answer = net.ask(host, &alone(command)).await?;
    match answer.into_iter().next() {
        Some(Value::BulkString(text)) => Ok(Info::parse(&String::from_utf8_lossy(&text))),
        Some(Value::VerbatimString { text, .. }) => Ok(Info::parse(&text)),
        _ => Err(Error::new(ErrorKind::Unavailable, format!("{} does not tell what it is", shown(host))).unwritten()),
    }
}

/// Whether every primary serves, and what a commit survives on the weakest of them.
pub(super) async fn health(net: &Net) -> Result<Health> {
    let hosts = net.primaries();
    let mut weakest: Option<(Durability, String)> = None;
    for host in &hosts {
        let found = info(net, host).await?;
        let one = durability(net, host, &found).await;
        if weakest.as_ref().is_none_or(|weakest| one.0 < weakest.0) {
            weakest = Some(one);
        }
    }
    let (durability, why) = weakest.unwrap_or((Durability::Memory, "nothing is known about it".to_owned()));
    let servers =
        if hosts.len() == 1 { "the server answers".to_owned() } else { format!("{} primaries answer", hosts.len()) };
    Ok(Health { durability, detail: format!("{servers}; {why}") })
}

async fn durability(net: &Net, host: &Host, found: &Info) -> (Durability, String) {
    let (wait, shown) = (net.address().wait, shown(host));
    let replicas: u32 = found.get("connected_slaves").and_then(|count| count.parse().ok()).unwrap_or(0);
    if wait > 0 && replicas >= wait {
        return (
            Durability::Replicated,
            format!("a commit is on {wait} of {replicas} replicas of {shown} when it is answered"),
        );
    }
    if !found.is("aof_enabled", "1") {
        return (
            Durability::Memory,
            format!("{shown} keeps no append-only file: set appendonly yes to survive a crash"),
        );
    }
    // A user without the right to read settings gets the careful answer.
    match appendfsync(net, host).await.as_deref() {
        Some("always") => (Durability::Disk, format!("every commit is synced to the disk of {shown}")),
        Some("no") => (Durability::Lazy, format!("{shown} leaves syncing to its system (appendfsync no)")),
        _ => (Durability::Lazy, format!("{shown} syncs once a second: a power loss takes up to that much")),
    }
}

async fn appendfsync(net: &Net, host: &Host) -> Option<String> {
    let mut command = redis::cmd("CONFIG");
    command.arg("GET").arg("appendfsync");
    let value = match net.ask(host, &alone(command)).await.ok()?.into_iter().next()? {
        Value::Map(pairs) => pairs.into_iter().next()?.1,
        Value::Array(parts) => parts.into_iter().nth(1)?,
        _ => return None,
    };
    match value {
        Value::BulkString(text) => String::from_utf8(text).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_first_part() {
        for (text, major) in [("redis_version:7.2.4\r\nvalkey_version:8.0.1", 7), ("redis_version:6.2.14", 6), ("", 0)]
        {
            assert_eq!(Info::parse(text).major(), major);
        }
    }
}
