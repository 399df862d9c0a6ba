//! A store that shows every committed batch to somebody and otherwise behaves like the one inside.

use async_trait::async_trait;
use futures_util::stream::BoxStream;
use onward_store::{
    Batch, Count, Cursor, FeedPage, Found, Health, Home, IndexName, Key, LogEntry, Meta, Millis, Outcome, Page,
    Partition, Partitions, Range, Record, Result, Stats, Store, Wake,
};
use std::fmt;
use std::sync::Arc;
use tokio::sync::watch;

/// The store, and who is shown each batch as soon as its commit has returned.
pub(crate) struct Tap {
    inner: Arc<dyn Store>,
    show: Box<dyn Fn(Batch) + Send + Sync>,
}

impl Tap {
    pub(crate) fn new(inner: Arc<dyn Store>, show: impl Fn(Batch) + Send + Sync + 'static) -> Self {
        Self { inner, show: Box::new(show) }
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tap").field(&self.inner).finish()
    }
}

#[async_trait]
impl Store for Tap {
    async fn load(&self, partition: Partition, keys: &[Key]) -> Result<Vec<Option<Record>>> {
        self.inner.load(partition, keys).await
    }

    async fn commit(&self, group: Vec<Batch>) -> Result<Vec<Outcome>> {
        let copies = group.clone();
        let outcomes = self.inner.commit(group).await?;
        for (batch, outcome) in copies.into_iter().zip(&outcomes) {
            if matches!(outcome, Outcome::Committed { .. }) && !batch.is_check_only() {
                (self.show)(batch);
            }
        }
        Ok(outcomes)
    }

    async fn scan(&self, index: &IndexName, partitions: &Partitions, range: Range, limit: usize) -> Result<Page> {
        self.inner.scan(index, partitions, range, limit).await
    }

    async fn count(&self, index: &IndexName, partitions: &Partitions, cap: u64) -> Result<Count> {
        self.inner.count(index, partitions, cap).await
    }

    async fn due(&self, partitions: &Partitions, from: Millis, until: Millis, limit: usize) -> Result<Vec<Found>> {
        self.inner.due(partitions, from, until, limit).await
    }

    async fn read_log(&self, partition: Partition, log: &Key, after: u64, limit: usize) -> Result<Vec<LogEntry>> {
        self.inner.read_log(partition, log, after, limit).await
    }

    async fn read_feed(&self, after: &Cursor, limit: usize) -> Result<FeedPage> {
        self.inner.read_feed(after, limit).await
    }

    fn watch(&self) -> BoxStream<'static, Wake> {
        self.inner.watch()
    }

    fn home(&self) -> watch::Receiver<Home> {
        self.inner.home()
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
