//! How long a change of a lane takes from its call to the last partition's copy, one at a time: messages there and back.

use super::measure::{Stopwatch, percentile, sorted};
use super::report::Report;
use super::{Error, Site, Size, progress, work};
use onward_core::record::LaneState;
use onward_core::{Lane, LaneChange, Namespace};
use onward_engine::{Engine, Options};

/// Changes before each measurement, so that every partition has written to every record once.
const WARM_UP: usize = 20;

/// One at a time there is no reason for a failure, so the first one ends the scenario and there is no success ratio.
pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("messages", site.url());
    let (mut p50, mut p99) = (Vec::new(), Vec::new());
    let mut asked = [const { Vec::new() }; 3];
    let mut partitions = 0;
    for round in 1..=size.rounds {
        progress(&format!("messages, round {round} of {}", size.rounds));
        let fresh = site.fresh().await?;
        partitions = fresh.store.meta().partitions;
        let engine = Engine::start(fresh.store.clone(), Options::default()).await?;
        change(&engine, WARM_UP).await?;
        let before = fresh.store.stats();
        let took = sorted(&change(&engine, size.samples).await?);
        let after = fresh.store.stats();
        let counted = [after.batches - before.batches, after.reads - before.reads, after.rows - before.rows];
        for (values, count) in asked.iter_mut().zip(counted) {
            values.push(count as f64 / size.samples as f64);
        }
        p50.push(percentile(&took, 0.5));
        p99.push(percentile(&took, 0.99));
        engine.shutdown().await;
        fresh.discard().await?;
    }
    report.figure("partitions", f64::from(partitions), "");
    report.figure("changes in a round", size.samples as f64, "");
    report.spread("p50", &p50, "ms");
    report.spread("p99", &p99, "ms");
    for (name, values) in ["commits", "reads", "rows"].into_iter().zip(&asked) {
        report.spread(&format!("{name} of a change"), values, "");
    }
    Ok(report)
}

/// Pauses and opens a lane in turns; how long each call took, in milliseconds.
async fn change(engine: &Engine, count: usize) -> Result<Vec<f64>, Error> {
    let (namespace, lane): (_, Lane) = (Namespace::default(), work::name("bench"));
    let mut took = Vec::with_capacity(count);
    for n in 0..count {
        let state = if n % 2 == 0 { LaneState::Paused } else { LaneState::Open };
        let change = LaneChange { state: Some(state), ..LaneChange::default() };
        let watch = Stopwatch::start();
        engine.set_lane(&namespace, &lane, change).await?;
        took.push(watch.millis());
    }
    Ok(took)
}
