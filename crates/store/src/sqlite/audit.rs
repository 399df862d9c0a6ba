//! How the tables of records and of entries are compared, a page at a time, each page in one read transaction.

use super::fault::{corrupt, reading};
use super::query::{due_of, record_of, snapshot};
use super::value::version;
use crate::sql::{DUE, clamp, named, place};
use crate::{AuditPage, Fault, FaultKind, IndexPlace, Key, Partition, Result, Version, check};
use rusqlite::{Connection, OptionalExtension, Row};

const RECORDS: &str =
    "SELECT partition, version, due, entries, body, key FROM records WHERE key > ?1 ORDER BY key LIMIT ?2";
const LISTED: &str = "SELECT partition FROM entries WHERE name = ?1 AND rank = ?2 AND key = ?3";
const ROWS: &str = "SELECT name, rank, key, partition FROM entries WHERE (name, rank, key) > (?1, ?2, ?3) \
    ORDER BY name, rank, key LIMIT ?4";
const CLAIMED: &str = "SELECT partition, version, due, entries FROM records WHERE key = ?1";

/// What an audit still has to look at: records come first, then rows of entries.
enum From<'a> {
    Records(&'a str),
    Rows(&'a str, i64, &'a str),
}

/// One page; the records end with a page of their own.
pub(super) fn page(conn: &Connection, from: Option<&str>, limit: usize) -> Result<AuditPage> {
    let start = match from {
        None => From::Records(""),
        Some(text) => parse(text).ok_or_else(|| check::foreign_audit_cursor(text))?,
    };
    snapshot(conn, || match start {
        From::Records(after) => records(conn, after, limit),
        From::Rows(name, rank, key) => rows(conn, (name, rank, key), limit),
    })
}

fn parse(text: &str) -> Option<From<'_>> {
    let parts: Vec<&str> = text.split('\n').collect();
    Some(match parts.as_slice() {
        ["record", key] => From::Records(key),
        ["entry", name, rank, key] => From::Rows(name, rank.parse().ok()?, key),
        _ => return None,
    })
}

fn records(conn: &Connection, after: &str, limit: usize) -> Result<AuditPage> {
    let mut page = AuditPage::default();
    let mut listed = conn.prepare_cached(LISTED).map_err(reading)?;
    let mut statement = conn.prepare_cached(RECORDS).map_err(reading)?;
    let mut found = statement.query((after, clamp(limit as u64))).map_err(reading)?;
    while let Some(row) = found.next().map_err(reading)? {
        let partition = Partition(row.get(0).map_err(reading)?);
        let key = Key::new(text(row, 5)?);
        let record = record_of(row, partition, &key)?;
        for place in record.places() {
            let (name, rank) = named(&place);
            let there: Option<u16> =
                listed.query_row((name, rank, key.as_str()), |row| row.get(0)).optional().map_err(reading)?;
            if there != Some(partition.0) {
                let (version, kind) = (Some(record.version), FaultKind::Missing);
                page.faults.push(Fault { partition, key: key.clone(), version, place, kind });
            }
        }
        page.records.push((partition, record));
    }
    let last = page.records.last().map(|(_, record)| format!("record\n{}", record.key));
    // Names start behind the empty one, which is that of the due times.
    page.next = last.filter(|_| page.records.len() == limit).or_else(|| Some(format!("entry\n{DUE}\n{}\n", i64::MIN)));
    Ok(page)
}

fn rows(conn: &Connection, after: (&str, i64, &str), limit: usize) -> Result<AuditPage> {
    let mut page = AuditPage::default();
    let mut claimed = conn.prepare_cached(CLAIMED).map_err(reading)?;
    let mut statement = conn.prepare_cached(ROWS).map_err(reading)?;
    let mut found = statement.query((after.0, after.1, after.2, clamp(limit as u64))).map_err(reading)?;
    let mut last = None;
    while let Some(row) = found.next().map_err(reading)? {
        let (name, key) = (text(row, 0)?, Key::new(text(row, 2)?));
        let rank: i64 = row.get(1).map_err(reading)?;
        let place = place(name, rank);
        let mut owner = claimed.query([key.as_str()]).map_err(reading)?;
        let owner = owner.next().map_err(reading)?.map(|owner| owner_of(owner, &place)).transpose()?;
        let (partition, version, claims) = match owner {
            // The rows of a record that lives elsewhere are set right there.
            Some((partition, version, claims)) => (partition, Some(version), claims),
            None => (Partition(row.get(3).map_err(reading)?), None, false),
        };
        page.rows += 1;
        last = Some(format!("entry\n{name}\n{rank}\n{key}"));
        if !claims {
            page.faults.push(Fault { partition, key, version, place, kind: FaultKind::Stray });
        }
    }
    page.next = last.filter(|_| page.rows == limit as u64);
    Ok(page)
}

/// Where the record of a row lives, its version, and whether it claims the row's place.
fn owner_of(row: &Row<'_>, place: &IndexPlace) -> Result<(Partition, Version, bool)> {
    let claims = match place {
        IndexPlace::Due(due) => due_of(row, 2)? == Some(*due),
        IndexPlace::Entry(entry) => {
            let mut lines = super::value::entry_lines(text(row, 3)?);
            lines.any(|line| matches!(line, Ok((rank, name)) if rank == entry.rank && name == entry.name.as_str()))
        }
    };
    Ok((Partition(row.get(0).map_err(reading)?), version(row.get_ref(1).map_err(reading)?)?, claims))
}

fn text<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r str> {
    row.get_ref(column).map_err(reading)?.as_str().map_err(|_| corrupt("a name is not text"))
}
