//! What a claim costs in a lane of many queues, beside a lane with one: 50 kinds of work, each requiring ten things.

use super::costs::Door;
use super::measure::{Stopwatch, percentile, sorted};
use super::report::Report;
use super::site::Fresh;
use super::work::{self, PATIENCE};
use super::{Error, Site, Size, progress};
use onward_core::{Class, Kind, Lane, NewExecution};
use onward_engine::{Engine, Options, Wants};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Kinds and classes of the lane with many queues.
const MANY: (usize, usize) = (50, 10);
/// The same for the lane with one.
const ONE: (usize, usize) = (1, 1);
/// Reads that the first claim of an engine may cost.
const READS_MAX: f64 = 4.0;
/// How much longer a later one may take than in a lane with one queue.
const RATIO_MAX: f64 = 1.2;

pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("queues", site.url());
    let (many, one) = (Side::new(site, size, MANY).await?, Side::new(site, size, ONE).await?);
    report.figure("queues", (MANY.0 * MANY.1) as f64, "");
    progress("queues, cold");
    let (cold, beside) = (many.cold(site, size.costs_cold).await?, one.cold(site, size.costs_cold).await?);
    report.figure("reads of the first claim, many queues", cold, "");
    report.figure("reads of the first claim, one queue", beside, "");
    let (mut slow, mut fast, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let engines = (many.engine().await?, one.engine().await?);
    for round in 1..=size.rounds {
        progress(&format!("queues, round {round} of {}", size.rounds));
        let (mut of_many, mut of_one) = (Vec::new(), Vec::new());
        for _ in 0..size.samples {
            of_many.push(many.claim(&engines.0).await?);
            of_one.push(one.claim(&engines.1).await?);
        }
        let (of_many, of_one) = (percentile(&sorted(&of_many), 0.5), percentile(&sorted(&of_one), 0.5));
        ratios.push(of_many / of_one);
        slow.push(of_many);
        fast.push(of_one);
    }
    engines.0.shutdown().await;
    engines.1.shutdown().await;
    report.spread("a later claim, many queues, p50", &slow, "ms");
    report.spread("a later claim, one queue, p50", &fast, "ms");
    let ratio = report.spread("many / one", &ratios, "");
    report.at_most("reads of the first claim", cold, READS_MAX, "");
    report.at_most("a later claim, many / one queue", ratio, RATIO_MAX, "");
    many.fresh.discard().await?;
    one.fresh.discard().await?;
    Ok(report)
}

/// A store with a lane that has work in each of its queues, and a worker that runs all of it.
struct Side {
    fresh: Fresh,
    wants: Wants,
}

impl Side {
    async fn new(site: &Site, size: &Size, (kinds, classes): (usize, usize)) -> Result<Self, Error> {
        let (fresh, lane): (Fresh, Lane) = (site.fresh().await?, work::name("bench"));
        let kinds: Vec<Kind> = (0..kinds).map(|n| work::name(&format!("kind-{n}"))).collect();
        let class = |n: usize| Class::new([work::name(&format!("can-{n}"))]).unwrap_or_default();
        let work: usize = size.samples * size.rounds + size.costs_cold + kinds.len() * classes;
        let new = |n: usize| NewExecution {
            kind: kinds[n % kinds.len()].clone(),
            requires: class(n / kinds.len() % classes),
            ..work::execution(&lane)
        };
        let engine = Engine::start(fresh.store.clone(), Options::default()).await?;
        work::submit_all(&engine, &(0..work).map(new).collect::<Vec<_>>()).await?;
        engine.shutdown().await;
        let able = (0..classes).flat_map(|n| class(n).capabilities().cloned().collect::<Vec<_>>());
        let wants = Wants {
            kinds: Some(Arc::new(kinds.into_iter().collect::<BTreeSet<_>>())),
            capabilities: Class::new(able).unwrap_or_default(),
            ..work::patient(&lane)
        };
        Ok(Self { fresh, wants })
    }

    async fn engine(&self) -> Result<Engine, Error> {
        let engine = Engine::start(self.fresh.store.clone(), Options::default()).await?;
        self.claim(&engine).await?;
        Ok(engine)
    }

    /// How long one claim takes, in milliseconds.
    async fn claim(&self, engine: &Engine) -> Result<f64, Error> {
        let watch = Stopwatch::start();
        work::one(engine.claim(&self.wants, PATIENCE).await?)?;
        Ok(watch.millis())
    }

    /// How often an engine reads the store for its first claim.
    async fn cold(&self, site: &Site, times: usize) -> Result<f64, Error> {
        let door = Door::new(site, self.fresh.store.clone())?;
        let mut reads = Vec::new();
        for _ in 0..times.saturating_sub(1).max(1) {
            let engine = door.engine().await?;
            let before = self.fresh.store.stats().reads;
            self.claim(&engine).await?;
            reads.push((self.fresh.store.stats().reads - before) as f64);
            engine.shutdown().await;
        }
        Ok(percentile(&sorted(&reads), 0.5))
    }
}
