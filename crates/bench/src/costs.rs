//! What one command costs at the store's door: reads, commits, rows and bytes, and what a server hears of it.

use super::measure::{Stopwatch, percentile, sorted};
use super::report::Report;
use super::work::{self, PATIENCE};
use super::{Error, Site, Size, progress};
use onward_core::{Fence, Lane, Span};
use onward_engine::clock::{Clock, SystemClock};
use onward_engine::{Engine, Options};
use onward_store::Store;
use std::fmt::Write;
use std::sync::Arc;

/// What is counted, in the order of the columns.
const COLUMNS: [&str; 5] = ["reads", "commits", "rows", "bytes", "requests to the server"];
/// The cases, in the order of the lines.
const LINES: [&str; 7] = [
    "submit, the first of a lane in its partition",
    "submit, cold",
    "submit, warm",
    "claim, cold",
    "claim, warm",
    "complete, cold",
    "complete, warm",
];
const FIRST: usize = 0;
const SUBMIT: usize = 1;
const CLAIM: usize = 3;
const COMPLETE: usize = 5;
/// What a warm case adds to the place of its cold one.
const WARM: usize = 1;

/// How long nothing may be asked of the store until what a command set off counts as over.
const CALM: Span = Span(20);
/// The same for what the start of an engine sets off.
const CALM_START: Span = Span(100);

/// A command that fails ends the scenario, so there is no success ratio.
pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("costs", site.url());
    let (fresh, lane) = (site.fresh().await?, work::name("bench"));
    site.count_requests(true)?;
    let door = Door::new(site, fresh.store.clone())?;
    let mut seen: [Vec<Cost>; LINES.len()] = Default::default();
    progress("costs, warm");
    warm(&door, &lane, size.costs_warm, &mut seen).await?;
    progress("costs, cold");
    for _ in 0..size.costs_cold {
        cold(&door, &lane, &mut seen).await?;
    }
    site.count_requests(false)?;
    fresh.discard().await?;
    let costs = seen.map(|costs| middle(&costs));
    for (line, cost) in LINES.iter().zip(&costs) {
        for (column, value) in COLUMNS.iter().zip(cost) {
            if let Some(value) = value {
                report.figure(&format!("{line}: {column}"), *value, "");
            }
        }
    }
    report.tabulate(table(&costs));
    Ok(report)
}

/// One engine that has seen every partition.
async fn warm(door: &Door<'_>, lane: &Lane, samples: usize, seen: &mut [Vec<Cost>; 7]) -> Result<(), Error> {
    let engine = Engine::start(door.store.clone(), Options::default()).await?;
    work::visit(&engine, lane).await?;
    for sample in 0..samples {
        door.calm(CALM).await?;
        let new = work::name(&format!("lane-{sample}"));
        seen[FIRST].push(door.watch(submit(&engine, &new)).await?.1);
        seen[SUBMIT + WARM].push(door.watch(submit(&engine, lane)).await?.1);
        let (fence, cost) = door.watch(claim(&engine, lane)).await?;
        seen[CLAIM + WARM].push(cost);
        seen[COMPLETE + WARM].push(door.watch(complete(&engine, fence)).await?.1);
    }
    engine.shutdown().await;
    Ok(())
}

/// Each command is the first of an engine.
async fn cold(door: &Door<'_>, lane: &Lane, seen: &mut [Vec<Cost>; 7]) -> Result<(), Error> {
    let engine = door.engine().await?;
    seen[SUBMIT].push(door.watch(submit(&engine, lane)).await?.1);
    engine.shutdown().await;
    let engine = door.engine().await?;
    let (fence, cost) = door.watch(claim(&engine, lane)).await?;
    seen[CLAIM].push(cost);
    engine.shutdown().await;
    let engine = door.engine().await?;
    seen[COMPLETE].push(door.watch(complete(&engine, fence)).await?.1);
    engine.shutdown().await;
    Ok(())
}

async fn submit(engine: &Engine, lane: &Lane) -> Result<(), Error> {
    engine.submit(work::execution(lane)).await?;
    Ok(())
}

async fn claim(engine: &Engine, lane: &Lane) -> Result<Fence, Error> {
    Ok(work::one(engine.claim(&work::patient(lane), PATIENCE).await?)?.fence)
}

async fn complete(engine: &Engine, fence: Fence) -> Result<(), Error> {
    Ok(engine.complete(fence, work::result()).await?)
}

/// What one command cost, by column; a file has no server that could hear of it.
type Cost = [Option<f64>; COLUMNS.len()];

/// Where everything passes that an engine asks of its store.
pub(crate) struct Door<'a> {
    site: &'a Site,
    store: Arc<dyn Store>,
    /// Requests that asking the server costs.
    asking: f64,
}

impl<'a> Door<'a> {
    pub(crate) fn new(site: &'a Site, store: Arc<dyn Store>) -> Result<Self, Error> {
        let mut costs = Vec::new();
        for _ in 0..5 {
            let moment = site.moment()?;
            costs.extend(site.requests_since(moment)?.map(|requests| requests as f64));
        }
        Ok(Self { site, store, asking: percentile(&sorted(&costs), 0.5) })
    }

    /// A new engine that has done what a start does.
    pub(crate) async fn engine(&self) -> Result<Engine, Error> {
        let engine = Engine::start(self.store.clone(), Options::default()).await?;
        self.calm(CALM_START).await?;
        Ok(engine)
    }

    /// Waits until nothing has been asked of the store for a while.
    async fn calm(&self, pause: Span) -> Result<(), Error> {
        let watch = Stopwatch::start();
        loop {
            let before = self.store.stats();
            SystemClock.sleep(pause).await;
            if self.store.stats() == before {
                return Ok(());
            }
            if watch.elapsed().as_millis() as u64 > PATIENCE.0 {
                return Err(Error::Broken("an engine without work never rests".to_owned()));
            }
        }
    }

    /// Counts what a command costs, with what it sets off.
    async fn watch<T>(&self, command: impl Future<Output = Result<T, Error>>) -> Result<(T, Cost), Error> {
        let (moment, before) = (self.site.moment()?, self.store.stats());
        let answer = command.await?;
        self.calm(CALM).await?;
        let after = self.store.stats();
        let requests = self.site.requests_since(moment)?;
        let grown = |after: u64, before: u64| Some((after - before) as f64);
        let cost = [
            grown(after.reads, before.reads),
            grown(after.batches + after.conflicts, before.batches + before.conflicts),
            grown(after.rows, before.rows),
            grown(after.bytes, before.bytes),
            requests.map(|requests| requests as f64 - self.asking),
        ];
        Ok((answer, cost))
    }
}

/// The median of each column: a sign of life or a sweep may fall into a few samples.
fn middle(costs: &[Cost]) -> Cost {
    std::array::from_fn(|column| {
        let values: Vec<f64> = costs.iter().filter_map(|cost| cost[column]).collect();
        (!values.is_empty()).then(|| percentile(&sorted(&values), 0.5))
    })
}

fn table(costs: &[Cost; LINES.len()]) -> String {
    let mut text = format!("| command | {} |\n|---|{}\n", COLUMNS.join(" | "), "---|".repeat(COLUMNS.len()));
    for (line, cost) in LINES.iter().zip(costs) {
        let cells = cost.map(|value| value.map_or("–".to_owned(), |value| format!("{value:.0}")));
        let _ = writeln!(text, "| {line} | {} |", cells.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_markdown_with_the_middle_of_the_samples() {
        let samples = [3.0, 1.0, 2.0].map(|n| [Some(n), Some(1.0), Some(4.0), Some(900.0), None]);
        let text = table(&[(); 7].map(|()| middle(&samples)));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "|---|---|---|---|---|---|");
        assert_eq!(lines[2], "| submit, the first of a lane in its partition | 2 | 1 | 4 | 900 | – |");
        assert_eq!(lines.len(), 2 + LINES.len());
    }
}
