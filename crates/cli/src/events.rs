//! `onward events`: what happened, one line each, and what happens while somebody watches.

use crate::args::EventsArgs;
use crate::problem::{Exit, Problem};
use crate::submit::parse;
use crate::time::show;
use crate::{open, output, shape};
use onward::Client;
use onward::engine::{EventFilter, Told};
use onward::wire::EventRow;
use onward_core::{Event, Subject, What};

pub(crate) async fn run(args: EventsArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    let filter = EventFilter {
        namespace: None,
        lane: args.lane.as_deref().map(parse).transpose()?,
        execution: args.execution.as_deref().map(parse).transpose()?,
        names: args.what.iter().map(|name| known(name)).collect::<Result<_, _>>()?,
        endings: args.endings,
    };
    let client = open::existing(store, &args.namespace).await?;
    let told = tell(&client, filter, args.after, args.follow, json).await;
    client.shutdown().await?;
    told?;
    Ok(Exit::Success)
}

/// The name of an event, refused when there is none of this name: it would match nothing for ever.
fn known(name: &str) -> Result<String, Problem> {
    if What::NAMES.contains(&name) { Ok(name.to_owned()) } else { Err(Problem::Event(name.to_owned())) }
}

async fn tell(
    client: &Client,
    filter: EventFilter,
    after: Option<String>,
    follow: bool,
    json: bool,
) -> Result<(), onward::Error> {
    let mut events = client.events(filter, after);
    loop {
        let told = if follow {
            tokio::select! {
                biased;
                told = events.next() => told?,
                // A person who has seen enough ends this in good order.
                _ = tokio::signal::ctrl_c() => None,
            }
        } else {
            events.next_now().await?
        };
        match told {
            None => return Ok(()),
            Some(told) if json => output::print(&shape::text(&EventRow::from(told))),
            Some(Told::Gap) => output::print("... older events were removed"),
            Some(Told::Event { event, .. }) => output::print(&line(&event)),
        }
        if output::lost().is_some() || output::closed() {
            return Ok(());
        }
    }
}

fn line(event: &Event) -> String {
    let subject = match &event.subject {
        Subject::Execution { execution, .. } => execution.to_string(),
        Subject::Lane { lane, .. } => format!("lane {lane}"),
        Subject::Everything => "all namespaces".to_owned(),
    };
    format!("{}  {subject}  {:16}  {}", show(event.at), event.what.name(), shape::detail(&event.what))
}
