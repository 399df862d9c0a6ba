//! What waiting costs: from a signal to running on a parked worker, and lives that are suspended once, beside plain ones.

use super::capture::{self, Captured};
use super::lifecycle;
use super::load::EngineSide;
use super::measure::{Meter, Stopwatch, Tally, percentile, sorted};
use super::report::Report;
use super::side::{Rounds, Side, end_all, take_turns};
use super::site::Fresh;
use super::work::{self, PATIENCE};
use super::{Error, Site, Size, progress, raw};
use async_trait::async_trait;
use futures_util::future::{join, join_all};
use onward_core::record::WaitAddress;
use onward_core::{
    Claimed, CommandId, Condition, ExecutionId, Lane, Namespace, NewSignal, NewSuspension, Signal, Suspend, WaitName,
};
use onward_engine::clock::Chance;
use onward_engine::{Engine, Options};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Samples before each measurement.
const WARM_UP: usize = 20;

pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("suspend", site.url());
    let lane: Lane = work::name("bench");
    latency(&mut report, site, size, &lane).await?;
    let amount = lifecycle::amount(site, size, &lane).await?;
    let warm_up = size.callers * lifecycle::WARM_UP;
    let mut rounds = Rounds::default();
    for round in 1..=size.rounds {
        progress(&format!("suspend, round {round} of {}", size.rounds));
        let mut sides: Vec<Box<dyn Side>> = vec![
            Box::new(SuspendedSide::start(site.fresh().await?, &lane, size.callers, warm_up).await?),
            Box::new(EngineSide::start(site.fresh().await?, &lane, size.callers, warm_up).await?),
        ];
        let sums = take_turns(&mut sides, size.turns, amount).await?;
        sums.iter().zip(["suspended once", "plain"]).for_each(|(sum, name)| report.count(name, sum));
        rounds.add(sums);
        end_all(sides).await?;
    }
    for (side, name) in ["suspended once", "plain"].into_iter().enumerate() {
        report.spread(name, &rounds.side(side, Tally::rate), "lifecycles/s");
        report.spread(&format!("{name}, rows"), &rounds.side(side, Tally::rows_each), "rows/lifecycle");
    }
    let ratio = report.spread("suspended once / plain", &rounds.ratios(0, 1), "");
    report.at_least("suspended once / plain", ratio, 0.35, "");
    Ok(report)
}

/// From a signal to running on a parked worker, one at a time, against the commit of a submit that is handed over.
async fn latency(report: &mut Report, site: &Site, size: &Size, lane: &Lane) -> Result<(), Error> {
    let captured = capture::hand_offs(WARM_UP + size.samples, lane).await?;
    let (mut p50, mut p99, mut raw_p50) = (Vec::new(), Vec::new(), Vec::new());
    let (mut handed, mut commits) = (0, Vec::new());
    for round in 1..=size.rounds {
        progress(&format!("suspend, signals, round {round} of {}", size.rounds));
        let (engine, raw) = (site.fresh().await?, site.fresh().await?);
        let samples = take(&engine, &raw, &captured, lane).await?;
        p50.push(percentile(&sorted(&samples.engine), 0.5));
        p99.push(percentile(&sorted(&samples.engine), 0.99));
        raw_p50.push(percentile(&sorted(&samples.raw), 0.5));
        handed += samples.handed;
        commits.push(samples.commits);
        engine.discard().await?;
        raw.discard().await?;
    }
    report.figure("handed to the parked worker", handed as f64 / (size.rounds * size.samples) as f64, "of 1");
    report.spread("commits of a suspension and its end", &commits, "");
    let p50 = report.spread("signal to running, p50", &p50, "ms");
    report.spread("signal to running, p99", &p99, "ms");
    let raw_p50 = report.spread("raw p50", &raw_p50, "ms");
    report.at_most("signal to running, p50 to 1.5 × raw + 1 ms", p50, 1.5 * raw_p50 + 1.0, "ms");
    Ok(())
}

struct Samples {
    engine: Vec<f64>,
    raw: Vec<f64>,
    handed: u64,
    commits: f64,
}

async fn take(engine: &Fresh, raw: &Fresh, captured: &Captured, lane: &Lane) -> Result<Samples, Error> {
    let running = Engine::start(engine.store.clone(), Options::default()).await?;
    raw::commit(&*raw.store, captured.first.clone()).await?;
    work::visit(&running, lane).await?;
    let chance = Chance::from_os();
    let mut samples = Samples { engine: Vec::new(), raw: Vec::new(), handed: 0, commits: 0.0 };
    for (at, lifecycle) in captured.lifecycles.iter().enumerate() {
        let before = (running.metrics().hand_offs, engine.store.stats().batches);
        let (took, batches) = on_engine(&running, engine, &chance, lane).await?;
        let raw_took = on_store(raw, lifecycle).await?;
        if at >= WARM_UP {
            samples.engine.push(took);
            samples.raw.push(raw_took);
            samples.handed += running.metrics().hand_offs - before.0;
            samples.commits += batches as f64;
        }
    }
    samples.commits /= samples.engine.len().max(1) as f64;
    running.shutdown().await;
    Ok(samples)
}

/// Suspends an execution, signals it while a worker waits, and completes it; how long the signal took, and how many batches
/// the suspension and its end were.
async fn on_engine(engine: &Engine, fresh: &Fresh, chance: &Chance, lane: &Lane) -> Result<(f64, u64), Error> {
    let wants = work::patient(lane);
    let id = engine.submit(work::execution(lane)).await?.id;
    let first = work::one(engine.claim(&wants, PATIENCE).await?)?;
    let before = fresh.store.stats().batches;
    suspend(engine, chance, &first).await?;
    let watch = Stopwatch::start();
    let claim = async {
        let claimed = engine.claim(&wants, PATIENCE).await;
        (claimed, watch.millis())
    };
    // The claim is polled first, so it is parked when the signal is sent.
    let ((claimed, took), signalled) = join(claim, signal(engine, chance, id)).await;
    signalled?;
    let batches = fresh.store.stats().batches - before;
    engine.complete(work::one(claimed?)?.fence, work::result()).await?;
    Ok((took, batches))
}

async fn on_store(raw: &Fresh, lifecycle: &[onward_store::Batch]) -> Result<f64, Error> {
    let mut took = 0.0;
    for (at, batch) in lifecycle.iter().enumerate() {
        let watch = Stopwatch::start();
        raw::commit(&*raw.store, vec![batch.clone()]).await?;
        if at == 0 {
            took = watch.millis();
        }
    }
    Ok(took)
}

fn wait_name() -> WaitName {
    work::name("callback")
}

async fn suspend(engine: &Engine, chance: &Chance, claimed: &Claimed) -> Result<(), Error> {
    let wait = onward_core::record::WaitRef::new(wait_name(), 1);
    let new = Box::new(NewSuspension::new(Condition::wait(wait)));
    engine.run(Suspend { command: CommandId(chance.id()), fence: claimed.fence, new }).await?;
    Ok(())
}

async fn signal(engine: &Engine, chance: &Chance, execution: ExecutionId) -> Result<(), Error> {
    let mut signal = NewSignal::new(WaitAddress::from(wait_name()));
    signal.set_payload(work::result());
    let (command, namespace) = (CommandId(chance.id()), Namespace::default());
    engine.run(Signal { command, namespace, execution, by: None, proof: None, signal: Box::new(signal) }).await?;
    Ok(())
}

/// Callers who submit, claim whatever is ready, and suspend it and signal it, or complete what goes on.
struct SuspendedSide {
    engine: Engine,
    fresh: Fresh,
    lane: Lane,
    callers: usize,
}

impl SuspendedSide {
    async fn start(fresh: Fresh, lane: &Lane, callers: usize, warm_up: usize) -> Result<Self, Error> {
        let engine = Engine::start(fresh.store.clone(), Options::default()).await?;
        work::visit(&engine, lane).await?;
        let mut side = Self { engine, fresh, lane: lane.clone(), callers };
        side.run(warm_up).await?;
        Ok(side)
    }
}

#[async_trait]
impl Side for SuspendedSide {
    async fn run(&mut self, amount: usize) -> Result<Tally, Error> {
        let left = Arc::new(AtomicUsize::new(amount));
        let meter = Meter::start(&self.fresh.store)?;
        let callers = (0..self.callers)
            .map(|_| tokio::spawn(caller(self.engine.clone(), self.lane.clone(), left.clone())))
            .collect::<Vec<_>>();
        meter.end(Tally::of(join_all(callers).await)?)
    }

    async fn end(self: Box<Self>) -> Result<(), Error> {
        self.engine.shutdown().await;
        self.fresh.discard().await
    }
}

async fn caller(engine: Engine, lane: Lane, left: Arc<AtomicUsize>) -> Tally {
    let (mut tally, chance) = (Tally::default(), Chance::from_os());
    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
        tally.tried += 1;
        match live(&engine, &chance, &lane).await {
            Ok(()) => tally.done += 1,
            Err(error) => tally.failure = tally.failure.or(Some(error.to_string())),
        }
    }
    tally
}

/// One submit and two claims: each execution is claimed twice, perhaps by different callers.
async fn live(engine: &Engine, chance: &Chance, lane: &Lane) -> Result<(), Error> {
    let wants = work::patient(lane);
    engine.submit(work::execution(lane)).await?;
    for _ in 0..2 {
        let claimed = work::one(engine.claim(&wants, PATIENCE).await?)?;
        if claimed.woke.is_some() {
            engine.complete(claimed.fence, work::result()).await?;
        } else {
            suspend(engine, chance, &claimed).await?;
            signal(engine, chance, claimed.fence.execution).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_life_is_suspended_once_and_a_suspension_is_two_commits() {
        let fresh = Site::new("memory:").unwrap().fresh().await.unwrap();
        let mut side = SuspendedSide::start(fresh, &work::name("bench"), 3, 6).await.unwrap();
        let tally = side.run(40).await.unwrap();
        assert_eq!((tally.tried, tally.done), (40, 40), "{:?}", tally.failure);
        let chance = Chance::from_os();
        let (_, batches) = on_engine(&side.engine, &side.fresh, &chance, &side.lane).await.unwrap();
        assert_eq!(batches, 2, "one that suspends, and one in which the signal hands it to a worker");
    }
}
