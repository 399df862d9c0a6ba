//! What each read asks and how its rows are read; every query walks one ordered range of one table.

use super::readers::Readers;
use super::statement::Ask;
use super::value::{self, column, partition};
use crate::sql::{DUE, clamp, rank_from_sql, rank_to_sql};
use crate::{
    Count, Direction, Found, IndexName, Key, LogEntry, Page, Partition, Partitions, Range, Record, Result, check,
};
use bytes::Bytes;
use std::collections::HashMap;

/// The current record of each key.
pub(super) async fn load(readers: &Readers, asked: Partition, keys: &[Key]) -> Result<Vec<Option<Record>>> {
    // Names that no record can have are not even text to Postgres.
    let names: Vec<&str> = keys.iter().filter(|key| key.is_valid()).map(Key::as_str).collect();
    if names.is_empty() {
        return Ok(vec![None; keys.len()]);
    }
    let mut found = HashMap::with_capacity(names.len());
    for row in readers.read(Ask::Load, &[&names]).await? {
        let key = Key::new(column::<&str>(&row, 0)?);
        let home = partition(&row, 1)?;
        if home != asked {
            return Err(check::elsewhere(&key, asked, home));
        }
        found.insert(key.clone(), value::record(&row, 2, key)?);
    }
    Ok(keys.iter().map(|key| found.get(key).cloned()).collect())
}

/// Entries of one index in a range; a name that no index can have finds none.
pub(super) async fn scan(
    readers: &Readers,
    index: &IndexName,
    partitions: &Partitions,
    range: &Range,
    limit: usize,
) -> Result<Page> {
    if index.is_valid() { page(readers, index.as_str(), partitions, range, limit).await } else { Ok(Page::default()) }
}

/// Records by due time: the range of entries with the reserved name.
pub(super) async fn due(readers: &Readers, partitions: &Partitions, range: &Range, limit: usize) -> Result<Page> {
    page(readers, DUE, partitions, range, limit).await
}

async fn page(readers: &Readers, index: &str, partitions: &Partitions, range: &Range, limit: usize) -> Result<Page> {
    let Some(Bounds { start, key, end }) = Bounds::of(range) else { return Ok(Page::default()) };
    let ask = match range.direction {
        Direction::Ascending => Ask::Ascending,
        Direction::Descending => Ask::Descending,
    };
    let wanted = clamp(limit as u64).saturating_add(1);
    let rows = readers.read(ask, &[&index, &start, &key, &end, &numbers(partitions), &wanted]).await?;
    let mut items = Vec::with_capacity(rows.len());
    for row in &rows {
        let key = Key::new(column::<&str>(row, 1)?);
        items.push(Found { rank: rank_from_sql(column(row, 0)?), key, partition: partition(row, 2)? });
    }
    let more = items.len() > limit;
    items.truncate(limit);
    Ok(Page { items, more })
}

/// How many entries an index has, up to a cap.
pub(super) async fn count(readers: &Readers, index: &IndexName, partitions: &Partitions, cap: u64) -> Result<Count> {
    if !index.is_valid() {
        return Ok(Count { n: 0, capped: false });
    }
    let wanted = clamp(cap).saturating_add(1);
    let rows = readers.read(Ask::Count, &[&index.as_str(), &numbers(partitions), &wanted]).await?;
    let found: i64 = rows.first().map_or(Ok(0), |row| column(row, 0))?;
    let n = found.unsigned_abs();
    Ok(Count { n: n.min(cap), capped: n > cap })
}

fn numbers(partitions: &Partitions) -> Option<Vec<i32>> {
    match partitions {
        Partitions::All => None,
        Partitions::Some(list) => Some(list.iter().map(|partition| i32::from(partition.0)).collect()),
    }
}

/// A range as one exclusive start and one inclusive end, which Postgres turns into a single descent of the index.
struct Bounds {
    start: i64,
    key: String,
    end: i64,
}

impl Bounds {
    fn of(range: &Range) -> Option<Self> {
        let low = range.from.unwrap_or(0);
        let high = match range.until {
            None => u64::MAX,
            Some(until) => until.checked_sub(1)?,
        };
        // Postgres has no text with a zero byte; no key lies between one and the next possible letter.
        let after = range.after.as_ref().map(|(rank, key)| (*rank, key.as_str().replace('\0', "\u{1}")));
        let (start, key, end) = match range.direction {
            Direction::Ascending => match after {
                Some((rank, key)) if rank >= low => (rank, key, high),
                _ => (low, String::new(), high),
            },
            Direction::Descending => match after {
                Some((rank, key)) if rank <= high => (rank, key, low),
                // Behind every key: one letter longer than the longest key of the highest letter.
                _ => (high, "\u{10ffff}".repeat(crate::limits::KEY_BYTES_MAX / 4 + 1), low),
            },
        };
        Some(Self { start: rank_to_sql(start), key, end: rank_to_sql(end) })
    }
}

/// Entries of a record's log.
pub(super) async fn read_log(
    readers: &Readers,
    asked: Partition,
    log: &Key,
    after: u64,
    limit: usize,
) -> Result<Vec<LogEntry>> {
    if !log.is_valid() {
        return Ok(Vec::new());
    }
    let rows = readers.read(Ask::Log, &[&log.as_str(), &clamp(after), &clamp(limit as u64)]).await?;
    let mut entries = Vec::with_capacity(rows.len());
    for row in &rows {
        let home = partition(row, 0)?;
        if home != asked {
            return Err(check::elsewhere(log, asked, home));
        }
        // A record without entries is a row without a sequence.
        if let Some(seq) = column::<Option<i64>>(row, 1)? {
            let body = Bytes::copy_from_slice(column(row, 2)?);
            entries.push(LogEntry { seq: seq.unsigned_abs(), body });
        }
    }
    Ok(entries)
}
