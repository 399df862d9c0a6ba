//! `onward ls` and `onward count`: executions of a namespace that pass a filter, and how many there are.

use crate::args::{CountArgs, FilterArgs, LsArgs};
use crate::problem::{Exit, Problem};
use crate::submit::{parse, tags};
use crate::watch::{self, Shown};
use crate::{open, shape, time};
use onward::engine::Counts;
use onward::store::Count;
use onward::wire::{CountsAnswer, FoundPage};
use onward::{FindFilter, Found, PublicState};
use std::collections::BTreeSet;

pub(crate) async fn run(args: &LsArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    let filter = filter(&args.filter)?;
    let client = open::existing(store, &args.filter.namespace).await?;
    let look = async || {
        let found = client.find(&filter, args.after.as_deref(), usize::from(args.limit)).await?;
        Ok(Shown::passing(if json { shape::text(&FoundPage::from(found)) } else { table(&found) }))
    };
    watch::show(&client, &args.watch, look).await
}

/// `onward count`: how many executions there are in each state.
pub(crate) async fn count(args: &CountArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    let client = open::existing(store, &args.namespace).await?;
    let look = async || Ok(Shown::passing(counted(client.counts().await?, json)));
    watch::show(&client, &args.watch, look).await
}

fn counted(counts: Counts, json: bool) -> String {
    if json {
        return shape::text(&CountsAnswer::from(counts));
    }
    let rows = [
        ("waiting", counts.waiting),
        ("delayed", counts.delayed),
        ("suspended", counts.suspended),
        ("active", counts.active),
        ("completed", counts.completed),
        ("failed", counts.failed),
        ("cancelled", counts.cancelled),
        ("expired", counts.expired),
        ("total", counts.total),
    ];
    let said = |count: Count| format!("{}{}", count.n, if count.capped { "+" } else { "" });
    let mut table = vec![["STATE", "COUNT"].map(str::to_owned)];
    table.extend(rows.map(|(name, count)| [name.to_owned(), said(count)]));
    shape::table(&table)
}

/// What was typed as a filter.
pub(crate) fn filter(args: &FilterArgs) -> Result<FindFilter, Problem> {
    let tag = tags(args.tag.as_slice())?.into_iter().next();
    Ok(FindFilter {
        states: args.state.as_deref().map(state).transpose()?.unwrap_or_default(),
        lane: args.lane.as_deref().map(parse).transpose()?,
        kind: args.kind.as_deref().map(parse).transpose()?,
        tag,
        created_from: args.since.as_deref().map(|since| time::at("--since", since)).transpose()?,
        created_until: args.until.as_deref().map(|until| time::at("--until", until)).transpose()?,
    })
}

fn state(text: &str) -> Result<BTreeSet<PublicState>, Problem> {
    let one = |word: &str| PublicState::named(word).ok_or_else(|| Problem::State(word.to_owned()));
    text.split(',').map(one).collect()
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
    if let Some(next) = &found.next {
        text.push_str(&format!("; go on with --after {next}"));
    }
    text
}
