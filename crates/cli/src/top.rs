//! `onward top`: what waits in each lane and for how long, what is suspended, what comes in and goes out, and which workers
//! run what.
//!
//! Rates are made of the newest executions of each state and workers of those that run, so that it is the same on a store and
//! through a server, and costs the same however much there is.

use crate::args::{TopArgs, WatchArgs};
use crate::lane::{oldest, ready};
use crate::problem::{Exit, Problem};
use crate::watch::{self, Shown};
use crate::{open, shape, time};
use futures_util::future::try_join_all;
use onward::engine::LaneListing;
use onward::{Client, Description, Error, FindFilter, Lane, Millis, PublicState, Span, WorkerName};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// How far back rates look.
const WINDOW: Span = Span::seconds(10);
/// The most executions that a rate is made of: where there are more, it looks back less far.
const SAMPLES: usize = 200;
/// The most running executions that are looked at.
const RUNNING: usize = 1_000;

pub(crate) async fn run(args: &TopArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    let client = open::existing(store, &args.namespace).await?;
    let look = async || {
        let seen = Seen::look(&client).await?;
        Ok(Shown::passing(if json { seen.object().to_string() } else { seen.text() }))
    };
    let again = WatchArgs { watch: (!args.once).then(|| args.every.clone()) };
    watch::show(&client, &again, look).await
}

/// What there is at one moment.
struct Seen {
    now: Millis,
    lanes: Vec<LaneListing>,
    running: Vec<Description>,
    /// More run than were looked at.
    running_more: bool,
    suspended: Vec<Description>,
    /// More are suspended than were looked at.
    suspended_more: bool,
    submitted: Rates,
    completed: Rates,
    failed: Rates,
}

impl Seen {
    async fn look(client: &Client) -> Result<Self, Error> {
        let lanes = client.lanes().await?;
        let now = client.store_time();
        let newest = async |state: Option<PublicState>, limit: usize| {
            let found = client
                .find(&FindFilter { states: state.into_iter().collect(), ..FindFilter::default() }, None, limit)
                .await?;
            // Ages are told by the time at which it was found, so that what is busy is not younger than nothing.
            Ok::<_, Error>((found, client.store_time()))
        };
        let states = [PublicState::Completed, PublicState::Failed, PublicState::Expired, PublicState::Cancelled];
        let (running, _) = newest(Some(PublicState::Active), RUNNING).await?;
        let (suspended, _) = newest(Some(PublicState::Suspended), RUNNING).await?;
        let (submitted, then) = newest(None, SAMPLES).await?;
        let submitted = Rates::of(submitted.executions, then, |one| Some(one.created_at));
        let ended = try_join_all(states.map(|state| newest(Some(state), SAMPLES))).await?;
        let mut ended = ended.into_iter().map(|(found, then)| Rates::of(found.executions, then, |one| one.finished_at));
        let completed = ended.next().unwrap_or_default();
        let failed = ended.fold(Rates::default(), Rates::and);
        let (running_more, suspended_more) = (running.next.is_some(), suspended.next.is_some());
        let (running, suspended) = (running.executions, suspended.executions);
        Ok(Self { now, lanes, running, running_more, suspended, suspended_more, submitted, completed, failed })
    }

    fn running_in(&self, lane: &Lane) -> usize {
        self.running.iter().filter(|one| one.lane == *lane).count()
    }

    fn suspended_in(&self, lane: &Lane) -> usize {
        self.suspended.iter().filter(|one| one.lane == *lane).count()
    }

    fn workers(&self) -> BTreeMap<&WorkerName, Worker<'_>> {
        let mut workers: BTreeMap<&WorkerName, Worker<'_>> = BTreeMap::new();
        for one in &self.running {
            let Some(name) = &one.worker else { continue };
            let worker = workers.entry(name).or_default();
            worker.running += 1;
            worker.lanes.insert(one.lane.as_str());
            // Renewals change nothing that is told of, so that the last change is when it was claimed.
            worker.longest = worker.longest.max(self.now - one.changed_at);
        }
        workers
    }

    fn text(&self) -> String {
        let names = ["LANE", "STATE", "READY", "OLDEST", "RUNNING", "SUSPENDED", "IN/S", "DONE/S", "FAILED/S"];
        let mut rows = vec![names.map(str::to_owned)];
        for lane in &self.lanes {
            let rate = |rates: &Rates| format!("{:.1}", rates.of_lane(&lane.lane));
            rows.push([
                lane.lane.to_string(),
                lane.settings.state.as_str().to_owned(),
                ready(lane),
                oldest(lane, self.now),
                self.running_in(&lane.lane).to_string(),
                format!("{}{}", self.suspended_in(&lane.lane), if self.suspended_more { "+" } else { "" }),
                rate(&self.submitted),
                rate(&self.completed),
                rate(&self.failed),
            ]);
        }
        let mut workers = vec![["WORKER", "RUNNING", "LONGEST", "LANES"].map(str::to_owned)];
        for (name, worker) in self.workers() {
            let lanes: Vec<&str> = worker.lanes.iter().copied().collect();
            workers.push([name.to_string(), worker.running.to_string(), time::rough(worker.longest), lanes.join(",")]);
        }
        let more = if self.running_more {
            format!("\nof the {RUNNING} running executions that were looked at")
        } else {
            String::new()
        };
        let (lanes, workers) = (shape::table(&rows), shape::table(&workers));
        format!("{}\n\n{}\n\n{}{more}", time::show(self.now), lanes.trim_end(), workers.trim_end())
    }

    fn object(&self) -> Value {
        let lanes = self.lanes.iter().map(|lane| {
            json!({
                "lane": lane.lane,
                "state": lane.settings.state,
                "ready": lane.ready,
                "ready_capped": lane.ready_capped,
                "oldest": lane.oldest,
                "running": self.running_in(&lane.lane),
                "suspended": self.suspended_in(&lane.lane),
                "suspended_capped": self.suspended_more,
                "submitted_per_second": self.submitted.of_lane(&lane.lane),
                "completed_per_second": self.completed.of_lane(&lane.lane),
                "failed_per_second": self.failed.of_lane(&lane.lane),
            })
        });
        let workers = self.workers().into_iter().map(|(name, worker)| {
            json!({
                "worker": name,
                "running": worker.running,
                "longest": worker.longest,
                "lanes": worker.lanes,
            })
        });
        json!({
            "at": self.now,
            "lanes": lanes.collect::<Vec<_>>(),
            "workers": workers.collect::<Vec<_>>(),
            "running_capped": self.running_more,
        })
    }
}

/// Somebody who runs something.
#[derive(Debug, Default)]
struct Worker<'a> {
    running: usize,
    lanes: BTreeSet<&'a str>,
    longest: Span,
}

/// How many executions a second, by lane.
#[derive(Debug, Default)]
struct Rates(BTreeMap<Lane, f64>);

impl Rates {
    /// The rates of what happened lately, newest first.
    fn of(newest: Vec<Description>, now: Millis, at: impl Fn(&Description) -> Option<Millis>) -> Self {
        let times: Vec<(Millis, Lane)> = newest.into_iter().filter_map(|one| Some((at(&one)?, one.lane))).collect();
        let oldest = times.iter().map(|(at, _)| now - *at).max().unwrap_or_default();
        // What fills the sample within the window happens more often than the window could tell.
        let window = if times.len() >= SAMPLES { oldest.clamp(Span(1), WINDOW) } else { WINDOW };
        let mut rates: BTreeMap<Lane, f64> = BTreeMap::new();
        for (at, lane) in times {
            if now - at <= window {
                *rates.entry(lane).or_default() += 1_000.0 / window.0 as f64;
            }
        }
        Self(rates)
    }

    fn and(mut self, other: Self) -> Self {
        for (lane, rate) in other.0 {
            *self.0.entry(lane).or_default() += rate;
        }
        self
    }

    fn of_lane(&self, lane: &Lane) -> f64 {
        self.0.get(lane).copied().unwrap_or_default()
    }
}
