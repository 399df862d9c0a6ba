//! How records live in one SQLite file: one thread writes, a few read, and a commit answers when it is on the disk.
//!
//! Several processes may open the same file. SQLite keeps their commits apart; the one that holds the lock on
//! `<file>-owner` is the home of every partition, and the others try for it once a second.

mod apply;
mod audit;
mod checkpoint;
mod fault;
mod local_path;
mod open;
mod owner;
mod query;
mod reader;
mod schema;
mod turn;
mod value;
mod watch;
mod writer;

use crate::{
    AuditPage, Batch, Clock, Count, Cursor, Durability, Error, FeedPage, Health, Home, IndexName, Key, LogEntry, Meta,
    Outcome, Page, Partition, Partitions, Range, Record, Result, Stats, Store, Wake, check,
};
use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use owner::Owner;
use parking_lot::Mutex;
use reader::Readers;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use writer::Request;

/// The count of hints that says there will be no more.
const NO_MORE_HINTS: u64 = u64::MAX;

/// How many partitions a new store gets unless it is told otherwise.
pub const PARTITIONS_DEFAULT: u16 = 64;

/// What can be chosen when a file is opened.
#[derive(Clone)]
pub struct Options {
    /// How many partitions a new store gets; `None` takes what the file has, or 64. Fixed for ever once made.
    pub partitions: Option<u16>,
    /// The clock that windows are judged by.
    pub clock: Clock,
    /// Views for the `sqlite3` shell, name and query, created when they are missing or different.
    pub views: &'static [(&'static str, &'static str)],
    /// Whether commits reach the disk before they are answered; anything but full loses data.
    #[doc(hidden)]
    pub synchronous: Synchronous,
    /// The size at which the file counts as full, for tests of a full disk.
    #[doc(hidden)]
    pub max_pages: Option<u32>,
}

/// Whether commits reach the disk before they are answered.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// They do.
    #[default]
    Full,
    /// They do not: exists so that the crash test can show that it notices.
    Off,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            partitions: None,
            clock: crate::system_clock(),
            views: &[],
            synchronous: Synchronous::Full,
            max_pages: None,
        }
    }
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("partitions", &self.partitions).finish_non_exhaustive()
    }
}

/// Opens the store in a file, which is made when it does not exist.
///
/// Refuses, without changing anything, a file of another program or of a newer version, a place that may only be read,
/// and a network file system.
pub async fn open(path: impl AsRef<Path>, options: Options) -> Result<Sqlite> {
    let path = path.as_ref().to_owned();
    let (reply, answer) = oneshot::channel();
    let opening = move || {
        // Dropping the store here closes it again when the caller has gone away.
        let _ = reply.send(open::open(&path, &options));
    };
    let thread = std::thread::Builder::new().name("store-open".into()).spawn(opening);
    thread.map_err(|error| fault::system("cannot start a thread", error))?;
    answer.await.unwrap_or_else(|_| Err(fault::corrupt("opening it ended without an answer")))
}

/// A store in one SQLite file.
pub struct Sqlite {
    state: Arc<SqliteState>,
    requests: mpsc::Sender<Request>,
    readers: Arc<Readers>,
    stop: Arc<watch::Stop>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// What the handle and the threads of one store share.
struct SqliteState {
    clock: Clock,
    meta: Meta,
    synchronous: Synchronous,
    owner: Arc<Owner>,
    hints: tokio::sync::watch::Sender<u64>,
    /// How often the writer has looked for commits of other processes because it had something to do itself.
    looks: AtomicU64,
    reads: AtomicU64,
    written: Mutex<Stats>,
    closed: AtomicBool,
    broken: OnceLock<String>,
}

impl SqliteState {
    fn new(options: &Options, meta: Meta, owner: Arc<Owner>) -> Self {
        Self {
            clock: Arc::clone(&options.clock),
            meta,
            synchronous: options.synchronous,
            owner,
            hints: tokio::sync::watch::channel(0).0,
            looks: AtomicU64::new(0),
            reads: AtomicU64::new(0),
            written: Mutex::default(),
            closed: AtomicBool::new(false),
            broken: OnceLock::new(),
        }
    }

    fn is_open(&self) -> Result<()> {
        if self.closed.load(Ordering::Acquire) || self.is_broken() { Err(self.refusal()) } else { Ok(()) }
    }

    fn is_broken(&self) -> bool {
        self.broken.get().is_some()
    }

    fn refusal(&self) -> Error {
        writer::refusal(self.broken.get().map(String::as_str))
    }

    /// Closes the store for good because the disk failed.
    fn fail(&self, error: &rusqlite::Error) {
        tracing::error!(%error, "the disk failed; the store closes until restart");
        let _ = self.broken.set(error.to_string());
    }

    fn count(&self, group: Stats) {
        self.written.lock().add(group);
    }
}

impl Sqlite {
    fn reading(&self) -> Result<&Readers> {
        self.state.is_open()?;
        self.state.reads.fetch_add(1, Ordering::Relaxed);
        Ok(&self.readers)
    }

    /// Tells every thread to end; true for the first call only.
    fn stop(&self) -> bool {
        if self.state.closed.swap(true, Ordering::AcqRel) {
            return false;
        }
        self.stop.stop();
        self.readers.close();
        true
    }
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").field("meta", &self.state.meta).finish_non_exhaustive()
    }
}

impl Drop for Sqlite {
    /// The threads end on their own: the writer once its queue is empty and nobody can add to it.
    fn drop(&mut self) {
        self.stop();
    }
}

#[async_trait]
impl Store for Sqlite {
    async fn load(&self, partition: Partition, keys: &[Key]) -> Result<Vec<Option<Record>>> {
        check::load(partition, keys, self.state.meta.partitions)?;
        let keys = keys.to_vec();
        self.reading()?.read(move |conn| query::load(conn, partition, &keys)).await
    }

    async fn commit(&self, group: Vec<Batch>) -> Result<Vec<Outcome>> {
        self.state.is_open()?;
        let plans = check::plan_all(group, self.state.meta.partitions)?;
        if plans.is_empty() {
            return Ok(Vec::new());
        }
        writer::submit(&self.requests, plans, &self.state).await
    }

    async fn scan_many(
        &self,
        wanted: &[(IndexName, Range)],
        partitions: &Partitions,
        limit: usize,
    ) -> Result<Vec<Page>> {
        if wanted.is_empty() {
            return self.state.is_open().map(|()| Vec::new());
        }
        let (wanted, partitions) = (wanted.to_vec(), partitions.clone());
        self.reading()?.read(move |conn| query::scan_many(conn, &wanted, &partitions, limit)).await
    }

    async fn count(&self, index: &IndexName, partitions: &Partitions, cap: u64) -> Result<Count> {
        let (index, partitions) = (index.clone(), partitions.clone());
        self.reading()?.read(move |conn| query::count(conn, &index, &partitions, cap)).await
    }

    async fn due(&self, partitions: &Partitions, range: Range, limit: usize) -> Result<Page> {
        let partitions = partitions.clone();
        self.reading()?.read(move |conn| query::due(conn, &partitions, &range, limit)).await
    }

    async fn read_log(&self, partition: Partition, log: &Key, after: u64, limit: usize) -> Result<Vec<LogEntry>> {
        check::partition_exists(partition, self.state.meta.partitions)?;
        let log = log.clone();
        self.reading()?.read(move |conn| query::read_log(conn, partition, &log, after, limit)).await
    }

    async fn read_feed(&self, after: &Cursor, limit: usize) -> Result<FeedPage> {
        let after = after.clone();
        self.reading()?.read(move |conn| query::read_feed(conn, &after, limit)).await
    }

    async fn audit(&self, from: Option<&str>, limit: usize) -> Result<AuditPage> {
        let from = from.map(str::to_owned);
        self.reading()?.read(move |conn| audit::page(conn, from.as_deref(), limit)).await
    }

    fn watch(&self) -> BoxStream<'static, Wake> {
        let hints = self.state.hints.subscribe();
        stream::unfold(hints, |mut hints| async move {
            hints.changed().await.ok()?;
            if *hints.borrow_and_update() == NO_MORE_HINTS {
                return None;
            }
            Some((Wake { partition: None, topics: Vec::new() }, hints))
        })
        .boxed()
    }

    fn home(&self) -> tokio::sync::watch::Receiver<Home> {
        self.state.owner.home()
    }

    fn yield_home(&self, pause: Duration) {
        self.state.owner.yield_for(pause);
    }

    fn meta(&self) -> Meta {
        self.state.meta
    }

    async fn health(&self) -> Result<Health> {
        self.reading()?.read(|conn| query::newest(conn).map(|_| ())).await?;
        let (durability, detail) = match self.state.synchronous {
            Synchronous::Full => (Durability::Disk, "SQLite answers, and every commit is synced to the disk"),
            Synchronous::Off => (Durability::Memory, "SQLite answers, but syncing is off: a crash loses commits"),
        };
        Ok(Health { durability, detail: detail.to_owned() })
    }

    fn stats(&self) -> Stats {
        let written = *self.state.written.lock();
        Stats { reads: self.state.reads.load(Ordering::Relaxed), ..written }
    }

    async fn close(&self) -> Result<()> {
        if self.stop() {
            // An error means that the writer has ended already.
            let _ = self.requests.send(Request::Close).await;
        }
        let threads = std::mem::take(&mut *self.threads.lock());
        let (reply, answer) = oneshot::channel();
        let joining = move || {
            let joined: Vec<_> = threads.into_iter().map(JoinHandle::join).collect();
            let _ = reply.send(joined.iter().all(std::result::Result::is_ok));
        };
        let thread = std::thread::Builder::new().name("store-close".into()).spawn(joining);
        thread.map_err(|error| fault::system("cannot start a thread", error))?;
        match answer.await {
            Ok(true) => Ok(()),
            _ => Err(fault::broken("a thread panicked")),
        }
    }
}
