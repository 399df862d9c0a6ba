//! The store as one process reaches it: the reference store behind a connection that fails in every way a network can.

use crate::clock::sleep;
use crate::faults::{Fate, Fault};
use crate::hub::Hub;
use crate::process_state::ProcessState;
use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use onward_core::Span;
use onward_store::memory::Memory;
use onward_store::{
    AuditPage, Batch, Count, Cursor, Error, ErrorKind, FeedPage, Health, Home, IndexName, Key, LogEntry, Meta, Outcome,
    Page, Partition, Partitions, Range, Record, Result, Stats, Store, Wake,
};
use std::sync::Arc;
use tokio::sync::watch;

/// How long the store waits for its replica.
const REPLICA_PATIENCE: Span = Span::seconds(2);

/// A process's connection to the store.
#[derive(Debug)]
pub(crate) struct SimStore {
    hub: Arc<Hub>,
    state: Arc<ProcessState>,
    memory: Arc<Memory>,
}

impl SimStore {
    pub(crate) fn new(hub: Arc<Hub>, state: Arc<ProcessState>) -> Self {
        let memory = Arc::new(hub.memory().handle());
        Self { hub, state, memory }
    }

    /// The way back of a commit that has been applied.
    async fn come_back(&self, after: Span) {
        self.state.begin_return();
        pass(after).await;
        self.state.awake().await;
        self.state.end_return();
    }

    /// The way there of a read.
    async fn reach(&self) -> Result<()> {
        self.hub.called().await;
        self.state.awake().await;
        let now = self.hub.now();
        let process = self.state.process;
        let (latency, cut_off, fails) = self.hub.weather(|weather| {
            let (latency, cut_off) = (weather.latency(), weather.is_cut_off(process, now));
            (latency, cut_off, !cut_off && weather.read_fails())
        });
        if fails {
            self.hub.fault(Fault::Outage, format_args!("p{process} cannot read"));
        }
        pass(latency).await;
        self.state.awake().await;
        if cut_off || fails { Err(unavailable().unwritten()) } else { Ok(()) }
    }

    /// The way back: the answer waits while the process stands still.
    async fn back<T>(&self, answer: T) -> T {
        let (latency, stale) = self.hub.weather(|weather| (weather.latency(), weather.staleness()));
        if let Some(stale) = stale {
            self.hub.fault(Fault::StaleRead, format_args!("of p{} by {stale}", self.state.process));
        }
        pass(Span(latency.0 + stale.unwrap_or_default().0)).await;
        self.state.awake().await;
        answer
    }
}

/// Commits, and waits for the replica if there is one. Without it the commit is not acknowledged.
async fn commit_and_wait(hub: &Hub, memory: &Memory, process: usize, group: Vec<Batch>) -> Result<Vec<Outcome>> {
    let only_checks = group.iter().all(Batch::is_check_only);
    let outcomes = hub.commit(memory, process, group);
    if hub.is_unacknowledged(only_checks) {
        sleep(REPLICA_PATIENCE).await;
        return Err(unavailable());
    }
    outcomes
}

async fn pass(latency: Span) {
    if latency.0 > 0 {
        sleep(latency).await;
    }
}

fn unavailable() -> Error {
    Error::new(ErrorKind::Unavailable, "the simulated store cannot be reached")
}

#[async_trait]
impl Store for SimStore {
    async fn load(&self, partition: Partition, keys: &[Key]) -> Result<Vec<Option<Record>>> {
        self.reach().await?;
        self.hub.read(self.state.process, format_args!("loads {keys:?} of {partition}"));
        let rows = self.memory.load(partition, keys).await;
        self.back(rows).await
    }

    async fn commit(&self, group: Vec<Batch>) -> Result<Vec<Outcome>> {
        self.hub.called().await;
        self.state.awake().await;
        let (now, process) = (self.hub.now(), self.state.process);
        let fate = self
            .hub
            .weather(|weather| if weather.is_cut_off(process, now) { Fate::CutOff } else { weather.fate(&group) });
        match fate {
            Fate::Plain { before: Span(0), after } => {
                let outcomes = commit_and_wait(&self.hub, &self.memory, process, group).await;
                self.come_back(after).await;
                outcomes
            }
            Fate::Plain { before, after } => {
                // Sent is sent: the commit arrives even if the sender dies meanwhile.
                let (hub, memory) = (self.hub.clone(), self.memory.clone());
                let sent = tokio::spawn(async move {
                    sleep(before).await;
                    commit_and_wait(&hub, &memory, process, group).await
                });
                let outcomes = sent.await.unwrap_or_else(|_| Err(unavailable()));
                self.come_back(after).await;
                outcomes
            }
            Fate::SlowAnswer { after } => {
                self.hub.fault(Fault::SlowAnswer, format_args!("to p{process} by {after}"));
                let outcomes = commit_and_wait(&self.hub, &self.memory, process, group).await;
                self.come_back(after).await;
                outcomes
            }
            Fate::LostReply { before } => {
                self.hub.fault(Fault::LostReply, format_args!("to p{process}"));
                pass(before).await;
                // What the store answers is what gets lost.
                let _lost = self.hub.commit(&self.memory, process, group);
                self.back(Err(unavailable())).await
            }
            Fate::CutOff => self.back(Err(unavailable().unwritten())).await,
            Fate::NotApplied { known } => {
                self.hub.fault(Fault::NotApplied, format_args!("of p{process}"));
                let error = if known { unavailable().unwritten() } else { unavailable() };
                self.back(Err(error)).await
            }
            Fate::Late { after, very } => {
                let fault = if very { Fault::VeryLateCommit } else { Fault::LateCommit };
                self.hub.fault(fault, format_args!("of p{process} by {after}"));
                let (hub, memory) = (self.hub.clone(), self.memory.clone());
                if very {
                    hub.departs();
                }
                tokio::spawn(async move {
                    sleep(after).await;
                    // Nobody waits for this answer any more.
                    let _lost = hub.commit(&memory, process, group);
                    if very {
                        hub.arrives();
                    }
                });
                self.back(Err(unavailable())).await
            }
        }
    }

    async fn scan_many(
        &self,
        wanted: &[(IndexName, Range)],
        partitions: &Partitions,
        limit: usize,
    ) -> Result<Vec<Page>> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        self.reach().await?;
        for (index, range) in wanted {
            self.hub.read(self.state.process, format_args!("scans {} for {limit} in {range:?}", index.as_str()));
        }
        let pages = self
            .memory
            .scan_many(wanted, partitions, limit)
            .await
            .map(|pages| wanted.iter().zip(pages).map(|((index, _), page)| self.hub.page(index, page)).collect());
        self.back(pages).await
    }

    async fn count(&self, index: &IndexName, partitions: &Partitions, cap: u64) -> Result<Count> {
        self.reach().await?;
        self.memory.count(index, partitions, cap).await
    }

    async fn due(&self, partitions: &Partitions, range: Range, limit: usize) -> Result<Page> {
        self.reach().await?;
        self.hub.read(self.state.process, format_args!("looks for {limit} due times in {range:?}"));
        let found = self.memory.due(partitions, range, limit).await;
        self.back(found).await
    }

    async fn read_log(&self, partition: Partition, log: &Key, after: u64, limit: usize) -> Result<Vec<LogEntry>> {
        self.reach().await?;
        self.memory.read_log(partition, log, after, limit).await
    }

    async fn read_feed(&self, after: &Cursor, limit: usize) -> Result<FeedPage> {
        self.reach().await?;
        self.memory.read_feed(after, limit).await
    }

    async fn audit(&self, from: Option<&str>, limit: usize) -> Result<AuditPage> {
        self.reach().await?;
        self.hub.read(self.state.process, format_args!("audits {limit} from {from:?}"));
        let page = self.memory.audit(from, limit).await;
        self.back(page).await
    }

    fn watch(&self) -> BoxStream<'static, Wake> {
        let (hub, state) = (self.hub.clone(), self.state.clone());
        let hints = self.memory.watch().filter_map(move |wake| {
            let (hub, state) = (hub.clone(), state.clone());
            async move {
                state.awake().await;
                let now = hub.now();
                let lost = hub.weather(|weather| weather.hint_is_lost(state.process, now));
                if lost {
                    hub.fault(Fault::LostHint, format_args!("to p{}", state.process));
                }
                let mut wake = wake;
                if hub.loses_lane_news() && state.is_returning() {
                    wake.topics.retain(|topic| topic != "registry");
                }
                (!lost).then_some(wake)
            }
        });
        hints.boxed()
    }

    fn home(&self) -> watch::Receiver<Home> {
        self.state.home()
    }

    fn meta(&self) -> Meta {
        self.memory.meta()
    }

    async fn health(&self) -> Result<Health> {
        self.reach().await?;
        self.memory.health().await
    }

    fn stats(&self) -> Stats {
        self.memory.stats()
    }

    async fn close(&self) -> Result<()> {
        self.memory.close().await
    }
}
