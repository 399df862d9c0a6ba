//! How the reference store compares its records with its indexes.

use super::Snapshot;
use crate::{AuditPage, Entry, Fault, FaultKind, IndexName, IndexPlace, Key, Partition, Result, check};
use std::ops::Bound;

/// What an audit still has to look at: records come first, then index rows, then due times.
enum From {
    Records(Option<Key>),
    Rows(Option<(IndexName, u64, Key)>),
    Due(Option<(u64, Key)>),
}

/// One page; every phase ends with a page of its own.
pub(super) fn page(held: &Snapshot, from: Option<&str>, limit: usize) -> Result<AuditPage> {
    let start = match from {
        None => From::Records(None),
        Some(text) => parse(text).ok_or_else(|| check::foreign_audit_cursor(text))?,
    };
    Ok(match start {
        From::Records(after) => records(held, after, limit),
        From::Rows(after) => {
            let behind = held.entries.range(behind(after)).take(limit);
            let places = behind.map(|((name, rank, key), partition)| {
                let at = format!("entry\n{rank}\n{name}\n{key}");
                (key, *partition, IndexPlace::Entry(Entry { name: name.clone(), rank: *rank }), at)
            });
            rows_page(held, places.collect(), limit, Some("due"))
        }
        From::Due(after) => {
            let behind = held.due.range(behind(after)).take(limit);
            let places = behind
                .map(|((due, key), partition)| (key, *partition, IndexPlace::Due(*due), format!("due\n{due}\n{key}")));
            rows_page(held, places.collect(), limit, None)
        }
    })
}

fn parse(text: &str) -> Option<From> {
    let parts: Vec<&str> = text.split('\n').collect();
    Some(match parts.as_slice() {
        ["record", key] => From::Records(Some(Key::new(*key))),
        ["entry"] => From::Rows(None),
        ["entry", rank, name, key] => From::Rows(Some((IndexName::new(*name), rank.parse().ok()?, Key::new(*key)))),
        ["due"] => From::Due(None),
        ["due", due, key] => From::Due(Some((due.parse().ok()?, Key::new(*key)))),
        _ => return None,
    })
}

/// Everything behind a place.
fn behind<T>(after: Option<T>) -> (Bound<T>, Bound<T>) {
    (after.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded)
}

fn records(held: &Snapshot, after: Option<Key>, limit: usize) -> AuditPage {
    let behind = held.records.range(behind(after));
    let mut page = AuditPage::default();
    for (key, (partition, record)) in behind.take(limit) {
        for place in record.places().filter(|place| !is_listed(held, *partition, key, place)) {
            let (version, kind) = (Some(record.version), FaultKind::Missing);
            page.faults.push(Fault { partition: *partition, key: key.clone(), version, place, kind });
        }
        page.records.push((*partition, record.clone()));
    }
    let last = page.records.last().map(|(_, record)| format!("record\n{}", record.key));
    page.next = last.filter(|_| page.records.len() == limit).or_else(|| Some("entry".to_owned()));
    page
}

fn is_listed(held: &Snapshot, partition: Partition, key: &Key, place: &IndexPlace) -> bool {
    let found = match place {
        IndexPlace::Entry(entry) => held.entries.get(&(entry.name.clone(), entry.rank, key.clone())),
        IndexPlace::Due(due) => held.due.get(&(*due, key.clone())),
    };
    found == Some(&partition)
}

/// Rows that are there, compared with the records they belong to.
fn rows_page(
    held: &Snapshot,
    places: Vec<(&Key, Partition, IndexPlace, String)>,
    limit: usize,
    then: Option<&str>,
) -> AuditPage {
    let mut page = AuditPage { rows: places.len() as u64, ..AuditPage::default() };
    let mut last = None;
    for (key, partition, place, at) in places {
        let record = held.records.get(key);
        // The rows of a record that lives elsewhere are set right there.
        let partition = record.map_or(partition, |(partition, _)| *partition);
        if !record.is_some_and(|(_, record)| record.claims(&place)) {
            let version = record.map(|(_, record)| record.version);
            page.faults.push(Fault { partition, key: key.clone(), version, place, kind: FaultKind::Stray });
        }
        last = Some(at);
    }
    page.next = last.filter(|_| page.rows == limit as u64).or_else(|| then.map(str::to_owned));
    page
}
