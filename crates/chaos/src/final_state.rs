//! Reports the final state of the store: every execution, the whole feed, dead messages, and whether records agree.

use crate::args::LookArgs;
use crate::engine::open;
use crate::output::tell;
use crate::waits;
use onward::engine::{Engine, Error, Examination, Told};
use onward::{Client, EventFilter, ExecutionId};
use onward_checker::{Accepted, Line, Over, Waited};
use onward_core::{index, limits};
use onward_store::{IndexName, Partitions, Range};

pub(crate) async fn run(args: LookArgs) -> Result<(), onward::Error> {
    let client = open(&args.store).await?;
    let mut after = None;
    loop {
        let page = client.list(after.as_deref(), limits::PAGE_MAX).await?;
        for execution in page.executions {
            tell(&Line::Listed { execution: execution.id.to_string(), state: execution.state.as_str().to_owned() });
            if execution.kind.as_str() == waits::KIND {
                tell(&Line::Waited(waited(&client, execution.id).await?));
            }
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
            let event = serde_json::to_value(&event).map_err(|error| Error::Internal(error.to_string()))?;
            tell(&Line::Stored { event });
        }
    }
    let engine = engine_of(&client)?;
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

fn engine_of(client: &Client) -> Result<&Engine, Error> {
    client.engine().ok_or_else(|| Error::Internal("chaos opens stores".into()))
}

/// The waits and signals of an execution.
async fn waited(client: &Client, id: ExecutionId) -> Result<Waited, onward::Error> {
    let engine = engine_of(client)?;
    let mut waited = Waited { execution: id.to_string(), ..Waited::default() };
    let Some(execution) = engine.get(id).await? else { return Ok(waited) };
    waited.result = client.output(id).await?.and_then(|result| result.read().ok());
    let list = engine.waits(&execution).await?;
    waited.waits = (list.over.into_iter())
        .map(|(wait, over)| Over {
            wait: wait.to_string(),
            how: over.how.as_str().to_owned(),
            signals: over.signals.iter().map(|taken| taken.signal.to_string()).collect(),
        })
        .collect();
    for (signal, record) in list.signals {
        let payload = client.signal_payload(id, signal).await?;
        let sent = payload.and_then(|payload| payload.read::<waits::Sent>().ok());
        waited.signals.push(Accepted {
            signal: signal.to_string(),
            wait: record.wait.to_string(),
            by: record.actor.map(|actor| actor.to_string()),
            sent: sent.map_or_else(|| format!("no payload of {signal}"), |sent| sent.sent),
            effect: record.effect.as_str().to_owned(),
        });
    }
    let kept = execution.waits.iter().flat_map(|waits| &waits.mail);
    waited.kept = kept.map(|mail| mail.signal.to_string()).collect();
    Ok(waited)
}
