//! How the tables of records and of entries are compared, a page at a time, each page by one statement.

use super::readers::Readers;
use super::statement::Ask;
use super::value::{column, partition, place_of_line, record};
use crate::sql::{DUE, clamp, place};
use crate::{AuditPage, Fault, FaultKind, Key, Result, Version, check};
use uuid::Uuid;

/// What an audit still has to look at: records come first, then rows of entries.
enum From<'a> {
    Records(&'a str),
    Rows(&'a str, i64, &'a str),
}

/// One page; the records end with a page of their own.
pub(super) async fn page(readers: &Readers, from: Option<&str>, limit: usize) -> Result<AuditPage> {
    let start = match from {
        None => From::Records(""),
        Some(text) => parse(text).ok_or_else(|| check::foreign_audit_cursor(text))?,
    };
    match start {
        From::Records(after) => records(readers, after, limit).await,
        From::Rows(name, rank, key) => rows(readers, (name, rank, key), limit).await,
    }
}

fn parse(text: &str) -> Option<From<'_>> {
    let parts: Vec<&str> = text.split('\n').collect();
    if text.contains('\0') {
        return None;
    }
    Some(match parts.as_slice() {
        ["record", key] => From::Records(key),
        ["entry", name, rank, key] => From::Rows(name, rank.parse().ok()?, key),
        _ => return None,
    })
}

async fn records(readers: &Readers, after: &str, limit: usize) -> Result<AuditPage> {
    let mut page = AuditPage::default();
    for row in &readers.read(Ask::AuditRecords, &[&after, &clamp(limit as u64)]).await? {
        let partition = partition(row, 1)?;
        let record = record(row, 2, Key::new(column::<&str>(row, 0)?))?;
        for line in column::<Vec<&str>>(row, 5)? {
            let (version, kind, place) = (Some(record.version), FaultKind::Missing, place_of_line(line)?);
            page.faults.push(Fault { partition, key: record.key.clone(), version, place, kind });
        }
        page.records.push((partition, record));
    }
    let last = page.records.last().map(|(_, record)| format!("record\n{}", record.key));
    // Names start behind the empty one, which is that of the due times.
    page.next = last.filter(|_| page.records.len() == limit).or_else(|| Some(format!("entry\n{DUE}\n{}\n", i64::MIN)));
    Ok(page)
}

async fn rows(readers: &Readers, after: (&str, i64, &str), limit: usize) -> Result<AuditPage> {
    let mut page = AuditPage::default();
    let mut last = None;
    for row in &readers.read(Ask::AuditRows, &[&after.0, &after.1, &after.2, &clamp(limit as u64)]).await? {
        let (name, rank, key): (&str, i64, &str) = (column(row, 0)?, column(row, 1)?, column(row, 2)?);
        let version: Option<Uuid> = column(row, 5)?;
        page.rows += 1;
        last = Some(format!("entry\n{name}\n{rank}\n{key}"));
        if !column::<bool>(row, 6)? {
            // The rows of a record that lives elsewhere are set right there.
            let partition = partition(row, if version.is_some() { 4 } else { 3 })?;
            let version = version.map(|version| Version(version.as_u128()));
            let (key, place, kind) = (Key::new(key), place(name, rank), FaultKind::Stray);
            page.faults.push(Fault { partition, key, version, place, kind });
        }
    }
    page.next = last.filter(|_| page.rows == limit as u64);
    Ok(page)
}
