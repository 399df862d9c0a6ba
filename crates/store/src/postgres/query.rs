//! What each read asks and how its rows are read; every query walks ordered ranges of one table.

use super::fault::corrupt;
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

/// Entries of several indexes, by one statement for each direction that occurs.
pub(super) async fn scan_many(
    readers: &Readers,
    wanted: &[(IndexName, Range)],
    partitions: &Partitions,
    limit: usize,
) -> Result<Vec<Page>> {
    let mut pages = vec![Page::default(); wanted.len()];
    for direction in [Direction::Ascending, Direction::Descending] {
        let mut ranges = Ranges::default();
        for ((index, range), page) in wanted.iter().zip(&mut pages) {
            // A name that no index can have finds none.
            if index.is_valid() && range.direction == direction {
                ranges.add(index.as_str(), range, page);
            }
        }
        ranges.read(readers, direction, partitions, limit).await?;
    }
    Ok(pages)
}

/// Records by due time: the range of entries with the reserved name.
pub(super) async fn due(readers: &Readers, partitions: &Partitions, range: &Range, limit: usize) -> Result<Page> {
    let mut page = Page::default();
    let mut ranges = Ranges::default();
    ranges.add(DUE, range, &mut page);
    ranges.read(readers, range.direction, partitions, limit).await?;
    Ok(page)
}

/// Ranges of one direction as the columns that a statement takes, and the page that each fills.
#[derive(Default)]
struct Ranges<'a> {
    names: Vec<&'a str>,
    starts: Vec<i64>,
    keys: Vec<String>,
    ends: Vec<i64>,
    pages: Vec<&'a mut Page>,
}

impl<'a> Ranges<'a> {
    /// Adds a range, unless nothing can be in it.
    fn add(&mut self, name: &'a str, range: &Range, page: &'a mut Page) {
        let Some(Bounds { start, key, end }) = Bounds::of(range) else { return };
        self.names.push(name);
        self.starts.push(start);
        self.keys.push(key);
        self.ends.push(end);
        self.pages.push(page);
    }

    /// Fills the pages by one statement, whatever their number.
    async fn read(self, readers: &Readers, direction: Direction, partitions: &Partitions, limit: usize) -> Result<()> {
        let Self { names, starts, keys, ends, mut pages } = self;
        if names.is_empty() {
            return Ok(());
        }
        let ask = match direction {
            Direction::Ascending => Ask::Ascending,
            Direction::Descending => Ask::Descending,
        };
        let wanted = clamp(limit as u64).saturating_add(1);
        for row in &readers.read(ask, &[&names, &starts, &keys, &ends, &numbers(partitions), &wanted]).await? {
            // The server counts from one.
            let at = usize::try_from(column::<i64>(row, 0)?).ok().and_then(|at| at.checked_sub(1));
            let page = at.and_then(|at| pages.get_mut(at)).ok_or_else(|| corrupt("a row belongs to no range"))?;
            let key = Key::new(column::<&str>(row, 2)?);
            page.items.push(Found { rank: rank_from_sql(column(row, 1)?), key, partition: partition(row, 3)? });
        }
        for page in pages {
            // A join promises no order. Its rows do come in this one, so that this is one look at each.
            page.items.sort_unstable_by(|a, b| match direction {
                Direction::Ascending => (a.rank, &a.key).cmp(&(b.rank, &b.key)),
                Direction::Descending => (b.rank, &b.key).cmp(&(a.rank, &a.key)),
            });
            page.more = page.items.len() > limit;
            page.items.truncate(limit);
        }
        Ok(())
    }
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
