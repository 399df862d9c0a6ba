//! Where records live: the `Store` trait, its vocabulary, and the contract every store keeps.
//!
//! A store keeps **records** (key → bytes, version, index entries, optional due time) grouped by partition, **logs**
//! (append-only, each owned by a record) and one **feed** per partition. Its single write is an atomic, conditional
//! [`Batch`] on one partition. It knows keys, bytes, versions and ranks, and nothing about what they mean.
//!
//! The contract, which the module `conformance` checks on every store:
//!
//! 1. All of a batch's expectations hold and all its writes happen, or none do. A conflict is an answer, not an error.
//! 2. A key belongs to one partition for ever; asking for it in another is [`ErrorKind::Invalid`].
//! 3. Index entries and the due time belong to their record and change in the same batch; they cannot drift.
//! 4. Order is `(rank, key)` with keys compared bytewise, the same on every store.
//! 5. Feed positions of a partition increase, perhaps sparsely; once a reader has seen position `p`, nothing at or
//!    below `p` appears later.
//! 6. A committed answer means durable, to the level that [`Store::health`] reports.
//! 7. The window is compared with the store's own clock inside the commit.
//! 8. A page of an audit is read at one moment: on a healthy store no page ever names a fault, whatever is being written.

mod audit;
mod batch;
mod check;
mod clock;
mod cost;
mod error;
mod feed;
mod key;
mod layered;
mod layout;
pub mod limits;
mod page;
#[cfg(any(feature = "postgres", feature = "valkey"))]
mod pending_hints;
#[cfg(feature = "postgres")]
mod place_cache;
mod record;
#[cfg(any(feature = "postgres", feature = "sqlite"))]
mod sql;

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
pub mod memory;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "sqlite")]
pub mod sqlite;
#[cfg(feature = "valkey")]
pub mod valkey;

pub use audit::{AuditPage, Fault, FaultKind, IndexPlace, Mend};
pub use batch::{Append, Batch, Outcome, Trim, Wake, Window};
pub use clock::system_clock;
pub use error::{Error, ErrorKind, Result};
pub use key::{IndexName, Key, Partition, Version};
pub use layered::{LayeredStore, StoreLayer};
pub use page::{Count, Cursor, Direction, Event, FeedPage, Found, LogEntry, Page, Partitions, Range, mark};
pub use record::{Entry, Record};

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// A time on the store's clock, in milliseconds since the Unix epoch.
pub type Millis = u64;

/// The clock a store judges windows by; injected so that tests and simulations can hold it.
pub type Clock = Arc<dyn Fn() -> Millis + Send + Sync>;

/// A durable, partitioned record store with one conditional write.
#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug + 'static {
    /// The current record of each key, in the order asked; `None` where there is none.
    async fn load(&self, partition: Partition, keys: &[Key]) -> Result<Vec<Option<Record>>>;

    /// Commits each batch on its own, in order, and answers one outcome for each.
    ///
    /// An outcome is as durable for a batch that only checks as for one that writes: whatever it was judged by, also a
    /// commit of another process, is synced and replicated as far as the store promises before the outcome is returned.
    ///
    /// An error means that no outcome is known for any batch of the group unless [`Error::is_unwritten`] says that
    /// nothing was written.
    async fn commit(&self, group: Vec<Batch>) -> Result<Vec<Outcome>>;

    /// Entries of several indexes, each in `(rank, key)` order and in its own range: one page for each, in the order asked,
    /// of at most `limit` entries each. It is one read; the pages may be of different moments.
    ///
    /// A name that no index can have gives an empty page. To want nothing is answered without reading.
    async fn scan_many(
        &self,
        wanted: &[(IndexName, Range)],
        partitions: &Partitions,
        limit: usize,
    ) -> Result<Vec<Page>>;

    /// Entries of one index in `(rank, key)` order.
    async fn scan(&self, index: &IndexName, partitions: &Partitions, range: Range, limit: usize) -> Result<Page> {
        let pages = self.scan_many(&[(index.clone(), range)], partitions, limit).await?;
        Ok(pages.into_iter().next().unwrap_or_default())
    }

    /// How many entries an index has, counted up to `cap`.
    async fn count(&self, index: &IndexName, partitions: &Partitions, cap: u64) -> Result<Count>;

    /// Records by their due times, in the order of an index; the rank of each is its due time.
    async fn due(&self, partitions: &Partitions, range: Range, limit: usize) -> Result<Page>;

    /// Entries of a record's log with a sequence above `after`, in order.
    async fn read_log(&self, partition: Partition, log: &Key, after: u64, limit: usize) -> Result<Vec<LogEntry>>;

    /// Events of all partitions after the cursor, in order for each partition. Pages take turns among the partitions, or
    /// follow the order of commits, so that a busy partition keeps no other waiting.
    async fn read_feed(&self, after: &Cursor, limit: usize) -> Result<FeedPage>;

    /// Records and index rows of all partitions from a cursor on, each compared with the other; see [`AuditPage`].
    ///
    /// Whatever exists from the first page to the last is seen, perhaps twice. A `from` that the store did not give is
    /// [`ErrorKind::Invalid`].
    async fn audit(&self, from: Option<&str>, limit: usize) -> Result<AuditPage>;

    /// Hints that something was committed by another process; hints may be lost, merged or spurious.
    fn watch(&self) -> BoxStream<'static, Wake>;

    /// Whether this process runs the store's background work, and for which partitions.
    fn home(&self) -> watch::Receiver<Home>;

    /// Offers the background work of this process to others on the store: for this long it does not try to have it, unless
    /// it shares the work by membership, which this does not change. If no other process takes it, it has it back then.
    fn yield_home(&self, _pause: Duration) {}

    /// What was fixed when the store was initialised.
    fn meta(&self) -> Meta;

    /// Asks the store whether it can serve, and how durable a commit is.
    async fn health(&self) -> Result<Health>;

    /// Work done by this handle since it was opened.
    fn stats(&self) -> Stats;

    /// Finishes what was accepted, then releases files, locks and threads; later calls answer [`ErrorKind::Closed`].
    async fn close(&self) -> Result<()>;
}

/// Which partitions' timers, messages and audits this process runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Home {
    /// None: another process does.
    Nowhere,
    /// All of them: this process owns the store.
    Everywhere,
    /// Those that the membership records assign to it.
    ByMembership,
}

/// What was fixed when the store was initialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// Drawn at initialisation; tells two stores apart.
    pub store_id: u128,
    /// How many partitions the store has, for ever.
    pub partitions: u16,
    /// The layout of the store's own tables.
    pub layout: u32,
}

/// What a successful health check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// What a committed answer survives.
    pub durability: Durability,
    /// One readable sentence for an operator.
    pub detail: String,
}

/// What a committed answer survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// Nothing: records end with the process or the server.
    Memory,
    /// A crash of the process, but up to a second is lost with the machine.
    Lazy,
    /// A crash of the machine.
    Disk,
    /// The loss of a machine.
    Replicated,
}

/// Work done by a store handle since it was opened; every count only grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Read calls: loads, scans, counts, dues, logs and feeds.
    pub reads: u64,
    /// Groups that wrote something and were made durable together.
    pub groups: u64,
    /// Batches that committed, expectation-only ones included.
    pub batches: u64,
    /// Batches refused by a changed version.
    pub conflicts: u64,
    /// Rows inserted, updated or deleted by committed batches.
    pub rows: u64,
    /// Payload bytes of those rows: keys, bodies, entries and events.
    pub bytes: u64,
}

impl Stats {
    /// Adds what a group did.
    #[cfg(any(feature = "postgres", feature = "sqlite", feature = "valkey"))]
    fn add(&mut self, group: Self) {
        self.reads += group.reads;
        self.groups += group.groups;
        self.batches += group.batches;
        self.conflicts += group.conflicts;
        self.rows += group.rows;
        self.bytes += group.bytes;
    }
}
