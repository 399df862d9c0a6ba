//! The life of an execution over HTTP, beside the same calls to an engine in this process: one by one, and many in a call.

use super::lifecycle::{self, WARM_UP};
use super::measure::{Stopwatch, Tally};
use super::report::Report;
use super::served::Served;
use super::side::{Rounds, Side};
use super::site::Fresh;
use super::work::{self, PATIENCE};
use super::{Error, Site, Size, progress, system};
use async_trait::async_trait;
use futures_util::future::join_all;
use onward::call::{Ask, Reports};
use onward::{Client, ClientOptions};
use onward_core::{Claimed, CommandId, Lane, Submitted, end};
use onward_engine::Wants;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Executions in each call of the batch forms, and the part of the callers that make such calls.
const PER_CALL: usize = 100;
const FEWER: usize = 8;

const LANE: &str = "bench";

/// The forms that are compared: how many executions in a call, and what they are called.
const FORMS: [(bool, &str); 2] = [(false, "one by one"), (true, "in batches")];

pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("remote", site.url());
    let lane: Lane = work::name(LANE);
    let amount = lifecycle::amount(site, size, &lane).await?;
    let mut ready = Vec::new();
    report.figure("callers", size.callers as f64, "");
    for (batched, form) in FORMS {
        let mut rounds = Rounds::default();
        for round in 1..=size.rounds {
            progress(&format!("remote, {form}, round {round} of {}", size.rounds));
            let served = Served::start(site).await?;
            ready.push(served.ready_after);
            let load = Load { lane: lane.clone(), callers: size.callers, batched };
            let mut here = Here::start(site.fresh().await?, load.clone()).await?;
            let mut there = There { served, load };
            let (mut inside, mut outside) = (Tally::default(), Tally::default());
            here.run(size.callers * WARM_UP).await?;
            there.run(size.callers * WARM_UP).await?;
            for turn in 0..size.turns {
                if turn % 2 == 0 {
                    inside.add(here.run(amount).await?);
                }
                outside.add(there.run(amount).await?);
                if turn % 2 == 1 {
                    inside.add(here.run(amount).await?);
                }
            }
            report.count("embedded", &inside);
            report.count("remote", &outside);
            rounds.add(vec![inside, outside]);
            Box::new(here).end().await?;
            there.served.end(site).await?;
        }
        for (side, name) in ["embedded", "remote"].into_iter().enumerate() {
            report.spread(&format!("{name}, {form}"), &rounds.side(side, Tally::rate), "lifecycles/s");
            let processor = rounds.side(side, Tally::processor_each);
            report.spread(&format!("{name}, {form}, processor"), &processor, "µs/lifecycle");
        }
        let ratio = report.spread(&format!("remote / embedded, {form}"), &rounds.ratios(1, 0), "");
        let least = if batched { 0.7 } else { site.remote_min() };
        report.at_least(&format!("remote / embedded, {form}"), ratio, least, "");
    }
    let ready = report.spread("from nothing to ready", &ready, "ms");
    report.at_most("from nothing to ready", ready, 1_000.0, "ms");
    Ok(report)
}

/// What callers do.
#[derive(Debug, Clone)]
struct Load {
    lane: Lane,
    callers: usize,
    batched: bool,
}

/// An engine in this process.
struct Here {
    client: Client,
    fresh: Fresh,
    load: Load,
}

/// A server in another one.
struct There {
    served: Served,
    load: Load,
}

impl Here {
    async fn start(fresh: Fresh, load: Load) -> Result<Self, Error> {
        let client = Client::on_store(fresh.store.clone(), ClientOptions::default()).await?;
        Ok(Self { client, fresh, load })
    }
}

#[async_trait]
impl Side for Here {
    async fn run(&mut self, amount: usize) -> Result<Tally, Error> {
        let processor = system::processor_seconds()?;
        let tally = self.load.run(&self.client, amount).await?;
        Ok(Tally { processor: system::processor_seconds()? - processor, ..tally })
    }

    async fn end(self: Box<Self>) -> Result<(), Error> {
        if let Some(engine) = self.client.engine() {
            engine.shutdown().await;
        }
        self.fresh.discard().await
    }
}

impl There {
    /// The processor time is that of both processes.
    async fn run(&mut self, amount: usize) -> Result<Tally, Error> {
        let spent = || Ok::<_, Error>(system::processor_seconds()? + self.served.processor_seconds()?);
        let processor = spent()?;
        let tally = self.load.run(&self.served.client, amount).await?;
        Ok(Tally { processor: spent()? - processor, ..tally })
    }
}

impl Load {
    async fn run(&self, client: &Client, amount: usize) -> Result<Tally, Error> {
        let (callers, per_call) =
            if self.batched { ((self.callers / FEWER).max(1), PER_CALL) } else { (self.callers, 1) };
        let left = Arc::new(AtomicUsize::new(amount));
        let watch = Stopwatch::start();
        let tasks =
            (0..callers).map(|_| tokio::spawn(caller(client.clone(), self.lane.clone(), left.clone(), per_call)));
        let tally = Tally::of(join_all(tasks).await)?;
        Ok(Tally { seconds: watch.elapsed().as_secs_f64(), ..tally })
    }
}

/// Submits, claims and completes so many at a time until nothing is left to do.
async fn caller(client: Client, lane: Lane, left: Arc<AtomicUsize>, per_call: usize) -> Tally {
    let mut tally = Tally::default();
    let take = |left: usize| (left > 0).then(|| left.saturating_sub(per_call));
    while let Ok(before) = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
        let amount = per_call.min(before);
        tally.tried += amount;
        match lifecycles(&client, &lane, amount).await {
            Ok(()) => tally.done += amount,
            Err(error) => tally.failure = tally.failure.or(Some(error.to_string())),
        }
    }
    tally
}

async fn lifecycles(client: &Client, lane: &Lane, amount: usize) -> Result<(), Error> {
    let new = work::execution(lane);
    if amount == 1 {
        client.ask::<Submitted>(Ask::Submit(Box::new(new))).await?;
    } else {
        for submitted in client.ask::<Vec<Result<Submitted, _>>>(Ask::SubmitMany(vec![new; amount])).await? {
            submitted?;
        }
    }
    let mut open = amount;
    while open > 0 {
        let wants = Wants { max: open, ..work::patient(lane) };
        let claimed: Vec<Claimed> = client.ask(Ask::Claim { wants, wait: PATIENCE }).await?;
        if claimed.is_empty() {
            return Err(Error::Broken("a claim got no work although some was ready".to_owned()));
        }
        open -= claimed.len();
        complete(client, claimed).await?;
    }
    Ok(())
}

/// Reports what was claimed as completed, in one call.
pub(crate) async fn complete(client: &Client, claimed: Vec<Claimed>) -> Result<(), Error> {
    let report = |claimed: Claimed| {
        let end = end::Complete { result: work::result() }.into();
        onward_core::Report { command: CommandId(client.chance().id()), fence: claimed.fence, end }
    };
    let reports = claimed.into_iter().map(report).collect();
    let ended: Reports = client.ask(Ask::Report { reports, claim: None }).await?;
    for reported in ended.reported {
        reported?;
    }
    Ok(())
}
