//! `onward bulk`: does one thing with every execution that passes a filter, page by page, and says how far it is.

use crate::args::{BulkAction, BulkArgs};
use crate::problem::{Exit, Problem};
use crate::progress::Progress;
use crate::submit::{input, parse};
use crate::{ls, open, output};
use onward::{Client, Error, ExecutionId, FindFilter, PublicState, Reason};
use onward_core::record::WaitAddress;
use onward_core::{Act, NewSignal, act};
use serde_json::json;
use std::collections::BTreeMap;

/// Executions in one page.
const PAGE: usize = 500;

/// What came of it so far.
#[derive(Default)]
struct Tally {
    scanned: usize,
    matched: usize,
    done: usize,
    /// Refusals by their code: somebody else may have been faster.
    refused: BTreeMap<String, usize>,
}

pub(crate) async fn run(args: BulkArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    let filter = ls::filter(&args.filter)?;
    if filter == FindFilter::default() && !args.all {
        let why = "no filter was given: name what is meant, or say --all".to_owned();
        return Err(Problem::Usage(why));
    }
    let deed = deed(&args)?;
    let client = open::existing(store, &args.filter.namespace).await?;
    let tally = go(&client, &filter, &deed, args.dry_run, json).await;
    client.shutdown().await?;
    let tally = tally?;
    if json {
        let (matched, done, refused) = (tally.matched, tally.done, &tally.refused);
        let object = json!({ "scanned": tally.scanned, "matched": matched, "done": done, "refused": refused });
        output::print(&object.to_string());
    } else {
        output::print(&said(&tally, &deed, args.dry_run));
    }
    Ok(if tally.refused.is_empty() { Exit::Success } else { Exit::Refused })
}

/// What is done with each execution.
enum Deed {
    Act(Act),
    Signal(Box<NewSignal>),
}

impl Deed {
    fn name(&self) -> &'static str {
        match self {
            Self::Act(act) => act.name(),
            Self::Signal(_) => "signal",
        }
    }

    /// Whether it can be done with executions in a state at all; the rest are left alone without a word.
    fn applies(&self, state: PublicState) -> bool {
        match self {
            Self::Act(Act::Replay(_) | Act::Purge(act::Purge {})) => state.outcome().is_some(),
            Self::Act(Act::Revoke(_)) => state == PublicState::Active,
            Self::Act(Act::Reschedule(_)) => state == PublicState::Delayed,
            Self::Act(_) | Self::Signal(_) => state.outcome().is_none(),
        }
    }
}

fn deed(args: &BulkArgs) -> Result<Deed, Problem> {
    let reason = Reason::new(&args.reason);
    if args.action != BulkAction::Signal && args.wait.is_some() {
        return Err(Problem::Usage("--wait is for signals".to_owned()));
    }
    Ok(Deed::Act(match args.action {
        BulkAction::Signal => {
            let mut signal = NewSignal::new(parse::<WaitAddress, _>(args.wait.as_deref().unwrap_or_default())?);
            signal.name = args.name.as_deref().map(parse).transpose()?;
            signal.set_payload(input(&args.payload, None)?);
            return Ok(Deed::Signal(Box::new(signal)));
        }
        BulkAction::Cancel => Act::Cancel(act::Cancel { reason, grace: None }),
        BulkAction::Replay => Act::Replay(act::Replay { reason, ..act::Replay::default() }),
        BulkAction::RunNow => Act::Reschedule(act::Reschedule::from(onward_core::When::Now)),
        BulkAction::Revoke => Act::Revoke(act::Revoke { lease: None, reason }),
        BulkAction::Purge => Act::Purge(act::Purge {}),
    }))
}

/// All that match are found before anything is done: doing it would move them under the reader's eyes.
async fn go(client: &Client, filter: &FindFilter, deed: &Deed, dry_run: bool, quiet: bool) -> Result<Tally, Error> {
    let (mut tally, mut ids, mut cursor) = (Tally::default(), Vec::new(), None);
    let mut progress = Progress::new("finding", None, quiet);
    loop {
        let page = client.find(filter, cursor.as_deref(), PAGE).await?;
        tally.scanned += page.scanned;
        ids.extend(page.executions.iter().filter(|found| deed.applies(found.state)).map(|found| found.id));
        progress.at(tally.scanned as u64, &format!("{} found", ids.len()));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    progress.end();
    tally.matched = ids.len();
    if dry_run {
        return Ok(tally);
    }
    let mut progress = Progress::new(deed.name(), Some(ids.len() as u64), quiet);
    let mut tried = 0;
    for page in ids.chunks(PAGE) {
        carry_out(client, page, deed, &mut tally).await?;
        tried += page.len() as u64;
        progress.at(tried, &format!("{} done", tally.done));
    }
    progress.end();
    Ok(tally)
}

async fn carry_out(client: &Client, ids: &[ExecutionId], deed: &Deed, tally: &mut Tally) -> Result<(), Error> {
    let ids = ids.to_vec();
    let answers: Vec<Result<(), Error>> = match deed {
        Deed::Act(act) => {
            client.operate_many(ids, act.clone()).await?.into_iter().map(|answer| answer.map(drop)).collect()
        }
        Deed::Signal(signal) => {
            client.signal_many(ids, (**signal).clone()).await?.into_iter().map(|answer| answer.map(drop)).collect()
        }
    };
    for answer in answers {
        match answer {
            Ok(()) => tally.done += 1,
            Err(error) => *tally.refused.entry(error.code().to_owned()).or_default() += 1,
        }
    }
    Ok(())
}

fn said(tally: &Tally, deed: &Deed, dry_run: bool) -> String {
    let (name, scanned) = (deed.name(), tally.scanned);
    if dry_run {
        return format!("{name} would be done with {} executions ({scanned} looked at)", tally.matched);
    }
    let mut text = format!("{name}: {} of {} executions ({scanned} looked at)", tally.done, tally.matched);
    for (code, count) in &tally.refused {
        text.push_str(&format!("\n  {count} refused: {code}"));
    }
    text
}
