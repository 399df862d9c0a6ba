//! How fast one worker empties a backlog, against the same claims and completions written without an engine.

use super::capture::{self, Captured};
use super::measure::{Meter, Tally};
use super::report::Report;
use super::side::{Rounds, Side, end_all, take_turns};
use super::site::Fresh;
use super::{Error, Site, Size, progress, raw, work};
use async_trait::async_trait;
use onward::{Client, ClientOptions, Failed, Worker};
use onward_core::{Namespace, Span};
use onward_engine::Engine;
use onward_engine::clock::{Clock, SystemClock};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

const WORKER: usize = 0;
const RAW: usize = 1;
const NAMES: [&str; 2] = ["worker", "raw"];

const LANE: &str = "bench";
/// Each turn empties a whole backlog, so there are fewer turns and rounds than elsewhere.
const TURNS: usize = 2;
const ROUNDS_MAX: usize = 3;
/// Work before each measurement, in executions of every slot.
const WARM_UP: usize = 8;
/// How long a backlog may take before the run is given up.
const PATIENCE: Span = Span::minutes(5);

pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("drain", site.url());
    let warm_up = size.callers * WARM_UP;
    progress("drain, preparing");
    let captured = Arc::new(capture::lifecycles(warm_up + size.backlog * TURNS, &work::name(LANE)).await?);
    let mut rounds = Rounds::default();
    let count = size.rounds.min(ROUNDS_MAX);
    for round in 1..=count {
        progress(&format!("drain, round {round} of {count}"));
        let mut sides: Vec<Box<dyn Side>> = vec![
            Box::new(WorkerSide::start(site.fresh().await?, size.callers).await?),
            Box::new(RawSide::start(site.fresh().await?, captured.clone(), size.callers).await?),
        ];
        for side in &mut sides {
            side.run(warm_up).await?;
        }
        let sums = take_turns(&mut sides, TURNS, size.backlog).await?;
        sums.iter().zip(NAMES).for_each(|(sum, name)| report.count(name, sum));
        rounds.add(sums);
        end_all(sides).await?;
    }
    report.figure("backlog", size.backlog as f64, "executions");
    report.figure("in flight", size.callers as f64, "");
    for (side, name) in NAMES.into_iter().enumerate() {
        report.spread(name, &rounds.side(side, Tally::rate), "executions/s");
        report.spread(&format!("{name}, processor"), &rounds.side(side, Tally::processor_each), "µs/execution");
    }
    report.spread("worker / raw", &rounds.ratios(WORKER, RAW), "");
    Ok(report)
}

/// A worker with a handler that has nothing to do.
struct WorkerSide {
    client: Client,
    engine: Engine,
    fresh: Fresh,
    slots: usize,
}

impl WorkerSide {
    async fn start(fresh: Fresh, slots: usize) -> Result<Self, Error> {
        let client =
            Client::on_store(fresh.store.clone(), ClientOptions::default()).await.map_err(|error| broken(&error))?;
        let engine = client.engine().cloned();
        let engine = engine.ok_or_else(|| Error::Broken("a client on a store has an engine".to_owned()))?;
        Ok(Self { client, engine, fresh, slots })
    }

    /// Puts work into the lane while nobody takes any.
    async fn fill(&self, amount: usize) -> Result<(), Error> {
        work::submit_all(&self.engine, &vec![work::execution(&work::name(LANE)); amount]).await
    }

    async fn completed(&self) -> Result<usize, Error> {
        Ok(self.engine.counts(&Namespace::default()).await?.completed.n as usize)
    }
}

#[async_trait]
impl Side for WorkerSide {
    async fn run(&mut self, amount: usize) -> Result<Tally, Error> {
        self.fill(amount).await?;
        let before = self.completed().await?;
        let handled = Arc::new((AtomicUsize::new(0), Notify::new()));
        let counts = handled.clone();
        let worker = Worker::new(&self.client).lanes([LANE]).concurrency(self.slots);
        let worker = worker.on_payload(work::kind().as_str(), move |_, _| {
            if counts.0.fetch_add(1, Ordering::Relaxed) + 1 == amount {
                counts.1.notify_one();
            }
            std::future::ready(Ok::<_, Failed>(work::result()))
        });
        let meter = Meter::start(&self.fresh.store)?;
        let running = worker.start().map_err(|error| broken(&error))?;
        tokio::select! {
            biased;
            () = handled.1.notified() => {}
            () = SystemClock.sleep(PATIENCE) => {}
        }
        // What was handled is reported before this returns.
        running.drain().await.map_err(|error| broken(&error))?;
        let tally = meter.end(Tally { tried: amount, ..Tally::default() })?;
        let done = self.completed().await? - before;
        let failure = (done < amount).then(|| format!("only {done} of {amount} executions were completed"));
        Ok(Tally { done, failure, ..tally })
    }

    async fn end(self: Box<Self>) -> Result<(), Error> {
        self.engine.shutdown().await;
        self.fresh.discard().await
    }
}

/// Claims and completions as they were captured; the submits before them are not measured.
struct RawSide {
    fresh: Fresh,
    captured: Arc<Captured>,
    callers: usize,
    next: usize,
}

impl RawSide {
    async fn start(fresh: Fresh, captured: Arc<Captured>, callers: usize) -> Result<Self, Error> {
        raw::prepare(&*fresh.store, &captured).await?;
        Ok(Self { fresh, captured, callers, next: 0 })
    }
}

#[async_trait]
impl Side for RawSide {
    async fn run(&mut self, amount: usize) -> Result<Tally, Error> {
        let lifecycles = self.captured.lifecycles.get(self.next..self.next + amount).unwrap_or_default();
        if lifecycles.len() < amount || lifecycles.iter().any(|batches| batches.len() != 3) {
            return Err(Error::Broken("fewer whole lifecycles were captured than are to be written".to_owned()));
        }
        self.next += amount;
        for some in lifecycles.chunks(100) {
            raw::commit(&*self.fresh.store, some.iter().map(|batches| batches[0].clone()).collect()).await?;
        }
        let rest = |batches: &Vec<_>| batches[1..].iter().cloned().map(|batch| vec![batch]).collect();
        raw::write(&self.fresh.store, lifecycles.iter().map(rest).collect(), self.callers).await
    }

    async fn end(self: Box<Self>) -> Result<(), Error> {
        self.fresh.discard().await
    }
}

fn broken(error: &onward::Error) -> Error {
    Error::Broken(error.to_string())
}
