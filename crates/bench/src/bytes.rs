//! How many bytes a finished execution takes in the store, its events included.

use super::report::Report;
use super::{Error, Site, Size, load, progress, site, work};
use onward_core::{NewExecution, Payload};
use onward_engine::{Engine, Options};

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
    let new = NewExecution { lane: work::name("bench"), ..NewExecution::new(work::kind(), payload()) };
    let tally = load::call(&engine, &new, &payload(), size.callers, size.kept).await?;
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

/// A text that is as long as it should be with its quotes.
fn payload() -> Payload {
    Payload::of(&"x".repeat(PAYLOAD - 2)).expect("a text is JSON")
}
