//! `onward lane`: what lanes let through, and what holds for work that does not say otherwise.

use crate::args::{LaneArgs, LaneCommand, LaneSetArgs, WatchArgs};
use crate::problem::{Exit, Problem};
use crate::submit::{parse, span};
use crate::watch::{self, Shown};
use crate::{open, shape, time};
use onward::call::Ask;
use onward::engine::LaneListing;
use onward::wire::{LaneInfo, LaneList};
use onward::{Client, Error, Millis, Policy, RetryPolicy};

pub(crate) async fn run(args: LaneArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    let change = match &args.command {
        LaneCommand::Set(set) => Some(policy(set)?),
        _ => None,
    };
    let client = open::existing(store, &args.namespace).await?;
    let once = WatchArgs { watch: None };
    let watch = if let LaneCommand::Ls(watch) = &args.command { watch } else { &once };
    let look = async || {
        let (object, text) = act(&client, &args.command, change.clone()).await?;
        Ok(Shown::passing(if json { object } else { text }))
    };
    watch::show(&client, watch, look).await
}

async fn act(client: &Client, command: &LaneCommand, change: Option<Policy>) -> Result<(String, String), Error> {
    let (lane, said) = match command {
        LaneCommand::Ls(_) => return list(client).await,
        LaneCommand::Pause(args) => {
            client.pause_lane(&args.lane).await?;
            (&args.lane, "is paused: submissions wait")
        }
        LaneCommand::Resume(args) => {
            client.open_lane(&args.lane).await?;
            (&args.lane, "is open")
        }
        LaneCommand::Drain(args) => {
            client.drain_lane(&args.lane).await?;
            (&args.lane, "is draining: submissions are refused")
        }
        LaneCommand::Set(args) => {
            client.set_lane_defaults(&args.lane, change.unwrap_or_default()).await?;
            (&args.lane, "has new defaults for what is submitted from now on")
        }
    };
    let listing: LaneListing = client.ask(Ask::Lane(lane.parse()?)).await?;
    Ok((shape::text(&LaneInfo::from(listing)), format!("lane {lane} {said}")))
}

async fn list(client: &Client) -> Result<(String, String), Error> {
    let (lanes, now) = (client.lanes().await?, client.store_time());
    let mut rows = vec![["LANE", "STATE", "READY", "OLDEST"].map(str::to_owned)];
    for lane in &lanes {
        rows.push([lane.lane.to_string(), lane.settings.state.as_str().to_owned(), ready(lane), oldest(lane, now)]);
    }
    let list = LaneList { lanes: lanes.into_iter().map(LaneInfo::from).collect() };
    Ok((shape::text(&list), shape::table(&rows)))
}

pub(crate) fn ready(lane: &LaneListing) -> String {
    if lane.ready_capped { format!("{}+", lane.ready) } else { lane.ready.to_string() }
}

/// How long the oldest has waited.
pub(crate) fn oldest(lane: &LaneListing, now: Millis) -> String {
    lane.oldest.map_or_else(|| "-".to_owned(), |since| time::rough(now - since))
}

fn policy(args: &LaneSetArgs) -> Result<Policy, Problem> {
    // The name is checked before the store is opened, so that a mistake changes nothing.
    let _: onward::Lane = parse(&args.lane)?;
    Ok(Policy {
        retry: args.retries.map(|max_retries| RetryPolicy { max_retries, ..RetryPolicy::default() }),
        attempt_timeout: span("--attempt-timeout", args.attempt_timeout.as_deref())?,
        max_reclaims: args.max_reclaims,
        max_replays: args.max_replays,
        retention: span("--retention", args.retention.as_deref())?,
        dedup_window: span("--remember-keys", args.remember_keys.as_deref())?,
        on_exhausted: args.on_exhausted.map(Into::into),
    })
}
