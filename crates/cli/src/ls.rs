//! `onward ls`: executions of a namespace, newest first, filtered while they are read.

use crate::args::LsArgs;
use crate::problem::{Exit, Problem};
use crate::submit::parse;
use crate::{get, output, shape, time};
use onward::{Client, Description, ExecutionId, Kind, Lane, ListCursor, PublicState, Rejection};
use serde_json::json;

/// Executions read in one call, and the most that one listing looks at.
const PAGE: usize = 500;
const SCAN_MAX: usize = 20_000;

struct Filter {
    state: Option<PublicState>,
    lane: Option<Lane>,
    kind: Option<Kind>,
}

struct Found {
    executions: Vec<Description>,
    scanned: usize,
    /// The last one that was looked at, when there are more behind it.
    more_before: Option<ExecutionId>,
}

pub(crate) async fn run(args: &LsArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    let filter = Filter {
        state: args.state.as_deref().map(state).transpose()?,
        lane: args.lane.as_deref().map(parse).transpose()?,
        kind: args.kind.as_deref().map(parse).transpose()?,
    };
    let before: Option<ExecutionId> = args.before.as_deref().map(parse).transpose()?;
    let client = get::open(store, &args.namespace).await?;
    let found = find(&client, &filter, before, usize::from(args.limit)).await;
    client.shutdown().await?;
    let found = found?;
    if json {
        let executions: Vec<_> = found.executions.iter().map(shape::object).collect();
        let page = json!({ "executions": executions, "scanned": found.scanned, "more_before": found.more_before });
        output::print(&page.to_string());
    } else {
        output::print(&table(&found));
    }
    Ok(Exit::Success)
}

fn state(text: &str) -> Result<PublicState, Problem> {
    PublicState::named(text).ok_or_else(|| Problem::State(text.to_owned()))
}

async fn find(
    client: &Client,
    filter: &Filter,
    before: Option<ExecutionId>,
    limit: usize,
) -> Result<Found, onward::Error> {
    let mut cursor = match before {
        None => None,
        Some(id) => {
            let last = client.get(id).await?.ok_or(Rejection::ExecutionNotFound(id))?;
            Some(ListCursor { rank: last.created_at.0, id })
        }
    };
    let mut found = Found { executions: Vec::new(), scanned: 0, more_before: None };
    loop {
        let page = client.list(cursor, PAGE).await?;
        let count = page.executions.len();
        for (index, execution) in page.executions.into_iter().enumerate() {
            found.scanned += 1;
            let id = execution.id;
            if filter.lets_through(&execution) {
                found.executions.push(execution);
            }
            let is_last = index + 1 == count && page.next.is_none();
            if (found.executions.len() == limit || found.scanned == SCAN_MAX) && !is_last {
                found.more_before = Some(id);
                return Ok(found);
            }
        }
        match page.next {
            Some(next) => cursor = Some(next),
            None => return Ok(found),
        }
    }
}

impl Filter {
    fn lets_through(&self, execution: &Description) -> bool {
        self.state.is_none_or(|state| state == execution.state)
            && self.lane.as_ref().is_none_or(|lane| *lane == execution.lane)
            && self.kind.as_ref().is_none_or(|kind| *kind == execution.kind)
    }
}

fn table(found: &Found) -> String {
    let mut rows = vec![["ID", "STATE", "LANE", "KIND", "ATTEMPTS", "CREATED"].map(str::to_owned)];
    for execution in &found.executions {
        rows.push([
            execution.id.to_string(),
            execution.state.as_str().to_owned(),
            execution.lane.to_string(),
            execution.kind.to_string(),
            execution.attempts.to_string(),
            time::show(execution.created_at),
        ]);
    }
    let mut text = shape::table(&rows);
    text.push_str(&format!("{} shown, {} scanned", found.executions.len(), found.scanned));
    if let Some(id) = found.more_before {
        text.push_str(&format!("; go on with --before {id}"));
    }
    text
}
