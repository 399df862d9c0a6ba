//! The life of an execution, against the same rows without an engine and against lean rows; call by call, and with work
//! handed over.

use super::capture::{self, Captured};
use super::handed::HandedSide;
use super::load::EngineSide;
use super::measure::Tally;
use super::raw::{LeanSide, RawSide};
use super::report::Report;
use super::side::{Rounds, Side, end_all, take_turns};
use super::{Error, Site, Size, progress, work};
use onward_core::Lane;
use std::sync::Arc;

/// Work before each measurement, in lifecycles of every caller.
pub(crate) const WARM_UP: usize = 8;

const ENGINE: usize = 0;
const RAW: usize = 1;
const LEAN: usize = 2;
const NAMES: [&str; 3] = ["engine", "raw", "lean raw"];

pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("lifecycle", site.url());
    let lane: Lane = work::name("bench");
    let amount = amount(site, size, &lane).await?;
    let warm_up = size.callers * WARM_UP;
    let captured = Arc::new(capture::lifecycles(warm_up + amount * size.turns, &lane).await?);
    let mut rounds = Rounds::default();
    for round in 1..=size.rounds {
        progress(&format!("lifecycle, round {round} of {}", size.rounds));
        let mut sides: Vec<Box<dyn Side>> = vec![
            Box::new(EngineSide::start(site.fresh().await?, &lane, size.callers, warm_up).await?),
            Box::new(RawSide::start(site.fresh().await?, captured.clone(), size.callers, warm_up).await?),
            Box::new(LeanSide::start(site.fresh().await?, size.callers, warm_up).await?),
        ];
        let sums = take_turns(&mut sides, size.turns, amount).await?;
        sums.iter().zip(NAMES).for_each(|(sum, name)| report.count(name, sum));
        rounds.add(sums);
        end_all(sides).await?;
    }
    report.figure("callers", size.callers as f64, "");
    for (side, name) in NAMES.into_iter().enumerate() {
        report.spread(name, &rounds.side(side, Tally::rate), "lifecycles/s");
    }
    for (side, name) in NAMES.into_iter().enumerate() {
        report.spread(&format!("{name}, processor"), &rounds.side(side, Tally::processor_each), "µs/lifecycle");
        report.spread(&format!("{name}, rows"), &rounds.side(side, Tally::rows_each), "rows/lifecycle");
        let together = rounds.side(side, Tally::batches_per_group);
        report.spread(&format!("{name}, batches made durable together"), &together, "");
    }
    let over_raw = report.spread("engine / raw", &rounds.ratios(ENGINE, RAW), "");
    let over_lean = report.spread("engine / lean raw", &rounds.ratios(ENGINE, LEAN), "");
    report.at_least("engine / raw", over_raw, 0.7, "");
    report.at_least("engine / lean raw", over_lean, 0.4, "");
    handed(&mut report, site, size, &lane, amount).await?;
    write_budget(&mut report, &captured);
    Ok(report)
}

/// The same with work that is handed over: two commits instead of three, against three lean ones.
async fn handed(report: &mut Report, site: &Site, size: &Size, lane: &Lane, amount: usize) -> Result<(), Error> {
    let warm_up = size.callers * WARM_UP;
    let mut rounds = Rounds::default();
    for round in 1..=size.rounds {
        progress(&format!("lifecycle with work handed over, round {round} of {}", size.rounds));
        let mut sides: Vec<Box<dyn Side>> = vec![
            Box::new(HandedSide::start(site.fresh().await?, lane, size.callers, warm_up).await?),
            Box::new(LeanSide::start(site.fresh().await?, size.callers, warm_up).await?),
        ];
        let sums = take_turns(&mut sides, size.turns, amount).await?;
        sums.iter().zip(["handed over", "lean raw"]).for_each(|(sum, name)| report.count(name, sum));
        rounds.add(sums);
        end_all(sides).await?;
    }
    report.spread("handed over", &rounds.side(0, Tally::rate), "lifecycles/s");
    report.spread("handed over, processor", &rounds.side(0, Tally::processor_each), "µs/lifecycle");
    report.spread("handed over, rows", &rounds.side(0, Tally::rows_each), "rows/lifecycle");
    report.spread("lean raw beside it", &rounds.side(1, Tally::rate), "lifecycles/s");
    let over_lean = report.spread("handed over / lean raw", &rounds.ratios(0, 1), "");
    report.at_least("handed over / lean raw", over_lean, site.handed_over_min(), "");
    Ok(())
}

/// How many lifecycles fill one turn, found by running some.
pub(crate) async fn amount(site: &Site, size: &Size, lane: &Lane) -> Result<usize, Error> {
    let warm_up = size.callers * WARM_UP;
    let mut side = EngineSide::start(site.fresh().await?, lane, size.callers, warm_up).await?;
    let rate = side.run(warm_up * 2).await?.rate();
    Box::new(side).end().await?;
    let amount = rate * size.leg_seconds / size.turns as f64;
    Ok((amount as usize).clamp(size.callers, 50_000))
}

/// Rows decide how fast a store can be; each command has a budget of them.
fn write_budget(report: &mut Report, captured: &Captured) {
    for (name, written, rows_max) in
        [("submit", captured.submit, 4), ("claim", captured.claim, 4), ("complete", captured.complete, 5)]
    {
        report.figure(&format!("bytes of a {name}"), written.bytes_mean(), "bytes");
        report.at_most(&format!("rows of a {name}"), written.rows_max as f64, f64::from(rows_max), "rows");
    }
}
