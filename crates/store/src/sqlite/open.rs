//! How a file is opened: refused with a reason when it cannot be a store, made into one when it is empty.

use super::checkpoint::Checkpoints;
use super::owner::Owner;
use super::reader::Readers;
use super::schema::{self, Mark};
use super::turn::{self, Turn};
use super::writer::{Companions, Request};
use super::{Options, Sqlite, SqliteState, fault, local_path, watch, writer};
use crate::layout::{self, LAYOUT};
use crate::limits::PARTITIONS_MAX;
use crate::{Error, ErrorKind, Meta, Result};
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::mpsc;

/// How many connections read at the same time.
const READERS: usize = 3;
/// How many callers' groups may wait for the writing thread before further callers wait to be taken.
const REQUESTS_WAITING_MAX: usize = 4096;

/// Opens or makes a store; blocks.
pub(super) fn open(path: &Path, options: &Options) -> Result<Sqlite> {
    let wanted = wanted_partitions(options)?;
    let path = &local_path::resolve(path)?;
    examine(path)?;
    let (writer, meta) = turn::patiently(|| prepare(path, options, wanted))?;
    let owner = Owner::new(&beside(path, "-owner"))?;
    let state = Arc::new(SqliteState::new(options, meta, owner));
    start(path, options, writer, state)
}

/// A connection that may write, to a file that is ours.
///
/// Where several processes make or open a file at one time, SQLite refuses some steps at once instead of waiting, since
/// two that hold on while waiting for each other would never end: so the whole of it can be repeated.
fn prepare(path: &Path, options: &Options, wanted: Option<u16>) -> Result<(Connection, Meta)> {
    let writer = connect(path, OpenFlags::SQLITE_OPEN_CREATE)?;
    if matches!(schema::mark(&writer).map_err(fault::reading)?, Mark::Empty) {
        schema::initialise(&writer, wanted.unwrap_or(super::PARTITIONS_DEFAULT))?;
    }
    let meta = verify(path, &writer, wanted)?;
    let setup = || -> rusqlite::Result<()> {
        writer.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))?;
        schema::tune_writer(&writer, options.synchronous, options.max_pages)?;
        schema::views(&writer, options.views)
    };
    setup().map_err(fault::reading)?;
    Ok((writer, meta))
}

/// Starts the threads, and ends those that run when one cannot be started.
fn start(path: &Path, options: &Options, writer: Connection, state: Arc<SqliteState>) -> Result<Sqlite> {
    let stop = watch::Stop::new().map_err(|error| fault::system("cannot make an event", error))?;
    let (stop, readers) = (Arc::new(stop), Readers::new());
    let (requests, queue) = mpsc::channel(REQUESTS_WAITING_MAX);
    let watching = (requests.clone(), Arc::clone(&stop));
    match start_threads(path, options, writer, &readers, watching, queue, &state) {
        Ok(threads) => Ok(Sqlite { state, requests, readers, stop, threads: Mutex::new(threads) }),
        Err(error) => {
            readers.close();
            stop.stop();
            state.owner.release();
            Err(error)
        }
    }
}

fn start_threads(
    path: &Path,
    options: &Options,
    mut writer: Connection,
    readers: &Arc<Readers>,
    watching: (mpsc::Sender<Request>, Arc<watch::Stop>),
    queue: mpsc::Receiver<Request>,
    state: &Arc<SqliteState>,
) -> Result<Vec<JoinHandle<()>>> {
    let failed = |error: std::io::Error| fault::system("cannot start a thread", error);
    let mut companions = Companions { readers: Arc::clone(readers), threads: Vec::new() };
    for _ in 0..READERS {
        let conn = connect(path, OpenFlags::empty())?;
        schema::tune_reader(&conn).map_err(fault::reading)?;
        companions.threads.push(readers.start(conn).map_err(failed)?);
    }
    let copier = connect(path, OpenFlags::empty())?;
    schema::tune_writer(&copier, options.synchronous, None).map_err(fault::reading)?;
    let (checkpoints, copy) = Checkpoints::new(&mut writer).map_err(fault::reading)?;
    companions.threads.push(copy.start(copier).map_err(failed)?);
    let seen_version = writer::data_version(&writer).map_err(fault::reading)?;
    let (requests, stop) = watching;
    let watch = watch::start(&beside(path, "-wal"), requests, stop, Arc::clone(state)).map_err(failed)?;
    let owner = state.owner.wait().map_err(failed)?;
    let turn = Turn::new(&beside(path, "-turn"))?;
    let start = writer::Start { conn: writer, turn, checkpoints, requests: queue, companions, seen_version };
    let own = Arc::clone(state);
    let thread = std::thread::Builder::new().name("store-writer".into());
    let writer = thread.spawn(move || writer::run(start, &own)).map_err(failed)?;
    Ok(vec![writer, watch, owner])
}

/// Looks at a file without touching it, and refuses what is plainly something else.
///
/// `immutable` keeps SQLite from locking or recovering anything, so that another program's database stays as it is. The
/// file is never opened around SQLite: closing it would drop the locks that other connections of this process hold.
fn examine(path: &Path) -> Result<()> {
    if !has_content(path) {
        return Ok(());
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let look = Connection::open_with_flags(immutable_uri(path), flags).and_then(|conn| schema::mark(&conn));
    match look {
        Ok(Mark::Ours(layout)) => layout::check(&path.display().to_string(), layout),
        Ok(Mark::Foreign) => Err(foreign(path)),
        Ok(Mark::Empty) if has_content(&beside(path, "-wal")) => Err(foreign(path)),
        Ok(Mark::Empty) => Ok(()),
        // After a crash the file alone makes no sense: what is beside it has to be carried over or rolled back first.
        Err(_) if has_content(&beside(path, "-journal")) || has_content(&beside(path, "-wal")) => Ok(()),
        Err(error) => Err(fault::reading(error)),
    }
}

fn has_content(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.len() > 0)
}

fn verify(path: &Path, conn: &Connection, wanted: Option<u16>) -> Result<Meta> {
    if conn.is_readonly("main").map_err(fault::reading)? {
        let message = format!("{} may only be read: make it writable for this user", path.display());
        return Err(Error::new(ErrorKind::ReadOnly, message).unwritten());
    }
    match schema::mark(conn).map_err(fault::reading)? {
        Mark::Ours(layout) => layout::check(&path.display().to_string(), layout)?,
        Mark::Empty | Mark::Foreign => return Err(foreign(path)),
    }
    let (store_id, partitions) = schema::fixed(conn)?;
    match wanted {
        Some(wanted) if wanted != partitions => {
            let message = format!(
                "{} was made with {partitions} partitions, not {wanted}: the number is fixed for ever, so leave it out or make a new store",
                path.display()
            );
            Err(Error::new(ErrorKind::Unsuitable, message).unwritten())
        }
        _ => Ok(Meta { store_id, partitions, layout: LAYOUT }),
    }
}

fn wanted_partitions(options: &Options) -> Result<Option<u16>> {
    match options.partitions {
        Some(count) if count == 0 || count > PARTITIONS_MAX => {
            let message = format!("{count} partitions were asked for: a store has 1 to {PARTITIONS_MAX}");
            Err(Error::new(ErrorKind::Invalid, message).unwritten())
        }
        count => Ok(count),
    }
}

fn connect(path: &Path, extra: OpenFlags) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | extra;
    let mut conn = Connection::open_with_flags(path, flags).map_err(fault::reading)?;
    conn.busy_handler(Some(turn::busy)).map_err(fault::reading)?;
    Ok(conn)
}

fn foreign(path: &Path) -> Error {
    let message = format!("{} is another program's database: choose another path", path.display());
    Error::new(ErrorKind::Foreign, message).unwritten()
}

/// The path of a file that belongs to the database.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// An absolute path as a URI that makes SQLite only look.
fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => uri.push(char::from(*byte)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri.push_str("?immutable=1");
    uri
}
