//! Everything is due at one instant, right after a restart: how long until all of it is ready, beside submitting it.

use super::measure::{Stopwatch, Tally};
use super::report::Report;
use super::{Error, Site, Size, progress, work};
use futures_util::future::try_join_all;
use onward_core::{Lane, Millis, NewExecution, Span};
use onward_engine::clock::{Clock, SystemClock};
use onward_engine::{Engine, Options};

/// How long everything may take to become ready before the run is given up.
const PATIENCE: Span = Span::minutes(3);
/// How often it is looked how many are ready.
const LOOK: Span = Span(5);
/// The parts of all that are told of, in percent.
const PARTS: [usize; 3] = [10, 50, 100];

pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("midnight", site.url());
    let (mut submitting, mut ratios, mut ready) = (Vec::new(), Vec::new(), [const { Vec::new() }; PARTS.len()]);
    let mut lead = size.timers_lead;
    for round in 1..=size.rounds {
        progress(&format!("midnight, round {round} of {}", size.rounds));
        let (took, parts) = run(site, size, &mut lead).await?;
        let done = if parts.iter().all(Option::is_some) { size.midnight } else { 0 };
        report.count("engine", &Tally { tried: size.midnight, done, ..Tally::default() });
        let parts = parts.map(|part| part.unwrap_or(PATIENCE.0 as f64));
        submitting.push(took);
        ratios.push(parts[PARTS.len() - 1] / took);
        for (values, part) in ready.iter_mut().zip(parts) {
            values.push(part);
        }
    }
    report.figure("executions due at one instant", size.midnight as f64, "");
    report.spread("submitting them, many in a call", &submitting, "ms");
    for (part, values) in PARTS.iter().zip(&ready) {
        report.spread(&format!("{part} % ready after"), values, "ms");
    }
    let ratio = report.spread("all ready / submitting", &ratios, "");
    report.at_most("all ready / submitting", ratio, 3.0, "");
    Ok(report)
}

/// How long submitting took, and after how long each part of all was ready.
async fn run(site: &Site, size: &Size, lead: &mut Span) -> Result<(f64, [Option<f64>; PARTS.len()]), Error> {
    loop {
        let fresh = site.fresh().await?;
        let engine = Engine::start(fresh.store.clone(), Options::default()).await?;
        let instant = engine.now() + *lead;
        let took = submit_all(&engine, size, instant).await?;
        engine.shutdown().await;
        let engine = Engine::start(fresh.store.clone(), Options::default()).await?;
        let in_time = engine.now() < instant;
        let parts = if in_time { watch(&engine, size, instant).await } else { [None; PARTS.len()] };
        engine.shutdown().await;
        fresh.discard().await?;
        if in_time {
            return Ok((took, parts));
        }
        *lead = Span(lead.0 * 2);
        progress(&format!("submitting took longer than the lead; once more with {lead}"));
    }
}

async fn submit_all(engine: &Engine, size: &Size, instant: Millis) -> Result<f64, Error> {
    let lane: Lane = work::name("bench");
    let watch = Stopwatch::start();
    let submitters = size.submitters.max(1);
    let calls = size.midnight.div_ceil(size.per_call);
    try_join_all((0..submitters).map(|submitter| {
        let lane = &lane;
        async move {
            for call in (submitter..calls).step_by(submitters) {
                let count = size.per_call.min(size.midnight - call * size.per_call);
                let new = |_| NewExecution { run_at: Some(instant), ..work::execution(lane) };
                for answer in engine.submit_many((0..count).map(new).collect()).await? {
                    answer?;
                }
            }
            Ok::<_, Error>(())
        }
    }))
    .await?;
    Ok(watch.millis())
}

/// Counts what becomes ready, from the instant on.
async fn watch(engine: &Engine, size: &Size, instant: Millis) -> [Option<f64>; PARTS.len()] {
    let mut parts = [None; PARTS.len()];
    while engine.now() < instant {
        SystemClock.sleep(LOOK.min(instant - engine.now())).await;
    }
    let watch = Stopwatch::start();
    while parts.iter().any(Option::is_none) && watch.millis() < PATIENCE.0 as f64 {
        let ready = engine.metrics().delayed_promoter as usize;
        for (part, percent) in parts.iter_mut().zip(PARTS) {
            if part.is_none() && ready * 100 >= size.midnight * percent {
                *part = Some(watch.millis());
            }
        }
        SystemClock.sleep(LOOK).await;
    }
    parts
}
