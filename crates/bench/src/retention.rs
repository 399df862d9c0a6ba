//! What removing old work costs: lifecycles while many ended executions outlive their retention at once, against none.

use super::lifecycle::{self, WARM_UP};
use super::load::EngineSide;
use super::measure::{Stopwatch, Tally};
use super::report::Report;
use super::seed::{self, Seed};
use super::side::{Rounds, Side};
use super::{Error, Site, Size, progress, work};
use onward_core::{Key, Lane, Millis, Span, codec, limits};
use onward_engine::Options;
use onward_engine::clock::{Clock, SystemClock};
use onward_store::{Cursor, Store};

const REMOVING: usize = 0;
const PLAIN: usize = 1;
const NAMES: [&str; 2] = ["the engine that removes", "the engine that does not"];

/// Each round fills a store anew, so there are fewer of them than elsewhere.
const ROUNDS_MAX: usize = 3;
/// Events are looked for eight times as often as they are kept, so that the end need not be waited for.
const EVENTS_KEPT: Span = Span::seconds(16);
/// How long ago the first of them outlived its retention: they do so almost at once.
const LIFE: Span = Span::seconds(30);
/// How long they are kept: so long that no stub has to stay for repeats.
const KEPT: Span = limits::STUB_LIFE;
/// How long everything may take to go before the run is given up.
const PATIENCE_SECONDS: f64 = KEPT.0 as f64 / 1_000.0;

pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("retention", site.url());
    let lane: Lane = work::name("bench");
    let amount = lifecycle::amount(site, size, &lane).await?;
    let (mut rounds, mut took) = (Rounds::default(), Vec::new());
    let count = size.rounds.min(ROUNDS_MAX);
    for round in 1..=count {
        progress(&format!("retention, round {round} of {count}"));
        let warm_up = size.callers * WARM_UP;
        let mut plain = EngineSide::start(site.fresh().await?, &lane, size.callers, warm_up).await?;
        let fresh = site.fresh().await?;
        let seed = Seed { finished: size.expired, waiting: 0, retention: Some(KEPT), life: LIFE };
        seed::fill(&fresh.store, &seed).await?;
        let (store, begun) = (fresh.store.clone(), SystemClock.now());
        let mut sums = [Tally::default(), plain.run(amount * size.turns).await?];
        let options = Options { event_retention: EVENTS_KEPT, ..Options::default() };
        let watch = Stopwatch::start();
        let mut removing = EngineSide::start_with(fresh, &lane, size.callers, warm_up, options).await?;
        while removing.engine.metrics().retention_trimmer < size.expired as u64 {
            sums[REMOVING].add(removing.run(amount).await?);
            if watch.elapsed().as_secs_f64() > PATIENCE_SECONDS {
                return Err(Error::Broken("not everything went in the time that it is kept".to_owned()));
            }
        }
        took.push(watch.elapsed().as_secs_f64());
        sums[PLAIN].add(plain.run(amount * size.turns).await?);
        gone(&*store, begun, &mut removing, amount).await?;
        sums.iter().zip(NAMES).for_each(|(sum, name)| report.count(name, sum));
        rounds.add(sums.into());
        Box::new(plain).end().await?;
        Box::new(removing).end().await?;
    }
    report.figure("ended executions", size.expired as f64, "");
    let seconds = report.spread("all removed after", &took, "s");
    report.spread("while removing", &rounds.side(REMOVING, Tally::rate), "lifecycles/s");
    report.spread("without", &rounds.side(PLAIN, Tally::rate), "lifecycles/s");
    let ratio = report.spread("while removing / without", &rounds.ratios(REMOVING, PLAIN), "");
    report.at_least("while removing / without", ratio, 0.8, "");
    let kept = 1.0 + seconds / PATIENCE_SECONDS;
    report.at_most("gone after so many times its retention", kept, 2.0, "");
    Ok(report)
}

/// Nothing from before a time is left: no record, no index row, no event. Old events go a little later than the rest.
async fn gone(store: &dyn Store, before: Millis, side: &mut EngineSide, amount: usize) -> Result<(), Error> {
    let mut from = None;
    loop {
        let page = store.audit(from.as_deref(), 1_000).await?;
        if let Some(fault) = page.faults.first() {
            return Err(Error::Broken(format!("removing left {fault:?}")));
        }
        for (_, row) in &page.records {
            let Ok(Key::Execution(id)) = row.key.as_str().split('/').next().unwrap_or_default().parse() else {
                continue;
            };
            let created = (id.uuid().as_u128() >> 80) as u64;
            if created < before.0 - KEPT.0 {
                return Err(Error::Broken(format!("{} was not removed", row.key)));
            }
        }
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    let watch = Stopwatch::start();
    loop {
        let oldest = store.read_feed(&Cursor::start(), 1).await?.events;
        let oldest = oldest.first().and_then(|found| codec::decode_events(&found.body).pop().flatten());
        if oldest.is_none_or(|event| event.at >= before) {
            return Ok(());
        }
        if watch.elapsed().as_secs_f64() > PATIENCE_SECONDS {
            return Err(Error::Broken("events from before are still there".to_owned()));
        }
        side.run(amount).await?;
    }
}
