//! How many bytes a finished execution takes in the store, its events included.

use super::measure::Tally;
use super::report::Report;
use super::work::{self, PATIENCE};
use super::{Error, Site, Size, progress, site};
use futures_util::future::join_all;
use onward_core::{Lane, Payload};
use onward_engine::{Engine, NewExecution, Options};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of the input and of the output, both JSON.
const PAYLOAD: usize = 100;

pub(crate) async fn measure(site: &Site, size: &Size) -> Result<Report, Error> {
    let mut report = Report::new("bytes", site.url());
    let address = site.shared_address()?;
    site.hasten_upkeep()?;
    let before = site.weigh(&address)?;
    let store = site::open(&address).await?;
    let engine = Engine::start(store.clone(), Options::default()).await?;
    progress(&format!("bytes, {} executions", size.kept));
    let left = Arc::new(AtomicUsize::new(size.kept));
    let tasks = (0..size.callers).map(|_| tokio::spawn(caller(engine.clone(), left.clone())));
    let tally = Tally::of(join_all(tasks).await)?;
    report.count("the engine", &tally);
    engine.shutdown().await;
    store.close().await?;
    let after = site.weigh(&address)?;
    site.clear(&address).await?;
    report.figure("finished executions", tally.done as f64, "");
    report.figure("input and output", PAYLOAD as f64, "bytes each");
    let each = |bytes: u64| bytes as f64 / tally.done.max(1) as f64;
    for (name, bytes) in &after.parts {
        let was = before.parts.get(name).copied().unwrap_or(0);
        report.figure(name, each(bytes.saturating_sub(was)), "bytes/execution");
    }
    let whole = each(after.total.saturating_sub(before.total));
    match after.each_max {
        Some(limit) => report.at_most("a finished execution", whole, limit, "bytes"),
        None => report.figure("a finished execution", whole, "bytes"),
    }
    Ok(report)
}

async fn caller(engine: Engine, left: Arc<AtomicUsize>) -> Tally {
    let lane: Lane = work::name("bench");
    let payload = payload();
    let new = NewExecution { lane: lane.clone(), ..NewExecution::new(work::kind(), payload.clone()) };
    let wants = work::patient(&lane);
    let mut tally = Tally::default();
    while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
        tally.tried += 1;
        let lifecycle = async {
            engine.submit(new.clone()).await?;
            let claimed = work::one(engine.claim(&wants, PATIENCE).await?)?;
            engine.complete(claimed.fence, payload.clone()).await?;
            Ok::<(), Error>(())
        };
        match lifecycle.await {
            Ok(()) => tally.done += 1,
            Err(error) => tally.failure = tally.failure.or(Some(error.to_string())),
        }
    }
    tally
}

/// A text that is as long as it should be with its quotes.
fn payload() -> Payload {
    Payload::of(&"x".repeat(PAYLOAD - 2)).expect("a text is JSON")
}
