//! Fills a store as a long life would: finished and waiting executions, made by the rules and written in bulk.

use super::rows::Rows;
use super::{Error, progress, raw, submit, work};
use onward_core::{
    Claim, Class, Command, CommandId, Fence, Lane, LeaseId, Millis, PartitionId, Report, Span, When, end, limits,
};
use onward_engine::clock::{Chance, Clock, SystemClock};
use onward_store::{Batch, Store, Window};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Lanes over which finished work is spread; the first is the one that is measured.
pub(crate) const LANES: [&str; 8] = ["bench", "mail", "billing", "search", "reports", "media", "sync", "audit"];
/// The lane in which waiting work waits.
pub(crate) const BACKLOG: &str = "backlog";

/// Executions written in one group.
const GROUP: usize = 2_000;
/// Groups prepared ahead of the store.
const AHEAD: usize = 4;
/// A usual span of time for a life to go on.
pub(crate) const LIFE: Span = Span::hours(6);

/// What to write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seed {
    pub(crate) finished: usize,
    pub(crate) waiting: usize,
    /// How long ended executions are kept; all of them have ended longer ago than that.
    pub(crate) retention: Option<Span>,
    /// The span of time over which this life went on.
    pub(crate) life: Span,
}

/// Writes finished and waiting executions.
pub(crate) async fn fill(store: &Arc<dyn Store>, seed: &Seed) -> Result<(), Error> {
    let (sender, mut groups) = mpsc::channel(AHEAD);
    let (partitions, seed) = (store.meta().partitions, *seed);
    let maker = tokio::task::spawn_blocking(move || {
        let mut life = Life::new(seed, partitions);
        while let Some(group) = life.group()? {
            if sender.blocking_send(group).is_err() {
                break;
            }
        }
        Ok::<(), Error>(())
    });
    let (mut written, total) = (0, seed.finished + seed.waiting);
    while let Some(group) = groups.recv().await {
        raw::commit(&**store, group).await?;
        written += GROUP;
        if written % 100_000 == 0 {
            progress(&format!("{written} of {total} executions written"));
        }
    }
    maker.await.map_err(|panic| Error::Broken(panic.to_string()))?
}

/// What is still to be made, in the order of time.
struct Life {
    rows: Vec<Rows>,
    chance: Chance,
    lanes: Vec<Lane>,
    backlog: Lane,
    seed: Seed,
    begun: Millis,
    made: usize,
}

impl Life {
    fn new(seed: Seed, partitions: u16) -> Self {
        let ended = SystemClock.now() - seed.retention.unwrap_or_default();
        Self {
            rows: (0..partitions).map(|id| Rows::new(PartitionId(id), partitions, false)).collect(),
            chance: Chance::from_os(),
            lanes: LANES.iter().map(|lane| work::name(lane)).collect(),
            backlog: work::name(BACKLOG),
            seed,
            begun: ended - seed.life,
            made: 0,
        }
    }

    /// The next batches, one for each partition; nothing when all is made.
    fn group(&mut self) -> Result<Option<Vec<Batch>>, Error> {
        let total = self.seed.finished + self.seed.waiting;
        let count = GROUP.min(total - self.made);
        let mut by_partition: BTreeMap<u16, Vec<(Command, Millis)>> = BTreeMap::new();
        for at in self.made..self.made + count {
            let created = self.begun + Span(self.seed.life.0 * at as u64 / total as u64);
            // Waiting work is spread evenly among the finished.
            let waits = (at + 1) * self.seed.waiting / total > at * self.seed.waiting / total;
            let lane = if waits { &self.backlog } else { &self.lanes[at % self.lanes.len()] };
            let mut submit = submit::submit(&self.chance, lane, created, When::Now, self.rows.len() as u16);
            submit.new.policy.retention = self.seed.retention;
            let commands = by_partition.entry(submit.id.partition().0).or_default();
            let id = submit.id;
            commands.push((submit.into(), created));
            if !waits {
                commands.extend(self.run(id, created));
            }
        }
        self.made += count;
        let batches: Result<Vec<Batch>, Error> = by_partition
            .into_iter()
            .map(|(partition, commands)| {
                let batch = self.rows[usize::from(partition)].batch(&self.chance, &commands)?;
                // The leases in it ran out long ago, which is no matter since they also ended then.
                Ok(Batch { window: Window::default(), ..batch })
            })
            .collect();
        batches.map(|batches| (count > 0).then_some(batches))
    }

    /// What a worker did with an execution.
    fn run(&self, execution: onward_core::ExecutionId, created: Millis) -> [(Command, Millis); 2] {
        let lease = LeaseId(self.chance.id());
        let claim = Claim {
            execution,
            lease,
            worker: work::name("bench-worker-1"),
            build: None,
            capabilities: Class::default(),
            ttl: limits::LEASE_DEFAULT,
        };
        let fence = Fence { execution, lease, epoch: 1, attempt: 1 };
        let end = end::Complete { result: work::result() }.into();
        let complete = Report { command: CommandId(self.chance.id()), fence, end };
        [(claim.into(), created + Span(5)), (complete.into(), created + Span(25))]
    }
}
