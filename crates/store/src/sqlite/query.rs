//! What each read asks SQLite; every query walks one ordered range of one table.

use super::fault::reading;
use super::value::{body, entries_from_text, version};
use crate::feed::{event, feed_page, position};
use crate::sql::{DUE, clamp, rank_from_sql, rank_to_sql};
use crate::{
    Count, Cursor, Direction, FeedPage, Found, IndexName, Key, LogEntry, Millis, Page, Partition, Partitions, Range,
    Record, Result, check,
};
use rusqlite::types::{ToSqlOutput, Value};
use rusqlite::{Connection, OptionalExtension, Row, ToSql};

const RECORD: &str = "SELECT partition, version, due, entries, body FROM records WHERE key = ?1";
const WHERE: &str = "SELECT partition FROM records WHERE key = ?1";
const ASCENDING: &str = "SELECT rank, key, partition FROM entries \
    WHERE name = ?1 AND (rank, key) > (?2, ?3) AND rank <= ?4 ORDER BY rank, key";
const DESCENDING: &str = "SELECT rank, key, partition FROM entries \
    WHERE name = ?1 AND (rank, key) < (?2, ?3) AND rank >= ?4 ORDER BY rank DESC, key DESC";
const COUNT: &str = "SELECT count(*) FROM (SELECT 1 FROM entries WHERE name = ?1 LIMIT ?2)";
const LOG: &str = "SELECT seq, body FROM logs WHERE key = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
const FEED: &str = "SELECT position, partition, body FROM feed WHERE position > ?1 ORDER BY position LIMIT ?2";
const NEWEST: &str = "SELECT max(position) FROM feed";

/// The current record of each key; several keys are read in one transaction, which is one set of locks.
pub(super) fn load(conn: &Connection, partition: Partition, keys: &[Key]) -> Result<Vec<Option<Record>>> {
    let read = || keys.iter().map(|key| record(conn, partition, key)).collect();
    if keys.len() > 1 { snapshot(conn, read) } else { read() }
}

/// One record, if it is there and in this partition.
pub(super) fn record(conn: &Connection, partition: Partition, key: &Key) -> Result<Option<Record>> {
    let mut statement = conn.prepare_cached(RECORD).map_err(reading)?;
    let mut rows = statement.query([key.as_str()]).map_err(reading)?;
    match rows.next().map_err(reading)? {
        None => Ok(None),
        Some(row) => record_of(row, partition, key).map(Some),
    }
}

pub(super) fn record_of(row: &Row<'_>, partition: Partition, key: &Key) -> Result<Record> {
    let found = Partition(row.get(0).map_err(reading)?);
    if found != partition {
        return Err(check::elsewhere(key, partition, found));
    }
    let entries = row.get_ref(3).map_err(reading)?;
    let entries = entries.as_str().map_err(|_| super::fault::corrupt("a record's entries are not text"))?;
    Ok(Record {
        key: key.clone(),
        version: version(row.get_ref(1).map_err(reading)?)?,
        body: body(row.get_ref(4).map_err(reading)?)?,
        entries: entries_from_text(entries)?,
        due: due_of(row, 2)?,
    })
}

/// The due time of a row; the column holds the same bits, signed.
#[allow(clippy::cast_sign_loss)]
pub(super) fn due_of(row: &Row<'_>, column: usize) -> Result<Option<Millis>> {
    let due: Option<i64> = row.get(column).map_err(reading)?;
    Ok(due.map(|due| due as u64))
}

/// Entries of several indexes, read in one transaction, which is one set of locks.
pub(super) fn scan_many(
    conn: &Connection,
    wanted: &[(IndexName, Range)],
    partitions: &Partitions,
    limit: usize,
) -> Result<Vec<Page>> {
    let scan = |(index, range): &(IndexName, Range)| {
        // A name that no index can have finds none.
        if index.is_valid() { page(conn, index.as_str(), partitions, range, limit) } else { Ok(Page::default()) }
    };
    let read = || wanted.iter().map(scan).collect();
    if wanted.len() > 1 { snapshot(conn, read) } else { read() }
}

fn page(conn: &Connection, index: &str, partitions: &Partitions, range: &Range, limit: usize) -> Result<Page> {
    let mut items = Vec::new();
    let mut more = false;
    walk(conn, index, range, |found| {
        if !partitions.contains(found.partition) {
            return true;
        }
        more = items.len() == limit;
        if !more {
            items.push(found);
        }
        !more
    })?;
    Ok(Page { items, more })
}

/// How many entries an index has, up to a cap.
pub(super) fn count(conn: &Connection, index: &IndexName, partitions: &Partitions, cap: u64) -> Result<Count> {
    let mut count = Count { n: 0, capped: false };
    if !index.is_valid() {
        return Ok(count);
    }
    if *partitions == Partitions::All {
        // SQLite counts many times faster than it hands out rows.
        let mut statement = conn.prepare_cached(COUNT).map_err(reading)?;
        let limit = clamp(cap.saturating_add(1));
        let n: i64 = statement.query_row((index.as_str(), limit), |row| row.get(0)).map_err(reading)?;
        let n = u64::try_from(n).unwrap_or(0);
        return Ok(Count { n: n.min(cap), capped: n > cap });
    }
    walk(conn, index.as_str(), &Range::default(), |found| {
        if partitions.contains(found.partition) {
            count.capped = count.n == cap;
            count.n += u64::from(!count.capped);
        }
        !count.capped
    })?;
    Ok(count)
}

/// Shows each entry of a range, in order, until told to stop.
fn walk(conn: &Connection, index: &str, range: &Range, mut visit: impl FnMut(Found) -> bool) -> Result<()> {
    let Some(bounds) = Bounds::of(range) else { return Ok(()) };
    let query = match range.direction {
        Direction::Ascending => ASCENDING,
        Direction::Descending => DESCENDING,
    };
    let mut statement = conn.prepare_cached(query).map_err(reading)?;
    let mut rows = statement.query((index, bounds.start, bounds.key, bounds.end)).map_err(reading)?;
    while let Some(row) = rows.next().map_err(reading)? {
        let key = row.get_ref(1).map_err(reading)?;
        let key = key.as_str().map_err(|_| super::fault::corrupt("an index entry has no key"))?;
        let found = Found {
            rank: rank_from_sql(row.get(0).map_err(reading)?),
            key: Key::new(key),
            partition: Partition(row.get(2).map_err(reading)?),
        };
        if !visit(found) {
            break;
        }
    }
    Ok(())
}

/// A range as one exclusive start and one inclusive end, which SQLite turns into a single seek.
struct Bounds {
    start: i64,
    key: Edge,
    end: i64,
}

/// The key beside the first rank.
enum Edge {
    /// Before every key of that rank.
    Before,
    /// A key.
    At(Key),
    /// Behind every key of that rank: SQLite orders bytes behind all text.
    Behind,
}

impl Bounds {
    fn of(range: &Range) -> Option<Self> {
        let low = range.from.unwrap_or(0);
        let high = match range.until {
            None => u64::MAX,
            Some(until) => until.checked_sub(1)?,
        };
        let after = range.after.as_ref();
        let (start, key, end) = match range.direction {
            Direction::Ascending => match after {
                Some((rank, key)) if *rank >= low => (*rank, Edge::At(key.clone()), high),
                _ => (low, Edge::Before, high),
            },
            Direction::Descending => match after {
                Some((rank, key)) if *rank <= high => (*rank, Edge::At(key.clone()), low),
                _ => (high, Edge::Behind, low),
            },
        };
        Some(Self { start: rank_to_sql(start), key, end: rank_to_sql(end) })
    }
}

impl ToSql for Edge {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Before => Ok(ToSqlOutput::from("")),
            Self::At(key) => key.as_str().to_sql(),
            Self::Behind => Ok(ToSqlOutput::Owned(Value::Blob(Vec::new()))),
        }
    }
}

/// Records by due time: the range of entries with the reserved name.
pub(super) fn due(conn: &Connection, partitions: &Partitions, range: &Range, limit: usize) -> Result<Page> {
    page(conn, DUE, partitions, range, limit)
}

/// Entries of a record's log.
pub(super) fn read_log(
    conn: &Connection,
    partition: Partition,
    log: &Key,
    after: u64,
    limit: usize,
) -> Result<Vec<LogEntry>> {
    snapshot(conn, || {
        let mut place = conn.prepare_cached(WHERE).map_err(reading)?;
        let found: Option<u16> = place.query_row([log.as_str()], |row| row.get(0)).optional().map_err(reading)?;
        match found.map(Partition) {
            None => return Ok(Vec::new()),
            Some(found) if found != partition => return Err(check::elsewhere(log, partition, found)),
            Some(_) => {}
        }
        let mut statement = conn.prepare_cached(LOG).map_err(reading)?;
        let mut rows = statement.query((log.as_str(), clamp(after), clamp(limit as u64))).map_err(reading)?;
        let mut entries = Vec::new();
        while let Some(row) = rows.next().map_err(reading)? {
            entries.push(LogEntry { seq: unsigned(row, 0)?, body: body(row.get_ref(1).map_err(reading)?)? });
        }
        Ok(entries)
    })
}

/// Events of all partitions in the order of their commits.
pub(super) fn read_feed(conn: &Connection, after: &Cursor, limit: usize) -> Result<FeedPage> {
    let start = position(after)?;
    snapshot(conn, || {
        let mut statement = conn.prepare_cached(FEED).map_err(reading)?;
        let mut rows = statement.query((clamp(start), clamp(limit as u64))).map_err(reading)?;
        let mut events = Vec::new();
        while let Some(row) = rows.next().map_err(reading)? {
            let partition = Partition(row.get(1).map_err(reading)?);
            let body = body(row.get_ref(2).map_err(reading)?)?;
            events.push(event(partition, unsigned(row, 0)?, body));
        }
        let newest = match events.last() {
            Some(last) => last.position,
            None => newest(conn)?,
        };
        Ok(feed_page(start, events, newest))
    })
}

/// The highest feed position; 0 when there is none.
pub(super) fn newest(conn: &Connection) -> Result<u64> {
    let mut statement = conn.prepare_cached(NEWEST).map_err(reading)?;
    let newest: Option<i64> = statement.query_row([], |row| row.get(0)).map_err(reading)?;
    Ok(newest.and_then(|newest| u64::try_from(newest).ok()).unwrap_or(0))
}

/// Runs several queries on one state of the database.
pub(super) fn snapshot<T>(conn: &Connection, read: impl FnOnce() -> Result<T>) -> Result<T> {
    conn.prepare_cached("BEGIN").and_then(|mut begin| begin.execute([])).map_err(reading)?;
    let result = read();
    conn.prepare_cached("COMMIT").and_then(|mut end| end.execute([])).map_err(reading)?;
    result
}

fn unsigned(row: &Row<'_>, column: usize) -> Result<u64> {
    let number: i64 = row.get(column).map_err(reading)?;
    u64::try_from(number).map_err(|_| super::fault::corrupt("a position or sequence is negative"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scan must seek to its start, or paging through an index takes quadratic time.
    #[test]
    fn scans_seek_to_their_start() {
        let conn = Connection::open_in_memory().unwrap();
        crate::sqlite::schema::initialise(&conn, 4).unwrap();
        for (query, seek) in [(ASCENDING, "(rank,key)>(?,?)"), (DESCENDING, "(rank,key)<(?,?)")] {
            let mut plan = conn.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
            let plan: String = plan.query_row(("n", 1, "k", 2), |row| row.get(3)).unwrap();
            assert!(plan.contains("SEARCH entries USING PRIMARY KEY (name=? AND ") && plan.contains(seek), "{plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{plan}");
        }
    }
}
