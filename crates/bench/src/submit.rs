//! Submits in calls of 1,000 and one by one, against the same records committed in one group for each call.

use super::measure::{Meter, Tally};
use super::report::Report;
use super::rows::Rows;
use super::side::{Rounds, Side, end_all, take_turns};
use super::site::Fresh;
use super::{Error, Site, Size, progress, raw, work};
use async_trait::async_trait;
use futures_util::future::join_all;
use onward_core::{Arrival, Command, CommandId, ExecutionId, Lane, Millis, PartitionId, Submit, When};
use onward_engine::clock::{Chance, Clock, SystemClock};
use onward_engine::{Engine, Options};
use onward_store::Batch;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Executions that one turn submits at most.
const CALLS_MAX: usize = 1_000_000;

const ENGINE: usize = 0;
const RAW: usize = 1;
const NAMES: [&str; 2] = ["engine", "raw"];

/// How executions are submitted.
#[derive(Debug, Clone, Copy)]
struct Way {
    name: &'static str,
    callers: usize,
    per_call: usize,
}

pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("submit", site.url());
    let many = Way { name: "many in a call", callers: size.submitters, per_call: size.per_call };
    let one = Way { name: "one by one", callers: size.callers, per_call: 1 };
    let ratio = compare(site, size, many, &mut report).await?;
    compare(site, size, one, &mut report).await?;
    report.at_least("many in a call, engine / raw", ratio, 0.7, "");
    Ok(report)
}

/// Measures one way on both sides; the answer is the engine's part of raw.
async fn compare(site: &Site, size: &Size, way: Way, report: &mut Report) -> Result<f64, Error> {
    let Way { name: way_name, callers, per_call } = way;
    let calls = calls(site, size, way).await?;
    let mut rounds = Rounds::default();
    for round in 1..=size.rounds {
        progress(&format!("submit, {way_name}, round {round} of {}", size.rounds));
        let engine = EngineSide::start(site.fresh().await?, way).await?;
        let raw = RawSide::start(site.fresh().await?, way).await?;
        let mut sides: Vec<Box<dyn Side>> = vec![Box::new(engine), Box::new(raw)];
        let sums = take_turns(&mut sides, size.turns, calls).await?;
        sums.iter().zip(NAMES).for_each(|(sum, name)| report.count(&format!("{name}, {way_name}"), sum));
        rounds.add(sums);
        end_all(sides).await?;
    }
    report.figure(&format!("{way_name}, callers"), callers as f64, "");
    report.figure(&format!("{way_name}, executions in a call"), per_call as f64, "");
    for (side, name) in NAMES.into_iter().enumerate() {
        let of = |figure: fn(&Tally) -> f64| rounds.side(side, figure);
        report.spread(&format!("{way_name}, {name}"), &of(Tally::rate), "executions/s");
        report.spread(&format!("{way_name}, {name}, processor"), &of(Tally::processor_each), "µs/execution");
        report.spread(&format!("{way_name}, {name}, rows"), &of(Tally::rows_each), "rows/execution");
    }
    Ok(report.spread(&format!("{way_name}, engine / raw"), &rounds.ratios(ENGINE, RAW), ""))
}

/// How many calls fill one turn, found by making some.
async fn calls(site: &Site, size: &Size, way: Way) -> Result<usize, Error> {
    let mut side = EngineSide::start(site.fresh().await?, way).await?;
    let rate = side.run(way.callers * way.trial_calls()).await?.rate();
    Box::new(side).end().await?;
    let calls = rate / way.per_call as f64 * size.leg_seconds / size.turns as f64;
    Ok((calls as usize).clamp(way.callers, CALLS_MAX.div_ceil(way.per_call)))
}

impl Way {
    /// Calls of every caller that tell how fast it goes.
    fn trial_calls(self) -> usize {
        if self.per_call == 1 { 16 } else { 2 }
    }
}

/// Callers that submit in one of the ways.
struct EngineSide {
    engine: Engine,
    fresh: Fresh,
    way: Way,
}

impl EngineSide {
    async fn start(fresh: Fresh, way: Way) -> Result<Self, Error> {
        let engine = Engine::start(fresh.store.clone(), Options::default()).await?;
        let mut side = Self { engine, fresh, way };
        side.run(way.callers * way.trial_calls()).await?;
        Ok(side)
    }
}

#[async_trait]
impl Side for EngineSide {
    async fn run(&mut self, amount: usize) -> Result<Tally, Error> {
        let left = Arc::new(AtomicUsize::new(amount));
        let meter = Meter::start(&self.fresh.store)?;
        let task = || tokio::spawn(caller(self.engine.clone(), left.clone(), self.way.per_call));
        let tasks = (0..self.way.callers).map(|_| task());
        meter.end(Tally::of(join_all(tasks).await)?)
    }

    async fn end(self: Box<Self>) -> Result<(), Error> {
        self.engine.shutdown().await;
        self.fresh.discard().await
    }
}

async fn caller(engine: Engine, left: Arc<AtomicUsize>, per_call: usize) -> Tally {
    let new = work::execution(&work::name("bench"));
    let mut tally = Tally::default();
    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
        tally.tried += per_call;
        let answers = match per_call {
            1 => Ok(vec![engine.submit(new.clone()).await]),
            _ => engine.submit_many(vec![new.clone(); per_call]).await,
        };
        let failure = match answers {
            Ok(answers) => {
                tally.done += answers.iter().filter(|answer| answer.is_ok()).count();
                answers.into_iter().find_map(Result::err)
            }
            Err(error) => Some(error),
        };
        tally.failure = tally.failure.or(failure.map(|error| error.to_string()));
    }
    tally
}

/// Partitions among which the engine spreads the submits of one call.
const SPREAD: u16 = 4;

/// The same rows, one batch for each partition, one group for each call.
struct RawSide {
    fresh: Fresh,
    way: Way,
    rows: Vec<Rows>,
    chance: Chance,
    calls: u16,
}

impl RawSide {
    async fn start(fresh: Fresh, way: Way) -> Result<Self, Error> {
        let partitions = fresh.store.meta().partitions;
        let rows = (0..partitions).map(|id| Rows::new(PartitionId(id), partitions, false)).collect();
        let chance = Chance::from_os();
        let mut side = Self { fresh, way, rows, chance, calls: 0 };
        // Every partition's first submit also registers its queue. As long as one has not, two calls at once could
        // both expect to be the first, and the second would conflict.
        let (mut calls, mut registered) = (0, BTreeSet::new());
        while calls < way.callers || registered.len() < usize::from(partitions) {
            let group = side.group()?;
            registered.extend(group.iter().map(|batch| batch.partition));
            raw::commit(&*side.fresh.store, group).await?;
            calls += 1;
        }
        Ok(side)
    }

    /// What one call commits.
    fn group(&mut self) -> Result<Vec<Batch>, Error> {
        let (lane, now) = (work::name("bench"), SystemClock.now());
        let mut by_partition: BTreeMap<u16, Vec<(Command, Millis)>> = BTreeMap::new();
        let partitions = self.rows.len() as u16;
        for n in (0..SPREAD).cycle().take(self.way.per_call) {
            let mut submit = submit(&self.chance, &lane, now, When::Now, partitions);
            let partition = PartitionId((self.calls + n * partitions / SPREAD) % partitions);
            submit.id = ExecutionId::new(submit.id.uuid(), partition);
            by_partition.entry(partition.0).or_default().push((Command::Submit(submit), now));
        }
        self.calls = (self.calls + 1) % partitions;
        by_partition
            .into_iter()
            .map(|(partition, commands)| self.rows[usize::from(partition)].batch(&self.chance, &commands))
            .collect()
    }
}

#[async_trait]
impl Side for RawSide {
    async fn run(&mut self, amount: usize) -> Result<Tally, Error> {
        let pieces = (0..amount).map(|_| Ok(vec![self.group()?])).collect::<Result<Vec<_>, Error>>()?;
        let (Way { callers, per_call, .. }, store) = (self.way, &self.fresh.store);
        let tally = raw::write(store, pieces, callers).await?;
        Ok(Tally { tried: tally.tried * per_call, done: tally.done * per_call, ..tally })
    }

    async fn end(self: Box<Self>) -> Result<(), Error> {
        self.fresh.discard().await
    }
}

/// A submit as the engine makes it from [`work::execution`].
pub(crate) fn submit(chance: &Chance, lane: &Lane, now: Millis, when: When, partitions: u16) -> Submit {
    let mut new = Box::new(work::execution(lane));
    new.set_when(when);
    let arrived = Arrival::at(now, 0);
    Submit { command: CommandId(chance.id()), id: work::id(chance, now, partitions), arrived, new }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onward_store::{IndexName, Partitions};

    #[tokio::test]
    async fn raw_starts_with_a_queue_in_every_partition() {
        for per_call in [1, 5] {
            let fresh = Site::new("memory:").unwrap().fresh().await.unwrap();
            let (store, partitions) = (fresh.store.clone(), fresh.store.meta().partitions);
            let _side = RawSide::start(fresh, Way { name: "", callers: 1, per_call }).await.unwrap();
            let queues = store.count(&IndexName::new("queues"), &Partitions::All, 1_000).await.unwrap();
            assert_eq!(queues.n, u64::from(partitions));
        }
    }
}
