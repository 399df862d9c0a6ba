//! A store whose commits and reads pass through a layer: benchmarks observe them there, and tests make them fail.

use crate::{
    AuditPage, Batch, Count, Cursor, FeedPage, Health, Home, IndexName, Key, LogEntry, Meta, Outcome, Page, Partition,
    Partitions, Range, Record, Result, Stats, Store, Wake,
};
use async_trait::async_trait;
use futures_util::stream::BoxStream;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Intercepts the commits and reads of a store.
#[async_trait]
pub trait StoreLayer: Debug + Send + Sync + 'static {
    /// Called instead of [`Store::commit`]; passes the group on to `inner`, or does not.
    async fn commit(&self, inner: &dyn Store, group: Vec<Batch>) -> Result<Vec<Outcome>>;

    /// Called before every read except an audit. An error fails the read.
    async fn read(&self) -> Result<()> {
        Ok(())
    }
}

/// A store whose commits and reads go through a layer; everything else goes straight to the inner store.
#[derive(Debug)]
pub struct LayeredStore<L> {
    inner: Arc<dyn Store>,
    layer: L,
}

impl<L: StoreLayer> LayeredStore<L> {
    /// Wraps a store in a layer.
    pub fn new(inner: Arc<dyn Store>, layer: L) -> Self {
        Self { inner, layer }
    }

    /// The layer.
    pub fn layer(&self) -> &L {
        &self.layer
    }

    /// The inner store.
    pub fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }
}

#[async_trait]
impl<L: StoreLayer> Store for LayeredStore<L> {
    async fn load(&self, partition: Partition, keys: &[Key]) -> Result<Vec<Option<Record>>> {
        self.layer.read().await?;
        self.inner.load(partition, keys).await
    }

    async fn commit(&self, group: Vec<Batch>) -> Result<Vec<Outcome>> {
        self.layer.commit(&*self.inner, group).await
    }

    async fn scan_many(
        &self,
        wanted: &[(IndexName, Range)],
        partitions: &Partitions,
        limit: usize,
    ) -> Result<Vec<Page>> {
        if !wanted.is_empty() {
            self.layer.read().await?;
        }
        self.inner.scan_many(wanted, partitions, limit).await
    }

    async fn count(&self, index: &IndexName, partitions: &Partitions, cap: u64) -> Result<Count> {
        self.layer.read().await?;
        self.inner.count(index, partitions, cap).await
    }

    async fn due(&self, partitions: &Partitions, range: Range, limit: usize) -> Result<Page> {
        self.layer.read().await?;
        self.inner.due(partitions, range, limit).await
    }

    async fn read_log(&self, partition: Partition, log: &Key, after: u64, limit: usize) -> Result<Vec<LogEntry>> {
        self.layer.read().await?;
        self.inner.read_log(partition, log, after, limit).await
    }

    async fn read_feed(&self, after: &Cursor, limit: usize) -> Result<FeedPage> {
        self.layer.read().await?;
        self.inner.read_feed(after, limit).await
    }

    async fn audit(&self, from: Option<&str>, limit: usize) -> Result<AuditPage> {
        self.inner.audit(from, limit).await
    }

    fn watch(&self) -> BoxStream<'static, Wake> {
        self.inner.watch()
    }

    fn home(&self) -> watch::Receiver<Home> {
        self.inner.home()
    }

    fn yield_home(&self, pause: Duration) {
        self.inner.yield_home(pause);
    }

    fn meta(&self) -> Meta {
        self.inner.meta()
    }

    async fn health(&self) -> Result<Health> {
        self.inner.health().await
    }

    fn stats(&self) -> Stats {
        self.inner.stats()
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}
