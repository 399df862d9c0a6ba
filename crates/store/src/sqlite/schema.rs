//! How the tables look, and how a file becomes a store.
//!
//! Readable with the `sqlite3` shell: bodies that are text are stored as text, and `records.entries` holds one line per
//! index entry, `rank name`. `entries.rank` is the rank minus 2^63, so that unsigned order is SQLite's signed order;
//! rows of `entries` with an empty name are the due times, since no index can have an empty name.

use super::Synchronous;
use super::fault;
use crate::layout::LAYOUT;
use crate::{Error, ErrorKind, Result};
use rusqlite::Connection;

/// Marks a file as ours in the SQLite header: the letters ONWD.
pub(super) const APPLICATION_ID: i32 = 0x4f4e_5744;
/// A row longer than a quarter of a page spills to a page of its own, which doubles what a commit writes. Most records have
/// 500 to 1,500 bytes, so pages are twice as large as SQLite's usual ones.
const PAGE_BYTES: u32 = 8 * 1024;
/// The WAL file is cut back to this size when it starts again.
const WAL_KEPT_BYTES: u32 = 64 * 1024 * 1024;
const WRITER_CACHE_KIB: u32 = 16 * 1024;
const READER_CACHE_KIB: u32 = 2 * 1024;

// Ordered by key and by (name, rank, key), so that neighbours in time are neighbours on disk. The body comes last in
// its row: checking a version never reads the pages a long body spills to.
const TABLES: &str = "
CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE records(
  key TEXT PRIMARY KEY, partition INTEGER NOT NULL, version BLOB NOT NULL, due INTEGER, entries TEXT NOT NULL, body NOT NULL
) WITHOUT ROWID;
CREATE TABLE entries(
  name TEXT NOT NULL, rank INTEGER NOT NULL, key TEXT NOT NULL, partition INTEGER NOT NULL, PRIMARY KEY(name, rank, key)
) WITHOUT ROWID;
CREATE TABLE logs(key TEXT NOT NULL, seq INTEGER NOT NULL, body NOT NULL, PRIMARY KEY(key, seq)) WITHOUT ROWID;
CREATE TABLE feed(position INTEGER PRIMARY KEY, partition INTEGER NOT NULL, body NOT NULL);
";

/// What the file says it is.
pub(super) enum Mark {
    /// Nothing yet.
    Empty,
    /// A store of this layout.
    Ours(u32),
    /// Something else.
    Foreign,
}

/// Reads what the file says it is, without changing it.
pub(super) fn mark(conn: &Connection) -> rusqlite::Result<Mark> {
    let application: i32 = conn.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version: u32 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if application == APPLICATION_ID {
        return Ok(Mark::Ours(version));
    }
    let tables: u32 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(if application == 0 && version == 0 && tables == 0 { Mark::Empty } else { Mark::Foreign })
}

/// Makes the tables in one transaction; another process may have done it meanwhile.
///
/// This happens before the file is switched to a WAL, so that the marks are in the main file from the first moment.
pub(super) fn initialise(conn: &Connection, partitions: u16) -> Result<()> {
    let make = || -> rusqlite::Result<Mark> {
        conn.execute_batch(&format!("PRAGMA page_size={PAGE_BYTES}; BEGIN EXCLUSIVE"))?;
        let mark = mark(conn)?;
        if matches!(mark, Mark::Empty) {
            conn.execute_batch(TABLES)?;
            conn.execute(
                "INSERT INTO meta VALUES ('store_id', lower(hex(randomblob(16)))), ('partitions', ?1)",
                [partitions],
            )?;
            conn.execute_batch(&format!("PRAGMA application_id={APPLICATION_ID}; PRAGMA user_version={LAYOUT}"))?;
        }
        conn.execute_batch("COMMIT")?;
        Ok(mark)
    };
    match make() {
        Ok(Mark::Empty | Mark::Ours(_)) => Ok(()),
        Ok(Mark::Foreign) => Err(Error::new(ErrorKind::Foreign, "another program took the file meanwhile").unwritten()),
        Err(error) => Err(fault::reading(error)),
    }
}

/// The store id and the number of partitions, fixed at initialisation.
pub(super) fn fixed(conn: &Connection) -> Result<(u128, u16)> {
    let read = |name: &str| -> rusqlite::Result<String> {
        conn.query_row("SELECT CAST(value AS TEXT) FROM meta WHERE name = ?1", [name], |row| row.get(0))
    };
    let store_id = read("store_id").map_err(fault::reading)?;
    let partitions = read("partitions").map_err(fault::reading)?;
    match (u128::from_str_radix(&store_id, 16), partitions.parse()) {
        (Ok(store_id), Ok(partitions)) => Ok((store_id, partitions)),
        _ => Err(fault::corrupt("the meta table holds no store id or partition count")),
    }
}

/// Creates or replaces the caller's views where they are missing or different.
pub(super) fn views(conn: &Connection, views: &[(&str, &str)]) -> rusqlite::Result<()> {
    let wanted = |&(name, query): &(&str, &str)| format!("CREATE VIEW \"{name}\" AS {query}");
    let same = |view: &(&str, &str)| -> rusqlite::Result<bool> {
        let find = "SELECT count(*) FROM sqlite_schema WHERE type = 'view' AND name = ?1 AND sql = ?2";
        conn.query_row(find, (view.0, wanted(view)), |row| row.get::<_, u32>(0)).map(|found| found > 0)
    };
    let mut missing = Vec::new();
    for view in views {
        if !same(view)? {
            missing.push(view);
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    conn.execute_batch("BEGIN IMMEDIATE")?;
    for view in missing {
        conn.execute_batch(&format!("DROP VIEW IF EXISTS \"{}\"; {}", view.0, wanted(view)))?;
    }
    conn.execute_batch("COMMIT")
}

/// Settings of the one connection that writes. Checkpoints are not its work, so that commits take equally long.
pub(super) fn tune_writer(conn: &Connection, synchronous: Synchronous, max_pages: Option<u32>) -> rusqlite::Result<()> {
    let synchronous = match synchronous {
        Synchronous::Full => "FULL",
        Synchronous::Off => "OFF",
    };
    conn.execute_batch(&format!(
        "PRAGMA synchronous={synchronous}; PRAGMA cache_size=-{WRITER_CACHE_KIB}; PRAGMA wal_autocheckpoint=0;
         PRAGMA journal_size_limit={WAL_KEPT_BYTES}; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0;"
    ))?;
    if let Some(pages) = max_pages {
        conn.execute_batch(&format!("PRAGMA max_page_count={pages}"))?;
    }
    Ok(())
}

/// Settings of a connection that only reads.
pub(super) fn tune_reader(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(&format!(
        "PRAGMA query_only=1; PRAGMA cache_size=-{READER_CACHE_KIB}; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0;"
    ))
}
