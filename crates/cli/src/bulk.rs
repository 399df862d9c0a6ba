//! `onward bulk`: does one thing with every execution that passes a filter, page by page, and says how far it is.

use crate::args::{BulkAction, BulkArgs};
use crate::problem::{Exit, Problem};
use crate::progress::Progress;
use crate::{ls, open, output};
use onward::{Client, Error, ExecutionId, FindFilter, PublicState, Reason};
use onward_core::{Act, act};
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
    let act = act(&args.action, &args.reason);
    let client = open::existing(store, &args.filter.namespace).await?;
    let tally = go(&client, &filter, &act, args.dry_run, json).await;
    client.shutdown().await?;
    let tally = tally?;
    if json {
        let (matched, done, refused) = (tally.matched, tally.done, &tally.refused);
        let object = json!({ "scanned": tally.scanned, "matched": matched, "done": done, "refused": refused });
        output::print(&object.to_string());
    } else {
        output::print(&said(&tally, &act, args.dry_run));
    }
    Ok(if tally.refused.is_empty() { Exit::Success } else { Exit::Refused })
}

fn act(action: &BulkAction, reason: &str) -> Act {
    let reason = Reason::new(reason);
    match action {
        BulkAction::Cancel => Act::Cancel(act::Cancel { reason, grace: None }),
        BulkAction::Replay => Act::Replay(act::Replay { reason, ..act::Replay::default() }),
        BulkAction::RunNow => Act::Reschedule(act::Reschedule::from(onward_core::When::Now)),
        BulkAction::Revoke => Act::Revoke(act::Revoke { lease: None, reason }),
        BulkAction::Purge => Act::Purge(act::Purge {}),
    }
}

/// All that match are found before anything is done: doing it would move them under the reader's eyes.
async fn go(client: &Client, filter: &FindFilter, act: &Act, dry_run: bool, quiet: bool) -> Result<Tally, Error> {
    let (mut tally, mut ids, mut cursor) = (Tally::default(), Vec::new(), None);
    let mut progress = Progress::new("finding", None, quiet);
    loop {
        let page = client.find(filter, cursor.as_deref(), PAGE).await?;
        tally.scanned += page.scanned;
        ids.extend(page.executions.iter().filter(|found| applies(act, found.state)).map(|found| found.id));
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
    let mut progress = Progress::new(act.name(), Some(ids.len() as u64), quiet);
    let mut tried = 0;
    for page in ids.chunks(PAGE) {
        carry_out(client, page, act, &mut tally).await?;
        tried += page.len() as u64;
        progress.at(tried, &format!("{} done", tally.done));
    }
    progress.end();
    Ok(tally)
}

async fn carry_out(client: &Client, ids: &[ExecutionId], act: &Act, tally: &mut Tally) -> Result<(), Error> {
    for answer in client.operate_many(ids.to_vec(), act.clone()).await? {
        match answer {
            Ok(_) => tally.done += 1,
            Err(error) => *tally.refused.entry(error.code().to_owned()).or_default() += 1,
        }
    }
    Ok(())
}

/// Whether something can be done with executions in a state at all; the rest are left alone without a word.
fn applies(act: &Act, state: PublicState) -> bool {
    match act {
        Act::Replay(_) | Act::Purge(act::Purge {}) => state.outcome().is_some(),
        Act::Revoke(_) => state == PublicState::Active,
        Act::Reschedule(_) => state == PublicState::Delayed,
        _ => state.outcome().is_none(),
    }
}

fn said(tally: &Tally, act: &Act, dry_run: bool) -> String {
    let (name, scanned) = (act.name(), tally.scanned);
    if dry_run {
        return format!("{name} would be done with {} executions ({scanned} looked at)", tally.matched);
    }
    let mut text = format!("{name}: {} of {} executions ({scanned} looked at)", tally.done, tally.matched);
    for (code, count) in &tally.refused {
        text.push_str(&format!("\n  {count} refused: {code}"));
    }
    text
}
