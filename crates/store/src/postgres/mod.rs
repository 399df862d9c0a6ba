//! How records live in a schema of a Postgres database: a group of commits is one call of one generic function.
//!
//! Any number of processes may open the same schema. Commits to a partition take its advisory lock inside the call, so
//! no process holds a lock while it thinks. One connection writes, and a second when much waits, since one call for all
//! costs less than several beside each other; a few read, state by all readers; one listens for hints. All heal by themselves.
//!
//! Through PgBouncer in transaction mode everything works but hints, which need a connection of their own: without them
//! other processes learn of commits by their own slow looks. It must be 1.21 or newer with `max_prepared_statements` set,
//! and have `ignore_startup_parameters = options`.

mod address;
mod answer;
mod audit;
mod changes;
mod fault;
mod feed;
#[cfg(test)]
mod fuzz;
mod group;
mod link;
mod pause;
mod query;
mod readers;
mod schema;
mod statement;
mod tls;
mod value;
mod wake;
mod writer;

use crate::place_cache::PlaceCache;
use crate::{
    AuditPage, Batch, Clock, Count, Cursor, FeedPage, Health, Home, IndexName, Key, LogEntry, Meta, Outcome, Page,
    Partition, Partitions, Range, Record, Result, Stats, Store, Wake, check,
};
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use link::Link;
use parking_lot::Mutex;
use readers::Readers;
use statement::Ask;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wake::Wakes;
use writer::Request;

/// What can be chosen beside the URL.
#[derive(Clone, Default)]
pub struct Options {
    /// Views for SQL users, name and query, created when they are missing or different. A query may name the tables
    /// without their schema, and read a body with `body_json(body)` and a rank with `rank_of(rank)`.
    pub views: &'static [(&'static str, &'static str)],
    /// The clock that windows are judged by, for tests that hold one; otherwise the server's.
    #[doc(hidden)]
    pub clock: Option<Clock>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("views", &self.views).finish_non_exhaustive()
    }
}

/// Opens the store in a schema, which is made when it does not exist:
/// `postgres://user:password@host:port/database?schema=onward&partitions=64&sslmode=prefer`.
///
/// `partitions` is fixed for ever once the store is made; left out, it is what the store has, or 64. `sslmode` is
/// `disable`, `prefer`, `require` (encrypted, whoever answers) or `verify-full` (with `sslrootcert`, a file of
/// authorities, or else the system's).
///
/// Refuses, without changing anything, a schema of another program or of a newer version, a server that is too old, is a
/// standby or would lose commits, and a role that may not write.
pub async fn open(url: &str, options: Options) -> Result<Postgres> {
    let address = Arc::new(address::parse(url)?);
    let mut client = link::connect(&address).await?;
    let meta = schema::prepare(&mut client, &address, options.views).await?;
    let state = Arc::new(PostgresState {
        meta,
        lock_id: lock_id(meta.store_id),
        clock: options.clock,
        wakes: Wakes::new(),
        written: Mutex::default(),
        place_cache: Mutex::default(),
        home: watch::channel(Home::ByMembership).0,
    });
    let (requests, queue) = mpsc::channel(writer::REQUESTS_WAITING_MAX);
    let links = [(); writer::WRITERS].map(|()| Link::new(Arc::clone(&address)));
    let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
    tasks.spawn(writer::run(links, queue, Arc::clone(&state)));
    let (ready, is_ready) = oneshot::channel();
    tasks.spawn(wake::run(Arc::clone(&address), Arc::clone(&state), stop.clone(), ready));
    // Made before the wait, so that a caller who gives up during it stops the tasks.
    let store = Postgres { state, requests, readers: Readers::new(&address), stop, tasks };
    // Hints are not needed to go on, so a listener that cannot start is no reason to fail.
    let _ = is_ready.await;
    Ok(store)
}

/// The number that a store's advisory locks start with; two stores with the same one only wait for each other.
#[allow(clippy::cast_possible_truncation)] // All parts of the id are folded into what is kept.
fn lock_id(store_id: u128) -> i32 {
    let folded = (store_id >> 64) as u64 ^ store_id as u64;
    ((folded >> 32) as u32 ^ folded as u32).cast_signed()
}

/// A store in a schema of a Postgres database.
pub struct Postgres {
    state: Arc<PostgresState>,
    requests: mpsc::Sender<Request>,
    readers: Readers,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// What the handle and the tasks of one store share.
struct PostgresState {
    meta: Meta,
    lock_id: i32,
    /// Set by tests that control the time; otherwise the server's clock decides.
    clock: Option<Clock>,
    wakes: Wakes,
    written: Mutex<Stats>,
    /// Where the records are listed that this process read or wrote last.
    place_cache: Mutex<PlaceCache>,
    home: watch::Sender<Home>,
}

impl PostgresState {
    fn count(&self, group: Stats) {
        self.written.lock().add(group);
    }
}

impl Postgres {
    fn is_open(&self) -> Result<()> {
        if self.stop.is_cancelled() { Err(check::closed()) } else { Ok(()) }
    }

    /// From here on it takes nothing and is no home.
    fn end(&self) {
        self.stop.cancel();
        self.state.home.send_replace(Home::Nowhere);
    }

    fn reading(&self) -> Result<&Readers> {
        self.is_open()?;
        self.readers.count();
        Ok(&self.readers)
    }
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").field("meta", &self.state.meta).finish_non_exhaustive()
    }
}

impl Drop for Postgres {
    /// The tasks end on their own: the writer once its queue is empty and nobody can add to it.
    fn drop(&mut self) {
        self.end();
    }
}

#[async_trait]
impl Store for Postgres {
    async fn load(&self, partition: Partition, keys: &[Key]) -> Result<Vec<Option<Record>>> {
        check::load(partition, keys, self.state.meta.partitions)?;
        let found = query::load(self.reading()?, partition, keys).await?;
        let mut place_cache = self.state.place_cache.lock();
        found.iter().flatten().for_each(|record| place_cache.learn(record));
        drop(place_cache);
        Ok(found)
    }

    async fn commit(&self, group: Vec<Batch>) -> Result<Vec<Outcome>> {
        self.is_open()?;
        let plans = check::plan_all(group, self.state.meta.partitions)?;
        if plans.is_empty() {
            return Ok(Vec::new());
        }
        writer::submit(&self.requests, plans).await
    }

    async fn scan_many(
        &self,
        wanted: &[(IndexName, Range)],
        partitions: &Partitions,
        limit: usize,
    ) -> Result<Vec<Page>> {
        if wanted.is_empty() {
            return self.is_open().map(|()| Vec::new());
        }
        query::scan_many(self.reading()?, wanted, partitions, limit).await
    }

    async fn count(&self, index: &IndexName, partitions: &Partitions, cap: u64) -> Result<Count> {
        query::count(self.reading()?, index, partitions, cap).await
    }

    async fn due(&self, partitions: &Partitions, range: Range, limit: usize) -> Result<Page> {
        query::due(self.reading()?, partitions, &range, limit).await
    }

    async fn read_log(&self, partition: Partition, log: &Key, after: u64, limit: usize) -> Result<Vec<LogEntry>> {
        check::partition_exists(partition, self.state.meta.partitions)?;
        query::read_log(self.reading()?, partition, log, after, limit).await
    }

    async fn read_feed(&self, after: &Cursor, limit: usize) -> Result<FeedPage> {
        feed::read(self.reading()?, after, limit, self.state.meta.partitions).await
    }

    async fn audit(&self, from: Option<&str>, limit: usize) -> Result<AuditPage> {
        audit::page(self.reading()?, from, limit).await
    }

    fn watch(&self) -> BoxStream<'static, Wake> {
        self.state.wakes.watch(self.stop.clone())
    }

    fn home(&self) -> watch::Receiver<Home> {
        self.state.home.subscribe()
    }

    fn meta(&self) -> Meta {
        self.state.meta
    }

    async fn health(&self) -> Result<Health> {
        let rows = self.reading()?.read(Ask::Settings, &[]).await?;
        let row = rows.first().ok_or_else(|| fault::corrupt("the settings are not told"))?;
        let (durability, detail) = statement::durability(row)?;
        Ok(Health { durability, detail })
    }

    fn stats(&self) -> Stats {
        let written = *self.state.written.lock();
        Stats { reads: self.readers.reads(), ..written }
    }

    async fn close(&self) -> Result<()> {
        self.end();
        // An error means that the writer has ended already.
        let _ = self.requests.send(Request::Close).await;
        // A task that panicked counts as ended: the callers of a writer that panicked got an error.
        self.tasks.close();
        self.tasks.wait().await;
        self.readers.close().await;
        Ok(())
    }
}
