//! From submit to running on a parked worker, one at a time, against one commit of the same rows.

use super::capture::{self, Captured};
use super::measure::{Stopwatch, percentile, sorted};
use super::report::Report;
use super::site::Fresh;
use super::work::{self, PATIENCE};
use super::{Error, Site, Size, progress, raw};
use futures_util::future::join;
use onward_core::Lane;
use onward_engine::{Engine, Options};
use onward_store::Store;

/// Samples before each measurement.
const WARM_UP: usize = 20;

/// One at a time there is no reason for a failure, so the first one ends the scenario and there is no success ratio.
pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("latency", site.url());
    let lane: Lane = work::name("bench");
    let captured = capture::hand_offs(WARM_UP + size.samples, &lane).await?;
    let mut figures = [const { Vec::new() }; 4];
    let mut handed_off = 0;
    for round in 1..=size.rounds {
        progress(&format!("latency, round {round} of {}", size.rounds));
        let (engine, raw) = (site.fresh().await?, site.fresh().await?);
        let samples = take(&engine, &raw, &captured, &lane).await?;
        handed_off += samples.handed_off;
        let percentiles = [(&samples.engine, 0.5), (&samples.engine, 0.99), (&samples.raw, 0.5), (&samples.raw, 0.99)];
        for (values, (samples, part)) in figures.iter_mut().zip(percentiles) {
            values.push(percentile(&sorted(samples), part));
        }
        engine.discard().await?;
        raw.discard().await?;
    }
    let [p50, p99, raw_p50, raw_p99] = figures;
    report.figure("samples in a round", size.samples as f64, "");
    report.figure("handed to the parked worker", handed_off as f64 / (size.rounds * size.samples) as f64, "of 1");
    let (p50, p99) = (report.spread("p50", &p50, "ms"), report.spread("p99", &p99, "ms"));
    let (raw_p50, raw_p99) = (report.spread("raw p50", &raw_p50, "ms"), report.spread("raw p99", &raw_p99, "ms"));
    report.at_most("p50 to 1.5 × raw + 1 ms", p50, 1.5 * raw_p50 + 1.0, "ms");
    report.at_most("p99 to 3 × raw + 5 ms", p99, 3.0 * raw_p99 + 5.0, "ms");
    Ok(report)
}

/// How long each sample took, in milliseconds.
struct Samples {
    engine: Vec<f64>,
    raw: Vec<f64>,
    handed_off: u64,
}

/// Takes samples of both sides in turns; what completes them is not measured.
async fn take(engine: &Fresh, raw: &Fresh, captured: &Captured, lane: &Lane) -> Result<Samples, Error> {
    let running = Engine::start(engine.store.clone(), Options::default()).await?;
    raw::commit(&*raw.store, captured.first.clone()).await?;
    work::visit(&running, lane).await?;
    let before = running.metrics().hand_offs;
    let mut samples = Samples { engine: Vec::new(), raw: Vec::new(), handed_off: 0 };
    for (at, lifecycle) in captured.lifecycles.iter().enumerate() {
        let took = (on_engine(&running, lane).await?, on_store(&*raw.store, lifecycle).await?);
        if at >= WARM_UP {
            samples.engine.push(took.0);
            samples.raw.push(took.1);
        }
    }
    let warm_up = WARM_UP as u64;
    samples.handed_off = (running.metrics().hand_offs - before).saturating_sub(warm_up);
    running.shutdown().await;
    Ok(samples)
}

async fn on_engine(engine: &Engine, lane: &Lane) -> Result<f64, Error> {
    let (wants, new) = (work::patient(lane), work::execution(lane));
    let watch = Stopwatch::start();
    let claim = async {
        let claimed = engine.claim(&wants, PATIENCE).await;
        (claimed, watch.millis())
    };
    // The claim is polled first, so it is parked when the submit begins.
    let ((claimed, took), submitted) = join(claim, engine.submit(new)).await;
    submitted?;
    engine.complete(work::one(claimed?)?.fence, work::result()).await?;
    Ok(took)
}

async fn on_store(store: &dyn Store, lifecycle: &[onward_store::Batch]) -> Result<f64, Error> {
    let mut took = 0.0;
    for (at, batch) in lifecycle.iter().enumerate() {
        let group = vec![batch.clone()];
        let watch = Stopwatch::start();
        raw::commit(store, group).await?;
        if at == 0 {
            took = watch.millis();
        }
    }
    Ok(took)
}
