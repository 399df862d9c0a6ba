//! Reports the final state of the store: every execution, the whole feed, dead messages, and whether records agree.

use crate::args::LookArgs;
use crate::engine::open;
use crate::output::tell;
use onward::EventFilter;
use onward::engine::{Examination, Told};
use onward_checker::Line;
use onward_core::{index, limits};
use onward_store::{IndexName, Partitions, Range};

pub(crate) async fn run(args: LookArgs) -> Result<(), onward::Error> {
    let client = open(&args.store).await?;
    let mut after = None;
    loop {
        let page = client.list(after.as_deref(), limits::PAGE_MAX).await?;
        for execution in page.executions {
            tell(&Line::Listed { execution: execution.id.to_string(), state: execution.state.as_str().to_owned() });
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let mut events = client.events(EventFilter::default(), None);
    while let Some(told) = events.next_now().await? {
        // Nothing was trimmed, so a gap is what raised positions leave: what is stored is all there is.
        if let Told::Event { event, .. } = told {
            let event =
                serde_json::to_value(&event).map_err(|error| onward::engine::Error::Internal(error.to_string()))?;
            tell(&Line::Stored { event });
        }
    }
    let engine = client.engine().ok_or_else(|| onward::engine::Error::Internal("chaos opens stores".into()))?;
    let store = engine.store();
    let dead = store.scan(&IndexName::new(index::DEAD), &Partitions::All, Range::default(), limits::PAGE_MAX).await?;
    for found in dead.items {
        tell(&Line::Dead { key: found.key.as_str().to_owned() });
    }
    let report = engine.examine(Examination::default(), |_| ()).await?;
    // A message that was set aside is reported as well; the history tells whether it was planted.
    let wrong = report.ailments.iter().filter(|ailment| !ailment.key.starts_with("dead/"));
    let faults = wrong.map(|ailment| format!("{}: {} ({})", ailment.key, ailment.detail, ailment.code)).collect();
    tell(&Line::Examined { records: report.records, faults });
    client.shutdown().await
}
