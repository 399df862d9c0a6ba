//! How versions and lists of places are written in columns, and read back exactly.

use super::fault::corrupt;
use crate::sql::{DUE, place, rank_to_sql};
use crate::{Entry, IndexPlace, Key, Millis, Partition, Record, Result, Version};
use bytes::Bytes;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

/// Most lists of places fit this, so that they are written without growing.
const USUAL_PLACES_BYTES: usize = 128;

pub(super) fn version_to_sql(version: Version) -> Uuid {
    Uuid::from_u128(version.0)
}

/// A record's places as lines of `rank name`, its due time last; names have no control characters.
pub(super) fn places_to_text(entries: &[Entry], due: Option<Millis>) -> String {
    let places = entries.iter().map(|entry| (entry.rank, entry.name.as_str()));
    let mut text = String::with_capacity(USUAL_PLACES_BYTES);
    let mut digits = itoa::Buffer::new();
    for (rank, name) in places.chain(due.map(|due| (due, DUE))) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(digits.format(rank_to_sql(rank)));
        text.push(' ');
        text.push_str(name);
    }
    text
}

/// The place that a line names.
pub(super) fn place_of_line(line: &str) -> Result<IndexPlace> {
    let parts = line.split_once(' ').and_then(|(rank, name)| Some((name, rank.parse().ok()?)));
    parts.map(|(name, rank)| place(name, rank)).ok_or_else(|| corrupt("a record's places do not parse"))
}

/// The entries and the due time, as their owner wrote them.
pub(super) fn places_from_text(text: &str) -> Result<(Vec<Entry>, Option<Millis>)> {
    let (mut entries, mut due) = (Vec::new(), None);
    for line in text.split('\n').filter(|line| !line.is_empty()) {
        match place_of_line(line)? {
            IndexPlace::Entry(entry) => entries.push(entry),
            IndexPlace::Due(at) => due = Some(at),
        }
    }
    Ok((entries, due))
}

/// One column, which must have the type that the schema gives it.
pub(super) fn column<'r, T: FromSql<'r>>(row: &'r Row, at: usize) -> Result<T> {
    row.try_get(at).map_err(|error| corrupt("a row does not have the expected columns").with_source(error))
}

/// The partition of a column.
pub(super) fn partition(row: &Row, at: usize) -> Result<Partition> {
    partition_of(column(row, at)?)
}

/// The partition that a number stands for.
pub(super) fn partition_of(number: i32) -> Result<Partition> {
    u16::try_from(number).map(Partition).map_err(|_| corrupt("a partition is out of range"))
}

/// A record from the columns version, places and body, which stand side by side.
pub(super) fn record(row: &Row, first: usize, key: Key) -> Result<Record> {
    let body = Bytes::copy_from_slice(column(row, first + 2)?);
    assemble(key, column(row, first)?, column(row, first + 1)?, body)
}

/// A record from its parts.
pub(super) fn assemble(key: Key, version: Uuid, places: &str, body: Bytes) -> Result<Record> {
    let (entries, due) = places_from_text(places)?;
    Ok(Record { key, version: Version(version.as_u128()), body, entries, due })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::IndexName;

    #[test]
    fn places_survive_their_text() {
        let entries = vec![
            Entry { name: IndexName::new("a b/c d"), rank: u64::MAX },
            Entry { name: IndexName::new(" leading and trailing "), rank: 0 },
            Entry { name: IndexName::new("ä\u{85}\u{2028}"), rank: 7 },
        ];
        for due in [None, Some(0), Some(u64::MAX)] {
            let text = places_to_text(&entries, due);
            assert_eq!(places_from_text(&text).unwrap(), (entries.clone(), due));
            assert_eq!(places_from_text(&places_to_text(&[], due)).unwrap(), (vec![], due));
        }
        assert!(places_from_text("no rank").is_err());
    }
}
