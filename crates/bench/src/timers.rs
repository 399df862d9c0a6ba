//! How late delayed executions become ready: from the due time to the return of the commit that promotes them.

use super::measure::{Stopwatch, Tally, percentile, sorted, wall_millis};
use super::report::Report;
use super::rows::Rows;
use super::tap::Tap;
use super::{Error, Site, Size, progress, raw, submit, work};
use futures_util::future::join_all;
use onward_core::{
    Command, Due, ExecutionId, Key, Lane, Millis, NewExecution, PartitionId, Span, What, When, codec, limits,
};
use onward_engine::clock::{Chance, Clock, SystemClock};
use onward_engine::{Engine, Options};
use onward_store::Batch;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How long the last promotion may take before all that have not happened count as missing.
const GRACE: Span = Span::seconds(20);

pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("timers", site.url());
    let mut figures = [const { Vec::new() }; 4];
    let mut lead = size.timers_lead;
    for round in 1..=size.rounds {
        progress(&format!("timers, round {round} of {}", size.rounds));
        let Lateness { late, missing } = on_engine(site, size, &mut lead).await?;
        report.count("engine", &Tally { tried: late.len(), done: late.len() - missing, ..Tally::default() });
        let raw = on_store(site, size).await?;
        let percentiles = [(&late, 0.5), (&late, 0.99), (&late, 1.0), (&raw, 0.99)];
        for (values, (samples, part)) in figures.iter_mut().zip(percentiles) {
            values.push(percentile(&sorted(samples), part));
        }
    }
    let [p50, p99, last, raw_p99] = figures;
    report.figure("delayed executions", size.timers as f64, "");
    report.figure("due over", size.timers_over.0 as f64, "ms");
    let (p50, p99) = (report.spread("late, p50", &p50, "ms"), report.spread("late, p99", &p99, "ms"));
    report.spread("late, the last", &last, "ms");
    let raw_p99 = report.spread("raw commit at that pace, p99", &raw_p99, "ms");
    report.at_most("late, p50", p50, 10.0, "ms");
    report.at_most("late, p99 to max(50 ms, 5 × raw)", p99, (5.0 * raw_p99).max(50.0), "ms");
    Ok(report)
}

/// The due time of each of many, spread evenly.
fn due(first: Millis, at: usize, size: &Size) -> Millis {
    first + Span(size.timers_over.0 * at as u64 / size.timers as u64)
}

/// When each execution was promoted, on the clock of due times.
type Promoted = Arc<Mutex<Vec<(ExecutionId, f64)>>>;

/// How late each promotion was, in milliseconds, those that never happened included.
#[derive(Debug, PartialEq)]
struct Lateness {
    late: Vec<f64>,
    missing: usize,
}

impl Lateness {
    /// What never happened is as late as it was waited for; left out, it would make the percentiles better.
    fn of(due_times: &BTreeMap<ExecutionId, Millis>, promoted: &[(ExecutionId, f64)], given_up: Millis) -> Self {
        let promoted: BTreeMap<&ExecutionId, f64> = promoted.iter().rev().map(|(id, at)| (id, *at)).collect();
        let late =
            |(id, due): (&ExecutionId, &Millis)| promoted.get(id).copied().unwrap_or(given_up.0 as f64) - due.0 as f64;
        let missing = due_times.keys().filter(|id| !promoted.contains_key(id)).count();
        Self { late: due_times.iter().map(late).collect(), missing }
    }
}

/// How late each promotion was on an engine.
async fn on_engine(site: &Site, size: &Size, lead: &mut Span) -> Result<Lateness, Error> {
    loop {
        let fresh = site.fresh().await?;
        let promoted = Promoted::default();
        let notes = promoted.clone();
        let store = Tap::on(fresh.store.clone(), move |batch| note(&notes, &batch));
        let engine = Engine::start(store, Options::default()).await?;
        let first = engine.now() + *lead;
        let given_up = first + size.timers_over + GRACE;
        let due_times = submit_all(&engine, size, first).await?;
        let in_time = engine.now() < first;
        if in_time {
            await_promotions(&engine, size, given_up).await;
        }
        engine.shutdown().await;
        fresh.discard().await?;
        if in_time {
            let promoted = promoted.lock();
            return Ok(Lateness::of(&due_times, &promoted, given_up));
        }
        *lead = Span(lead.0 * 2);
        progress(&format!("submitting took longer than the lead; once more with {lead}"));
    }
}

fn note(promoted: &Promoted, batch: &Batch) {
    let at = wall_millis();
    let events = batch.events.iter().flat_map(|body| codec::decode_events(body)).flatten();
    let ready = events.filter(|event| event.what == What::Ready).filter_map(|event| event.execution());
    promoted.lock().extend(ready.map(|id| (id, at)));
}

async fn submit_all(engine: &Engine, size: &Size, first: Millis) -> Result<BTreeMap<ExecutionId, Millis>, Error> {
    let lane: Lane = work::name("bench");
    let times: Vec<Millis> = (0..size.timers).map(|at| due(first, at, size)).collect();
    let mut due_times = BTreeMap::new();
    for times in times.chunks(limits::CALL_ITEMS_MAX) {
        let new = |time: &Millis| NewExecution { run_at: Some(*time), ..work::execution(&lane) };
        let answers = engine.submit_many(times.iter().map(new).collect()).await?;
        for (answer, time) in answers.into_iter().zip(times) {
            due_times.insert(answer?.id, *time);
        }
    }
    Ok(due_times)
}

async fn await_promotions(engine: &Engine, size: &Size, given_up: Millis) {
    while engine.metrics().delayed_promoter < size.timers as u64 && engine.now() < given_up {
        SystemClock.sleep(Span(20)).await;
    }
}

/// How long commits of the same promotions take at the same pace, without an engine.
async fn on_store(site: &Site, size: &Size) -> Result<Vec<f64>, Error> {
    let fresh = site.fresh().await?;
    // A fifth of the time is enough to see how the store takes this pace.
    let count = (size.timers / 5).max(1);
    let first = SystemClock.now();
    let (submits, promotions) = promotions(size, count, first, fresh.store.meta().partitions)?;
    for group in submits.chunks(100) {
        raw::commit(&*fresh.store, group.to_vec()).await?;
    }
    let start = SystemClock.now();
    let mut tasks = Vec::with_capacity(count);
    for (at, promotion) in promotions.into_iter().enumerate() {
        let time = due(start, at, size);
        while SystemClock.now() < time {
            SystemClock.sleep(Span(1)).await;
        }
        let store = fresh.store.clone();
        tasks.push(tokio::spawn(async move {
            let watch = Stopwatch::start();
            raw::commit(&*store, vec![promotion]).await.map(|()| watch.millis())
        }));
    }
    let mut took = Vec::with_capacity(count);
    for task in join_all(tasks).await {
        took.push(task.map_err(|panic| Error::Broken(panic.to_string()))??);
    }
    fresh.discard().await?;
    Ok(took)
}

/// The batches that submit delayed executions, and those that promote them one by one.
fn promotions(size: &Size, count: usize, first: Millis, partitions: u16) -> Result<(Vec<Batch>, Vec<Batch>), Error> {
    let (lane, chance): (Lane, _) = (work::name("bench"), Chance::from_os());
    // Everything is due already when it is written again, so that nothing is outside its window.
    let past = first - Span(size.timers_over.0 + 1);
    let mut rows: Vec<Rows> = (0..partitions).map(|id| Rows::new(PartitionId(id), partitions, true)).collect();
    let (mut submits, mut promotions) = (Vec::new(), Vec::new());
    for at in 0..count {
        let time = due(past, at, size);
        let submit = submit::submit(&chance, &lane, past, When::At(time + Span(1)), partitions);
        let key = Key::Execution(submit.id);
        let rows = &mut rows[usize::from(submit.id.partition().0)];
        submits.push(rows.batch(&chance, &[(Command::Submit(submit), past)])?);
        promotions.push(rows.batch(&chance, &[(Command::Due(Due { key }), time + Span(1))])?);
    }
    Ok((submits, promotions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_happened_is_as_late_as_it_was_waited_for() {
        let chance = Chance::from_os();
        let [in_time, twice, never] = [(); 3].map(|()| work::id(&chance, Millis(0), 64));
        let due_times = BTreeMap::from([(in_time, Millis(100)), (twice, Millis(200)), (never, Millis(300))]);
        let promoted = [(in_time, 101.5), (twice, 203.0), (twice, 900.0)];
        let Lateness { late, missing } = Lateness::of(&due_times, &promoted, Millis(300) + GRACE);
        assert_eq!(sorted(&late), [1.5, 3.0, GRACE.0 as f64]);
        assert_eq!(missing, 1);
    }
}
