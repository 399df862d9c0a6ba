//! Whether a database is whole: it opens, SQLite finds no fault, every operation is there entirely or not at all.

use bytes::Bytes;
use onward_store::sqlite::{self, Options};
use onward_store::{Cursor, IndexName, Key, Partition, Partitions, Range, Store};
use std::collections::BTreeSet;
use std::path::Path;

/// How many callers the child has; operation `n` is caller `n % CALLERS`'s.
const CALLERS: u64 = 8;
const ALL: usize = 100_000;

/// Says what is wrong, if anything is.
pub(crate) async fn check(path: &Path, acknowledged: &BTreeSet<u64>) -> Result<(), String> {
    let store = sqlite::open(path, Options::default()).await.map_err(|error| format!("does not open: {error}"))?;
    let result = contents(&store, acknowledged).await;
    store.close().await.map_err(|error| format!("does not close: {error}"))?;
    result?;
    let conn = rusqlite::Connection::open(path).map_err(|error| error.to_string())?;
    let verdict: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).map_err(|e| e.to_string())?;
    if verdict == "ok" { Ok(()) } else { Err(format!("integrity check: {verdict}")) }
}

async fn contents(store: &dyn Store, acknowledged: &BTreeSet<u64>) -> Result<(), String> {
    let said = |error: onward_store::Error| error.to_string();
    let page =
        store.scan(&IndexName::new("operations"), &Partitions::All, Range::default(), ALL).await.map_err(said)?;
    let present: BTreeSet<u64> = page.items.iter().map(|found| found.rank).collect();
    let lost: Vec<&u64> = acknowledged.difference(&present).take(5).collect();
    if !lost.is_empty() {
        return Err(format!("{} acknowledged, {} present, lost {lost:?}...", acknowledged.len(), present.len()));
    }
    let due = store.due(&Partitions::All, Range::default(), ALL).await.map_err(said)?;
    equal("due times", &present, due.items.iter().map(|found| found.rank))?;
    let feed = store.read_feed(&Cursor::start(), ALL).await.map_err(said)?;
    equal("events", &present, feed.events.iter().map(|event| number(&event.body)))?;
    if feed.gap {
        return Err("the feed has a gap".to_owned());
    }
    for caller in 0..CALLERS {
        let own: Vec<u64> = present.iter().copied().filter(|operation| operation % CALLERS == caller).collect();
        sequence(store, caller, &own).await?;
    }
    Ok(())
}

/// One caller's operations are a beginning of its sequence, and its record and log show the last of them.
async fn sequence(store: &dyn Store, caller: u64, own: &[u64]) -> Result<(), String> {
    let said = |error: onward_store::Error| error.to_string();
    let partition = Partition(u16::try_from(caller).expect("small"));
    if own.iter().enumerate().any(|(at, operation)| *operation != at as u64 * CALLERS + caller) {
        return Err(format!("caller {caller} has a hole in its operations"));
    }
    let keys: Vec<Key> = own.iter().map(|operation| Key::new(format!("operation/{operation:06}"))).collect();
    for (record, operation) in store.load(partition, &keys).await.map_err(said)?.into_iter().zip(own) {
        let body = record.map(|record| record.body).unwrap_or_default();
        if !body.starts_with(format!(r#"{{"operation":{operation},"#).as_bytes()) {
            return Err(format!("operation {operation} is listed without its record"));
        }
    }
    let name = Key::new(format!("caller/{caller}"));
    let record = store.load(partition, std::slice::from_ref(&name)).await.map_err(said)?.remove(0);
    let last = record.map(|record| number(&record.body));
    if last != own.last().copied() {
        return Err(format!("caller {caller} stands at {last:?} instead of {:?}", own.last()));
    }
    let log = store.read_log(partition, &name, 0, ALL).await.map_err(said)?;
    equal("log entries", &own.iter().map(|operation| operation + 1).collect(), log.iter().map(|entry| entry.seq))
}

fn equal(what: &str, present: &BTreeSet<u64>, found: impl Iterator<Item = u64>) -> Result<(), String> {
    let mut found: Vec<u64> = found.collect();
    found.sort_unstable();
    if found.iter().eq(present.iter()) {
        return Ok(());
    }
    Err(format!("{} {what} for {} operations", found.len(), present.len()))
}

fn number(body: &Bytes) -> u64 {
    std::str::from_utf8(body).ok().and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)
}
