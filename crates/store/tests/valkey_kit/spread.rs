//! A store of four partitions whose every partition has a hash tag of its own, so that the suite sees joined reads.

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use onward_store::conformance::Subject;
use onward_store::{
    AuditPage, Batch, Count, Cursor, FeedPage, Health, Home, IndexName, Key, LogEntry, Meta, Outcome, Page, Partition,
    Partitions, Range, Record, Result, Stats, Store, Wake, valkey,
};
use std::sync::Arc;
use tokio::sync::watch;

/// The distance of two partitions of which each has its own tag.
const APART: u16 = 16;

/// A store of 64 partitions of which every sixteenth is used.
pub(crate) struct Spread {
    pub(crate) url: String,
}

#[derive(Debug)]
struct Apart(valkey::Valkey);

#[async_trait]
impl Subject for Spread {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(Apart(valkey::open(&self.url).await.expect("the store opens")))
    }
}

fn out(partition: Partition) -> Partition {
    Partition(partition.0 * APART)
}

fn back(partition: Partition) -> Partition {
    Partition(partition.0 / APART)
}

fn all_out(partitions: &Partitions) -> Partitions {
    match partitions {
        Partitions::All => Partitions::All,
        Partitions::Some(list) => Partitions::Some(list.iter().copied().map(out).collect()),
    }
}

#[async_trait]
impl Store for Apart {
    async fn load(&self, partition: Partition, keys: &[Key]) -> Result<Vec<Option<Record>>> {
        self.0.load(out(partition), keys).await
    }

    async fn commit(&self, mut group: Vec<Batch>) -> Result<Vec<Outcome>> {
        group.iter_mut().for_each(|batch| batch.partition = out(batch.partition));
        self.0.commit(group).await
    }

    async fn scan_many(
        &self,
        wanted: &[(IndexName, Range)],
        partitions: &Partitions,
        limit: usize,
    ) -> Result<Vec<Page>> {
        let mut pages = self.0.scan_many(wanted, &all_out(partitions), limit).await?;
        let found = pages.iter_mut().flat_map(|page| &mut page.items);
        found.for_each(|found| found.partition = back(found.partition));
        Ok(pages)
    }

    async fn count(&self, index: &IndexName, partitions: &Partitions, cap: u64) -> Result<Count> {
        self.0.count(index, &all_out(partitions), cap).await
    }

    async fn due(&self, partitions: &Partitions, range: Range, limit: usize) -> Result<Page> {
        let mut due = self.0.due(&all_out(partitions), range, limit).await?;
        due.items.iter_mut().for_each(|found| found.partition = back(found.partition));
        Ok(due)
    }

    async fn read_log(&self, partition: Partition, log: &Key, after: u64, limit: usize) -> Result<Vec<LogEntry>> {
        self.0.read_log(out(partition), log, after, limit).await
    }

    async fn read_feed(&self, after: &Cursor, limit: usize) -> Result<FeedPage> {
        let mut page = self.0.read_feed(after, limit).await?;
        page.events.iter_mut().for_each(|event| event.partition = back(event.partition));
        Ok(page)
    }

    async fn audit(&self, from: Option<&str>, limit: usize) -> Result<AuditPage> {
        let mut page = self.0.audit(from, limit).await?;
        page.records.iter_mut().for_each(|(partition, _)| *partition = back(*partition));
        page.faults.iter_mut().for_each(|fault| fault.partition = back(fault.partition));
        Ok(page)
    }

    fn watch(&self) -> BoxStream<'static, Wake> {
        self.0.watch().map(|wake| Wake { partition: wake.partition.map(back), ..wake }).boxed()
    }

    fn home(&self) -> watch::Receiver<Home> {
        self.0.home()
    }

    fn meta(&self) -> Meta {
        Meta { partitions: 4, ..self.0.meta() }
    }

    async fn health(&self) -> Result<Health> {
        self.0.health().await
    }

    fn stats(&self) -> Stats {
        self.0.stats()
    }

    async fn close(&self) -> Result<()> {
        self.0.close().await
    }
}

/// Every check of the suite but that of the one breach which only partitions of one tag can notice.
#[macro_export]
macro_rules! spread_tests {
    ($make:path; $($area:ident :: $check:ident),* $(,)?) => { $(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $check() {
            onward_store::conformance::$area::$check(&$make().await).await;
        }
    )* };
}
