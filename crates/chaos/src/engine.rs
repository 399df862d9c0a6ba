//! One engine process: submits, runs a worker, holds leases by hand and changes a lane, and tells what was answered.

use crate::args::EngineArgs;
use crate::child::{Wish, wanted, wishes};
use crate::clock::{now, sleep};
use crate::output::{tell, tell_failed};
use crate::{waits, work};
use onward::engine::{Engine, Error, Wants};
use onward::{Class, Client, ClientOptions, Payload, Span, Worker};
use onward_checker::Line;
use onward_core::{Claimed, Report, end};
use onward_engine::clock::Chance;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Callers that submit, each one call at a time.
const SUBMITTERS: u64 = 3;
/// The longest pause of a submitter between two calls. Some hundred submits a second keep a small machine busy enough
/// for faults to hit something, and leave it time to recover.
const SUBMIT_PAUSE_MAX: u64 = 25;
/// Callers that claim and complete by hand, without renewal.
const HOLDERS: u64 = 3;
/// The longest time such a caller holds a lease, most of the time.
const HOLD_MAX: u64 = 20;
/// One lease in this many, and the first of each worker that does so, is held past its end, so that its report comes too late.
const LATE_ONE_OF: u64 = 100;
/// How long before such a holder tries.
const LATE_BY: u64 = 200;
/// Executions that the worker runs at the same time.
const SLOTS: usize = 16;
/// The pause after a call that ended with an error.
pub(crate) const ERROR_PAUSE: u64 = 50;

pub(crate) async fn run(args: EngineArgs) -> Result<(), onward::Error> {
    let mut wishes = wishes();
    let client = open(&args.store).await?;
    let seeds = Arc::new(Chance::seeded(args.seed));
    let mut callers = JoinSet::new();
    for _ in 0..SUBMITTERS {
        callers.spawn(submit(client.clone(), Chance::seeded(seeds.word()), wishes.clone()));
    }
    let wants = wants(&args)?;
    let engine = client.engine().ok_or_else(|| Error::Internal("chaos opens stores".into()))?;
    for _ in 0..HOLDERS {
        callers.spawn(hold(engine.clone(), wants.clone(), Chance::seeded(seeds.word()), wishes.clone()));
    }
    callers.spawn(decide(client.clone(), Chance::seeded(seeds.word()), wishes.clone()));
    let worker = Worker::new(&client)
        .name(&args.name)
        .lanes([work::LANE, work::GATED_LANE])
        .lease(Duration::from_millis(args.lease))
        .concurrency(SLOTS)
        .grace(Duration::from_secs(5))
        .on(work::KIND, work::handle)
        .on(waits::KIND, waits::handle);
    worker.run_until(wanted(&mut wishes, Wish::End)).await?;
    while callers.join_next().await.is_some() {}
    client.shutdown().await
}

/// Opens the store, which may be in the middle of a fault.
pub(crate) async fn open(store: &str) -> Result<Client, onward::Error> {
    loop {
        match Client::open_with(store, ClientOptions::default()).await {
            Err(error) if error.is_temporary() => sleep(ERROR_PAUSE).await,
            answer => return answer,
        }
    }
}

fn wants(args: &EngineArgs) -> Result<Wants, onward::Error> {
    Ok(Wants {
        namespace: onward::Namespace::default(),
        lanes: vec![work::HELD_LANE.parse()?],
        kinds: None,
        capabilities: Class::default(),
        worker: args.name.parse()?,
        build: None,
        lease: Span(args.lease),
        max: 1,
    })
}

/// Submits until the driver has enough.
async fn submit(client: Client, chance: Chance, wishes: watch::Receiver<Wish>) {
    while *wishes.borrow() == Wish::Work {
        let submission = work::draw(&client, &chance);
        let asked = now();
        match submission.await {
            Ok(submitted) => tell(&Line::Submitted { execution: submitted.id.to_string(), asked, at: now() }),
            Err(error) => {
                tell_failed("submit", error.code());
                sleep(ERROR_PAUSE).await;
            }
        }
        sleep(chance.word() % SUBMIT_PAUSE_MAX).await;
    }
}

/// Claims and completes until the end, without renewing, and too late at first and now and then.
async fn hold(engine: Engine, wants: Wants, chance: Chance, wishes: watch::Receiver<Wish>) {
    let mut first = true;
    while *wishes.borrow() < Wish::End {
        let asked = now();
        match engine.claim(&wants, Span(500)).await {
            Ok(claimed) => {
                for work in claimed {
                    let late = std::mem::take(&mut first) || chance.word().is_multiple_of(LATE_ONE_OF);
                    let takes = if late { wants.lease.0 + LATE_BY } else { chance.word() % HOLD_MAX };
                    complete(&engine, &wants, &work, asked, takes).await;
                }
            }
            Err(error) => {
                tell_failed("claim", error.code());
                sleep(ERROR_PAUSE).await;
            }
        }
    }
}

async fn complete(engine: &Engine, wants: &Wants, work: &Claimed, claim_asked: u64, takes: u64) {
    let (fence, ttl) = (work.fence, wants.lease.0);
    let (execution, attempt, epoch) = (fence.execution.to_string(), u64::from(fence.attempt), fence.epoch);
    let (expires_at, given) = (work.expires_at.0, now());
    tell(&Line::Leased {
        execution: execution.clone(),
        attempt,
        epoch,
        asked: claim_asked,
        at: given,
        ttl,
        expires_at,
    });
    sleep(takes).await;
    let (asked, end) = (now(), end::Complete { result: Payload::null() }.into());
    let report = Report { command: engine.command_id(), fence, end };
    loop {
        match engine.run(report.clone()).await {
            Ok(_) => return tell(&Line::Ended { execution, attempt, epoch, asked, at: now() }),
            Err(Error::Refused(refusal)) => {
                let code = refusal.code().to_owned();
                return tell(&Line::Refused { execution, attempt, epoch, code, asked, at: now() });
            }
            Err(error) => {
                tell_failed("complete", error.code());
                if !error.is_temporary() || error == Error::ShuttingDown {
                    return;
                }
                sleep(ERROR_PAUSE).await;
            }
        }
    }
}

/// Pauses and opens a lane now and then, so that messages flow between partitions; leaves it open.
async fn decide(client: Client, chance: Chance, mut wishes: watch::Receiver<Wish>) {
    loop {
        let working = *wishes.borrow() == Wish::Work;
        if working {
            change(&client, true).await;
            sleep(100 + chance.word() % 200).await;
        }
        let opened = change(&client, false).await;
        if !working && (opened || *wishes.borrow() == Wish::End) {
            return;
        }
        tokio::select! {
            () = sleep(500 + chance.word() % 1_000) => {}
            () = wanted(&mut wishes, if working { Wish::Finish } else { Wish::End }) => {}
        }
    }
}

async fn change(client: &Client, pause: bool) -> bool {
    let (lane, asked) = (work::GATED_LANE, now());
    let answer = if pause { client.pause_lane(lane).await } else { client.open_lane(lane).await };
    match answer {
        Ok(()) => tell(&Line::Decided { lane: lane.to_owned(), asked, at: now() }),
        Err(error) => {
            tell_failed("lane", error.code());
            return false;
        }
    }
    true
}
