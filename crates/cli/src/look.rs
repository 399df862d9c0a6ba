//! `onward result`, `attempts`, `history`, `why`: what there is to know about one execution.

use crate::args::{GetArgs, Target};
use crate::problem::{Exit, Problem};
use crate::submit::parse;
use crate::time::show;
use crate::watch::{self, Shown};
use crate::{open, output, shape};
use onward::wire::{AttemptList, HistoryPage};
use onward::{AttemptDescription, Client, Error, ExecutionId, Payload, PublicState, Rejection};
use onward_core::record::Transition;
use onward_core::{Explanation, Release};
use serde_json::Value;
use std::io::Write;

/// What to show.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Aspect {
    Result,
    Attempts,
    History,
}

/// What was found, ready to be printed.
enum Found {
    Text { json: String, text: String },
    Bytes(Payload),
}

pub(crate) async fn run(aspect: Aspect, target: &Target, store: &str, json: bool) -> Result<Exit, Problem> {
    let id: ExecutionId = parse(&target.id)?;
    let client = open::existing(store, &target.namespace).await?;
    let found = find(&client, id, aspect).await;
    client.shutdown().await?;
    match found? {
        Found::Text { json: object, .. } if json => output::print(&object),
        Found::Text { text, .. } => output::print(&text),
        // Bytes are for a file or another program, exactly as they are.
        Found::Bytes(payload) => {
            let written = std::io::stdout().lock().write_all(payload.as_bytes());
            written.map_err(|error| Problem::system("the result cannot be written", &error))?;
        }
    }
    Ok(Exit::Success)
}

/// `onward why`: what an execution waits for.
pub(crate) async fn why(args: &GetArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    let id: ExecutionId = parse(&args.target.id)?;
    let client = open::existing(store, &args.target.namespace).await?;
    let look = async || {
        let why = client.why(id).await?;
        let text = if json { shape::text(&why) } else { explain(&why) };
        Ok(Shown { text, is_final: why.state.outcome().is_some() })
    };
    watch::show(&client, &args.watch, look).await
}

async fn find(client: &Client, id: ExecutionId, aspect: Aspect) -> Result<Found, Error> {
    Ok(match aspect {
        Aspect::Result => result(client, id).await?,
        Aspect::Attempts => {
            let attempts = client.attempts(id).await?;
            let text = table(&attempts);
            Found::Text { json: shape::text(&AttemptList { attempts }), text }
        }
        Aspect::History => {
            let history = client.history(id).await?;
            let line = |step: &Transition| {
                let by = step.by.as_ref().map(|by| format!("  by {by}")).unwrap_or_default();
                format!("{}  {:16}  {}{by}\n", show(step.at), step.what.name(), shape::detail(&step.what))
            };
            let text = history.iter().map(line).collect();
            Found::Text { json: shape::text(&HistoryPage { transitions: history }), text }
        }
    })
}

async fn result(client: &Client, id: ExecutionId) -> Result<Found, Error> {
    let state = client.get(id).await?.ok_or(Rejection::ExecutionNotFound(id))?.state;
    if state != PublicState::Completed {
        // Reading it says why there is none; one that has not ended yet is refused.
        client.result::<Value>(id).await?;
        return Err(Rejection::NotFinished { execution: id, state }.into());
    }
    match client.output(id).await?.unwrap_or_else(Payload::null) {
        Payload::Json(json) => {
            let text = json.as_str().to_owned();
            Ok(Found::Text { json: text.clone(), text })
        }
        bytes => Ok(Found::Bytes(bytes)),
    }
}

fn table(attempts: &[AttemptDescription]) -> String {
    let mut rows = vec![["ATTEMPT", "KIND", "END", "STARTED", "RAN", "WORKER", "FAILURE"].map(str::to_owned)];
    for attempt in attempts {
        let failure = attempt.failure().map(|failure| format!("{}: {}", failure.category.as_str(), failure.message));
        rows.push([
            attempt.number.to_string(),
            attempt.kind.as_str().to_owned(),
            attempt.end.as_ref().map_or("-", onward_core::record::AttemptEnd::as_str).to_owned(),
            show(attempt.started_at),
            attempt.ran.to_string(),
            attempt.worker.to_string(),
            failure.unwrap_or_default(),
        ]);
    }
    shape::table(&rows)
}

fn explain(why: &Explanation) -> String {
    let mut text = format!("{}: {}\n", why.state.as_str(), why.reason);
    for release in &why.unblocked_by {
        text.push_str(&format!("  moves on when {}\n", said(release)));
    }
    text
}

fn said(release: &Release) -> String {
    match release {
        Release::Claim { lane, requires } if requires.is_empty() => format!("a worker of lane {lane} claims it"),
        Release::Claim { lane, requires } => {
            format!("a worker of lane {lane} with {} claims it", requires.name())
        }
        Release::LaneOpened { lane } => format!("lane {lane} is opened again (onward lane resume {lane})"),
        Release::TimeComes { at } => format!("its time comes at {}", show(*at)),
        Release::RunNow => "an operator runs it now (onward reschedule ID)".to_owned(),
        Release::Signalled { waits } => {
            let waits = waits.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            format!("a signal comes for {waits} (onward signal ID WAIT)")
        }
        Release::SuspensionTimesOut { at } => format!("its wait times out at {}", show(*at)),
        Release::OperatorResumes => "an operator resumes it (onward resume ID)".to_owned(),
        Release::WorkerReports { worker } => format!("worker {worker} reports"),
        Release::LeaseRunsOut { at } => format!("its lease runs out at {} unless it is renewed", show(*at)),
        Release::AttemptTimesOut { at } => format!("its attempt times out at {}", show(*at)),
        Release::Cancelled { at } => format!("it is cancelled at {} for not stopping by itself", show(*at)),
        Release::DeadlinePasses { at } => format!("its deadline passes at {}", show(*at)),
        Release::Replay => "an operator replays it (onward replay ID)".to_owned(),
        Release::RetentionEnds { at } => format!("it is removed at {}", show(*at)),
    }
}
