//! How records live in Valkey or Redis, one server or a cluster: one script checks and writes, everything else reads.
//!
//! What a commit survives is the server's business and is reported by `health`. An unplanned failover can lose answered
//! commits; each partition is then as it was after an earlier commit, never between two.

mod address;
mod audit;
mod commit;
mod fault;
mod feed;
#[cfg(test)]
mod fuzz;
mod info;
mod keys;
mod net;
mod open;
mod queue;
mod read;
mod script;
mod slots;
mod value;
mod watch;

use crate::check::Plan;
use crate::{
    AuditPage, Batch, Clock, Count, Cursor, Error, ErrorKind, FeedPage, Health, Home, IndexName, Key, LogEntry, Meta,
    Outcome, Page, Partition, Partitions, Range, Record, Result, Stats, Store, Wake, check,
};
use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream::{self, BoxStream};
use keys::Keys;
use net::Net;
use parking_lot::Mutex;
use queue::Request;
use read::Reader;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Opens the store that an address names, which is made when there is none under its prefix.
///
/// `valkey://` or `redis://`, with a further `s` for TLS; `user:password@`; one host, or several of a cluster; `/db`; and
/// `?prefix=onward&partitions=64&cluster=true&wait=1`, where `wait` is how many replicas must have a commit before it is
/// answered. Refuses, without changing anything, a server that cannot keep what it is given, and a prefix that belongs to
/// something else.
pub async fn open(address: &str) -> Result<Valkey> {
    open::open(address, None).await
}

/// The same with a clock that windows are judged by instead of the server's, for tests that hold one.
#[doc(hidden)]
pub async fn open_with_clock(address: &str, clock: Clock) -> Result<Valkey> {
    open::open(address, Some(clock)).await
}

/// A store in Valkey or Redis.
pub struct Valkey {
    net: Arc<Net>,
    keys: Arc<Keys>,
    meta: Meta,
    state: Arc<ValkeyState>,
    /// One for each tag.
    queues: Vec<mpsc::Sender<Request>>,
    hints: broadcast::Sender<Wake>,
    closed: CancellationToken,
    home: tokio::sync::watch::Sender<Home>,
    /// Awaited by the first close, which reports whether one of them panicked.
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

/// What the handle and the tasks of one store share.
struct ValkeyState {
    /// Tells this handle's own messages from others.
    origin: u64,
    /// Set by tests that control the time; otherwise the server's clock decides.
    clock: Option<Clock>,
    reads: AtomicU64,
    written: Mutex<Stats>,
}

impl ValkeyState {
    fn count(&self, group: Stats) {
        self.written.lock().add(group);
    }
}

/// One caller's batches of one tag, with their places in the caller's group.
struct Split {
    places: Vec<usize>,
    plans: Vec<Plan>,
}

impl Valkey {
    fn is_open(&self) -> Result<()> {
        if self.closed.is_cancelled() { Err(check::closed()) } else { Ok(()) }
    }

    fn reading(&self) -> Result<Reader<'_>> {
        self.is_open()?;
        self.state.reads.fetch_add(1, Ordering::Relaxed);
        Ok(Reader { net: &self.net, keys: &self.keys })
    }

    /// Hands the batches of one tag to its queue and waits for their outcomes.
    async fn send(&self, tag: usize, split: Split) -> (Vec<usize>, Vec<Result<Outcome>>) {
        let Split { places, plans } = split;
        let (reply, answer) = oneshot::channel();
        let answers = match self.queues[tag].send(Request { plans, reply }).await {
            Err(_) => places.iter().map(|_| Err(check::closed())).collect(),
            // Every request that is taken is answered; without an answer the task died, and the outcome is unknown.
            Ok(()) => answer.await.unwrap_or_else(|_| places.iter().map(|_| Err(dead())).collect()),
        };
        (places, answers)
    }

    fn stop(&self) {
        self.closed.cancel();
        self.home.send_replace(Home::Nowhere);
    }
}

fn dead() -> Error {
    Error::new(ErrorKind::Closed, "the task that commits ended: open the store again")
}

impl std::fmt::Debug for Valkey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Valkey").field("address", self.net.address()).field("meta", &self.meta).finish_non_exhaustive()
    }
}

impl Drop for Valkey {
    /// The tasks end on their own, those that commit once their queues are empty.
    fn drop(&mut self) {
        self.stop();
    }
}

#[async_trait]
impl Store for Valkey {
    async fn load(&self, partition: Partition, keys: &[Key]) -> Result<Vec<Option<Record>>> {
        check::load(partition, keys, self.meta.partitions)?;
        self.reading()?.load(partition, keys).await
    }

    async fn commit(&self, group: Vec<Batch>) -> Result<Vec<Outcome>> {
        self.is_open()?;
        let plans = check::plan_all(group, self.meta.partitions)?;
        let count = plans.len();
        let mut writes = vec![false; count];
        let mut splits: Vec<Option<Split>> = self.queues.iter().map(|_| None).collect();
        for (place, plan) in plans.into_iter().enumerate() {
            writes[place] = !plan.batch.is_check_only();
            let tag = self.keys.at(plan.batch.partition);
            let split = splits[tag].get_or_insert_with(|| Split { places: Vec::new(), plans: Vec::new() });
            split.places.push(place);
            split.plans.push(plan);
        }
        let sends = splits.into_iter().enumerate().filter_map(|(tag, split)| Some(self.send(tag, split?)));
        let mut outcomes: Vec<Option<Outcome>> = vec![None; count];
        let (mut failure, mut written) = (None::<Error>, false);
        for (places, answers) in join_all(sends).await {
            for (place, answer) in places.into_iter().zip(answers) {
                match answer {
                    Ok(outcome) => {
                        written |= writes[place] && matches!(outcome, Outcome::Committed { .. });
                        outcomes[place] = Some(outcome);
                    }
                    Err(error) => {
                        written |= writes[place] && !error.is_unwritten();
                        failure.get_or_insert(error);
                    }
                }
            }
        }
        match failure {
            Some(error) if written => Err(error.written()),
            Some(error) => Err(error),
            None => Ok(outcomes.into_iter().flatten().collect()),
        }
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
        self.reading()?.scan_many(wanted, partitions, limit).await
    }

    async fn count(&self, index: &IndexName, partitions: &Partitions, cap: u64) -> Result<Count> {
        self.reading()?.count(index, partitions, cap).await
    }

    async fn due(&self, partitions: &Partitions, range: Range, limit: usize) -> Result<Page> {
        self.reading()?.due(partitions, &range, limit).await
    }

    async fn read_log(&self, partition: Partition, log: &Key, after: u64, limit: usize) -> Result<Vec<LogEntry>> {
        check::partition_exists(partition, self.meta.partitions)?;
        self.reading()?.log(partition, log, after, limit).await
    }

    async fn read_feed(&self, after: &Cursor, limit: usize) -> Result<FeedPage> {
        self.reading()?.feed(after, limit).await
    }

    async fn audit(&self, from: Option<&str>, limit: usize) -> Result<AuditPage> {
        self.reading()?.audit(from, limit).await
    }

    fn watch(&self) -> BoxStream<'static, Wake> {
        let (hints, closed) = (self.hints.subscribe(), self.closed.clone());
        stream::unfold((hints, closed), |(mut hints, closed)| async move {
            let wake = tokio::select! {
                biased;
                () = closed.cancelled() => None,
                wake = hints.recv() => match wake {
                    Ok(wake) => Some(wake),
                    Err(broadcast::error::RecvError::Lagged(_)) => Some(Wake { partition: None, topics: Vec::new() }),
                    Err(broadcast::error::RecvError::Closed) => None,
                },
            };
            wake.map(|wake| (wake, (hints, closed)))
        })
        .boxed()
    }

    fn home(&self) -> tokio::sync::watch::Receiver<Home> {
        self.home.subscribe()
    }

    fn meta(&self) -> Meta {
        self.meta
    }

    async fn health(&self) -> Result<Health> {
        self.is_open()?;
        info::health(&self.net).await
    }

    fn stats(&self) -> Stats {
        let written = *self.state.written.lock();
        Stats { reads: self.state.reads.load(Ordering::Relaxed), ..written }
    }

    async fn close(&self) -> Result<()> {
        self.stop();
        let tasks = std::mem::take(&mut *self.tasks.lock());
        let ended = join_all(tasks).await;
        if ended.iter().all(std::result::Result::is_ok) { Ok(()) } else { Err(dead()) }
    }
}
