//! How the feeds of all partitions are read as one, and what a cursor over them holds.
//!
//! A partition's positions are drawn under its lock, so whoever sees one sees all below it that there will ever be. Up to
//! where they were trimmed or raised is written down, and the newest event is never trimmed: whoever reads from below that
//! cut to above it missed something. A cursor holds the partition to start with and a position for each that has one.

use super::readers::Readers;
use super::statement::Ask;
use super::value::{column, partition};
use crate::sql::clamp;
use crate::{Cursor, Event, FeedPage, Partition, Result, check};
use bytes::Bytes;
use std::fmt::Write as _;

/// The position of [`Cursor::end`], which no event ever has.
const END: u64 = u64::MAX;

/// A decoded [`Cursor`]: how far a reader has read each partition.
struct PostgresCursor {
    /// The partition that is read first, so that a busy one cannot keep the others waiting.
    first: usize,
    /// The last position read of each partition.
    positions: Vec<u64>,
}

impl PostgresCursor {
    /// Reads text of the form `first` or `first;partition=position,…`, numbers in hexadecimal.
    fn parse(encoded: &Cursor, partitions: u16) -> Result<Self> {
        let text = encoded.as_str();
        let mut cursor = Self { first: 0, positions: vec![0; usize::from(partitions)] };
        if text.is_empty() {
            return Ok(cursor);
        }
        if encoded.is_end() {
            cursor.positions.fill(END);
            return Ok(cursor);
        }
        // One spelling only, so that nothing else passes for a cursor.
        let is_own = cursor.read(text).is_some() && cursor.encode().as_str() == text;
        if is_own { Ok(cursor) } else { Err(check::foreign_cursor(text)) }
    }

    fn read(&mut self, text: &str) -> Option<()> {
        let (first, pairs) = text.split_once(';')?;
        self.first = usize::from_str_radix(first, 16).ok().filter(|first| *first < self.positions.len())?;
        for pair in pairs.split(',').filter(|pair| !pair.is_empty()) {
            let (at, position) = pair.split_once('=')?;
            let at = usize::from_str_radix(at, 16).ok()?;
            *self.positions.get_mut(at)? = u64::from_str_radix(position, 16).ok()?;
        }
        Some(())
    }

    fn encode(&self) -> Cursor {
        let mut text = format!("{:x};", self.first);
        for (at, position) in self.positions.iter().enumerate().filter(|(_, position)| **position > 0) {
            let _ = write!(text, "{at:x}={position:x},");
        }
        Cursor::from_text(text)
    }

    /// All partitions, from the first on.
    fn order(&self) -> impl Iterator<Item = usize> + use<> {
        let (first, count) = (self.first, self.positions.len());
        (0..count).map(move |at| (first + at) % count)
    }
}

/// Events of all partitions behind a cursor.
pub(super) async fn read(readers: &Readers, after: &Cursor, limit: usize, partitions: u16) -> Result<FeedPage> {
    let mut cursor = PostgresCursor::parse(after, partitions)?;
    let newest = heads(readers, partitions).await?;
    let mut gap = false;
    for (position, newest) in cursor.positions.iter_mut().zip(&newest) {
        // A cursor ahead of the newest event belongs to a past that a restored backup undid: it goes back.
        gap |= *position > *newest && *position != END;
        *position = (*position).min(*newest);
    }
    let rows = events(readers, &cursor, &newest, limit).await?;
    let mut page = Vec::with_capacity(rows.len());
    for Row { at, position, cut, body } in rows {
        let last = std::mem::replace(&mut cursor.positions[at], position);
        gap |= last < cut && cut < position;
        cursor.first = at;
        let whose = Partition(u16::try_from(at).unwrap_or(u16::MAX));
        page.push(Event { partition: whose, position, body, cursor: cursor.encode() });
    }
    if !page.is_empty() {
        cursor.first = (cursor.first + 1) % cursor.positions.len();
    }
    Ok(FeedPage { events: page, cursor: cursor.encode(), gap })
}

/// The newest position of each partition; 0 when it has none.
async fn heads(readers: &Readers, partitions: u16) -> Result<Vec<u64>> {
    let mut newest = vec![0; usize::from(partitions)];
    for row in readers.read(Ask::Heads, &[&i32::from(partitions)]).await? {
        let position: Option<i64> = column(&row, 1)?;
        newest[usize::from(partition(&row, 0)?.0)] = position.unwrap_or(0).unsigned_abs();
    }
    Ok(newest)
}

/// One event as it is found.
struct Row {
    /// Its partition.
    at: usize,
    position: u64,
    /// The partition's cut, as of the same moment.
    cut: u64,
    body: Bytes,
}

/// At most as many events as asked, from as many partitions as that takes, in the order of the cursor.
async fn events(readers: &Readers, cursor: &PostgresCursor, newest: &[u64], limit: usize) -> Result<Vec<Row>> {
    let (mut partitions, mut afters) = (Vec::new(), Vec::new());
    for at in cursor.order().filter(|at| newest[*at] > cursor.positions[*at]) {
        partitions.push(i32::try_from(at).unwrap_or(i32::MAX));
        afters.push(clamp(cursor.positions[at]));
    }
    if partitions.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    for row in readers.read(Ask::Events, &[&partitions, &afters, &clamp(limit as u64)]).await? {
        let (position, cut): (i64, Option<i64>) = (column(&row, 1)?, column(&row, 3)?);
        let body = Bytes::copy_from_slice(column(&row, 2)?);
        let (at, cut) = (usize::from(partition(&row, 0)?.0), cut.unwrap_or(0).unsigned_abs());
        found.push(Row { at, position: position.unsigned_abs(), cut, body });
    }
    let turn = |at: usize| (at + cursor.positions.len() - cursor.first) % cursor.positions.len();
    found.sort_by_key(|row| (turn(row.at), row.position));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_fuzz::proptest::prelude::*;
    use onward_fuzz::{fuzz, near};

    #[test]
    fn a_cursor_survives_its_text() {
        for text in ["0;", "3;", "0;0=1,3=ffffffffffffffff,", "2;1=a,"] {
            let cursor = PostgresCursor::parse(&Cursor::from_text(text), 4).unwrap();
            assert_eq!(cursor.encode().as_str(), text);
        }
        let start = PostgresCursor::parse(&Cursor::start(), 4).unwrap();
        assert_eq!((start.first, start.positions), (0, vec![0; 4]));
        for text in ["12", "4;", "0;4=1", "0;1", "x;", "0;1=g", "not a cursor", "+0;", "0;1=a", "0;1=0,", "0;2=1,1=1,"]
        {
            assert!(PostgresCursor::parse(&Cursor::from_text(text), 4).is_err(), "{text}");
        }
    }

    #[test]
    fn fuzz_cursors_have_one_spelling() {
        fuzz(near("[0-3];([0-3]=[1-9a-f][0-9a-f]{0,15},){0,3}"), |text| {
            let Ok(cursor) = PostgresCursor::parse(&Cursor::from_text(text.as_str()), 4) else { return Ok(false) };
            prop_assert!(cursor.first < 4 && cursor.positions.len() == 4);
            prop_assert!(text.is_empty() || cursor.encode().as_str() == text, "{text:?}");
            prop_assert_eq!(cursor.order().count(), 4);
            Ok(true)
        });
    }
}
