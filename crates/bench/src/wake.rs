//! From a submit in one process to running on a worker that is parked in another, against one commit of the same rows.

use super::capture;
use super::measure::{Stopwatch, percentile, sorted};
use super::report::Report;
use super::work::{self, PATIENCE};
use super::{Error, Site, Size, progress, raw, site};
use futures_util::future::join;
use onward_core::{Lane, Span};
use onward_engine::clock::{Clock, SystemClock};
use onward_engine::{Engine, Options};

/// Samples before those that count.
const WARM_UP: usize = 5;
/// Samples at most: between them it is quiet for a while.
const SAMPLES_MAX: usize = 60;
/// How long it is quiet before a sample; each is preceded by another part of it.
const QUIET: u64 = 500;
/// Spreads the samples over it.
const STEP: u64 = 137;

/// Adds the figures of one round; the two processes are two engines, each with a store of its own.
pub(crate) async fn measure(site: &Site, size: &Size, report: &mut Report) -> Result<(), Error> {
    let lane: Lane = work::name("bench");
    let samples = size.samples.min(SAMPLES_MAX);
    progress(&format!("processes, {samples} wake-ups"));
    let captured = capture::hand_offs(WARM_UP + samples, &lane).await?;
    let (address, fresh) = (site.shared_address()?, site.fresh().await?);
    raw::commit(&*fresh.store, captured.first.clone()).await?;
    let stores = [site::open(&address).await?, site::open(&address).await?];
    let mut engines = Vec::new();
    for store in &stores {
        engines.push(Engine::start(store.clone(), Options::default()).await?);
        work::visit(&engines[engines.len() - 1], &lane).await?;
    }
    let (mut woken, mut committed) = (Vec::new(), Vec::new());
    for (at, lifecycle) in (0..).zip(&captured.lifecycles) {
        SystemClock.sleep(Span(at * STEP % QUIET)).await;
        let took = sample(&engines, &lane).await?;
        let mut raw_took = Vec::new();
        for batch in lifecycle {
            let watch = Stopwatch::start();
            raw::commit(&*fresh.store, vec![batch.clone()]).await?;
            raw_took.push(watch.millis());
        }
        if at >= WARM_UP as u64 {
            woken.push(took);
            committed.extend(raw_took.first());
        }
    }
    for engine in &engines {
        engine.shutdown().await;
    }
    for store in stores {
        store.close().await?;
    }
    site.clear(&address).await?;
    fresh.discard().await?;
    let (woken, committed) = (sorted(&woken), sorted(&committed));
    for (name, part) in [("p50", 0.5), ("p99", 0.99)] {
        let (took, raw) = (percentile(&woken, part), percentile(&committed, part));
        report.figure(&format!("to a worker of another process, {name}"), took, "ms");
        report.figure(&format!("to a worker of another process / raw commit, {name}"), took / raw, "");
    }
    Ok(())
}

async fn sample(engines: &[Engine], lane: &Lane) -> Result<f64, Error> {
    let (wants, new) = (work::patient(lane), work::execution(lane));
    let watch = Stopwatch::start();
    let claim = async {
        let claimed = engines[1].claim(&wants, PATIENCE).await;
        (claimed, watch.millis())
    };
    // The claim is polled first, so it is parked, or about to be, when the submit begins.
    let ((claimed, took), submitted) = join(claim, engines[0].submit(new)).await;
    submitted?;
    engines[1].complete(work::one(claimed?)?.fence, work::result()).await?;
    Ok(took)
}
