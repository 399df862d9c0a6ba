//! What an engine costs that has work ahead and workers waiting, but nothing to do.

use super::measure::{Stopwatch, Tally};
use super::report::Report;
use super::work::{self, PATIENCE};
use super::{Error, Site, Size, progress, system};
use onward_core::{Lane, NewExecution, Span};
use onward_engine::clock::{Clock, SystemClock};
use onward_engine::{Engine, Options};

const LANES: usize = 5;
/// Postgres counts what a connection did up to ten seconds later.
const SERVER_SETTLES: Span = Span::seconds(12);
/// Long enough ahead that nothing becomes due.
const AHEAD: Span = Span::hours(6);

pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("idle", site.url());
    let fresh = site.fresh().await?;
    let engine = Engine::start(fresh.store.clone(), Options::default()).await?;
    let lanes: Vec<Lane> = (0..LANES).map(|n| work::name(&format!("lane-{n}"))).collect();
    prepare(&engine, &lanes, size).await?;
    let wait = Span(size.idle_settle.0 + size.idle.0 + PATIENCE.0);
    let parked: Vec<_> = lanes
        .iter()
        .map(|lane| {
            let (engine, wants) = (engine.clone(), work::patient(lane));
            tokio::spawn(async move { engine.claim(&wants, wait).await })
        })
        .collect();
    // What follows a start, such as copying the log into the main file, is over after a while.
    let settle = if site.operations()?.is_some() { size.idle_settle.max(SERVER_SETTLES) } else { size.idle_settle };
    SystemClock.sleep(settle).await;
    progress(&format!("idle for {}", size.idle));
    let asked = site.operations()?;
    let (before, processor, watch) = (fresh.store.stats(), system::processor_seconds()?, Stopwatch::start());
    SystemClock.sleep(size.idle).await;
    let seconds = watch.elapsed().as_secs_f64();
    let (after, processor) = (fresh.store.stats(), system::processor_seconds()? - processor);
    let asked_after = site.operations()?;
    let still = parked.iter().filter(|task| !task.is_finished()).count();
    report.count("parked workers", &Tally { tried: LANES, done: still, ..Tally::default() });
    report.figure("watched", seconds, "s");
    report.figure("delayed executions ahead", size.idle_delayed as f64, "");
    let (rows, reads) = ((after.rows - before.rows) as f64, (after.reads - before.reads) as f64 / seconds);
    match asked.zip(asked_after) {
        // A process on a server says every other second that it lives, so what counts is what the server is asked.
        Some(((before, limit), (after, _))) => {
            report.figure("rows written", rows, "rows");
            report.figure("reads", reads, "/s");
            report.at_most("asked of the server", (after - before) as f64 / seconds, limit, "/s");
        }
        None => {
            report.at_most("rows written", rows, 0.0, "rows");
            report.at_most("reads", reads, 1.0, "/s");
        }
    }
    report.at_most("processor", 100.0 * processor / seconds, 1.0, "% of a core");
    engine.shutdown().await;
    for task in parked {
        let _ended = task.await;
    }
    fresh.discard().await?;
    Ok(report)
}

/// Submits what lies ahead, and one execution in each lane that is done before the watch begins.
async fn prepare(engine: &Engine, lanes: &[Lane], size: &Size) -> Result<(), Error> {
    let delayed: Vec<_> = (0..size.idle_delayed)
        .map(|n| NewExecution { delay: Some(AHEAD), ..work::execution(&lanes[n % LANES]) })
        .collect();
    work::submit_all(engine, &delayed).await?;
    for lane in lanes {
        engine.submit(work::execution(lane)).await?;
        let claimed = work::one(engine.claim(&work::patient(lane), PATIENCE).await?)?;
        engine.complete(claimed.fence, work::result()).await?;
    }
    Ok(())
}
