//! How long an operator waits for a first page and for counts.

use super::Error;
use super::measure::{Stopwatch, percentile, sorted};
use super::report::Report;
use super::{seed, work};
use onward_core::Namespace;
use onward_core::record::PublicState;
use onward_engine::{Engine, FindFilter};
use serde::{Deserialize, Serialize};

/// Executions on a page.
const PAGE: usize = 20;
/// What a person hardly notices.
const FIRST_PAGE_MS_MAX: f64 = 50.0;

/// What looking took, in milliseconds, as the highest of several medians where there are several ways.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Looks {
    /// The first page of each way to list, with its name.
    pages: Vec<(String, f64)>,
    /// A page by a filter that no index serves, and how many entries were looked at for it.
    of_lane: f64,
    scanned_for_lane: usize,
    /// A page that finds nothing and looks as far as a page does, and how many entries that is.
    vain: f64,
    scanned: usize,
    counts: f64,
}

/// Looks at everything, and at what an index serves; each way so many times.
pub(crate) async fn looks(engine: &Engine, times: usize) -> Result<Looks, Error> {
    let all = FindFilter::default();
    let filters = [
        ("all", all.clone()),
        ("waiting", FindFilter { states: [PublicState::Waiting].into(), ..all.clone() }),
        ("completed", FindFilter { states: [PublicState::Completed].into(), ..all.clone() }),
    ];
    let mut pages = Vec::new();
    for (name, filter) in filters {
        let (took, _) = page(engine, &filter, times, Some(true)).await?;
        pages.push((name.to_owned(), took));
    }
    let lane = FindFilter { lane: Some(work::name(seed::LANES[1])), ..all.clone() };
    let (of_lane, scanned_for_lane) = page(engine, &lane, times.div_ceil(4), None).await?;
    let nothing = FindFilter { kind: Some(work::name("no-such-kind")), ..all };
    let (vain, scanned) = page(engine, &nothing, times.div_ceil(4), Some(false)).await?;
    let mut counts = Vec::new();
    for _ in 0..times {
        let watch = Stopwatch::start();
        engine.counts(&Namespace::default()).await?;
        counts.push(watch.millis());
    }
    Ok(Looks { pages, of_lane, scanned_for_lane, vain, scanned, counts: percentile(&sorted(&counts), 0.5) })
}

/// The median of several first pages that each find something, nothing, or whatever is within reach, and the entries that were looked at.
async fn page(engine: &Engine, filter: &FindFilter, times: usize, finds: Option<bool>) -> Result<(f64, usize), Error> {
    let (mut took, mut scanned) = (Vec::new(), 0);
    for _ in 0..times {
        let watch = Stopwatch::start();
        let found = engine.find(&Namespace::default(), filter, None, PAGE).await?;
        took.push(watch.millis());
        scanned = found.scanned;
        if finds == Some(found.executions.is_empty()) {
            return Err(Error::Broken(format!("{} executions on a page", found.executions.len())));
        }
    }
    Ok((percentile(&sorted(&took), 0.5), scanned))
}

impl Looks {
    pub(crate) fn judge(&self, report: &mut Report) {
        for (name, took) in &self.pages {
            report.figure(&format!("first page, {name}"), *took, "ms");
        }
        report.figure("a page of a lane, by looking", self.of_lane, "ms");
        report.figure("entries looked at for it", self.scanned_for_lane as f64, "");
        report.figure("a page that finds nothing", self.vain, "ms");
        report.figure("entries that it looks at", self.scanned as f64, "");
        let slowest = self.pages.iter().map(|(_, took)| *took).fold(0.0, f64::max);
        report.at_most("first page, the slowest way", slowest, FIRST_PAGE_MS_MAX, "ms");
        report.at_most("counts", self.counts, FIRST_PAGE_MS_MAX, "ms");
    }
}
