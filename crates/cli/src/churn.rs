//! The hidden load for crash tests: several callers submit, claim and complete without pause, and every acknowledgement
//! is printed after it was given, as `submitted ID`, `claimed ID` or `completed ID`. A server that is away is waited for.

use crate::args::ChurnArgs;
use crate::problem::{Exit, Problem};
use crate::worker::input_ends;
use crate::{open, output, time};
use onward::call::{Ask, Reports};
use onward::engine::Wants;
use onward::engine::clock::{Clock, SystemClock};
use onward::{Class, Client, Error, Lane, Namespace, Payload, Span};
use onward_core::{Claimed, CommandId, Report, end};
use std::time::Duration;
use tokio::task::JoinSet;

/// How long the finishing callers wait for leases of killed processes to run out.
const IDLE: Span = Span::seconds(3);
/// How long a caller rests after a claim that failed.
const REST: Span = Span(100);

pub(crate) async fn run(args: ChurnArgs, store: &str) -> Result<Exit, Problem> {
    let lease = time::duration("--lease", &args.lease)?;
    let client = open::patiently(store, Namespace::default()).await?;
    let wants = wants(lease)?;
    let mut callers = JoinSet::new();
    for _ in 0..args.callers {
        let (client, wants) = (client.clone(), wants.clone());
        let finish = args.finish;
        callers.spawn(
            async move { if finish { finish_all(&client, &wants).await } else { churn(&client, &wants).await } },
        );
    }
    let ended = async {
        while let Some(ended) = callers.join_next().await {
            ended.unwrap_or_else(|error| Err(onward::engine::Error::Internal(error.to_string()).into()))?;
        }
        Ok::<_, Error>(())
    };
    tokio::select! {
        ended = ended => ended?,
        () = input_ends() => {}
    }
    client.shutdown().await?;
    Ok(Exit::Success)
}

fn wants(lease: Duration) -> Result<Wants, Problem> {
    Ok(Wants {
        namespace: Namespace::default(),
        lanes: vec![Lane::default()],
        kinds: None,
        capabilities: Class::default(),
        worker: format!("churn-{}", std::process::id()).parse().map_err(Error::from)?,
        build: None,
        lease: Span(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX)),
        max: 1,
    })
}

async fn churn(client: &Client, wants: &Wants) -> Result<(), Error> {
    loop {
        let submitted = client.submit_payload("churn", Payload::null()).await?;
        output::print(&format!("submitted {}", submitted.id));
        one(client, wants, Span(0)).await?;
    }
}

/// Runs what is left until nothing comes for a while.
async fn finish_all(client: &Client, wants: &Wants) -> Result<(), Error> {
    while one(client, wants, IDLE).await? {}
    Ok(())
}

/// Claims and completes one execution; whether there was one.
async fn one(client: &Client, wants: &Wants, wait: Span) -> Result<bool, Error> {
    let Some(claimed) = claim(client, wants, wait).await? else { return Ok(false) };
    let id = claimed.fence.execution;
    output::print(&format!("claimed {id}"));
    let command = CommandId(client.chance().id());
    let report = Report { command, fence: claimed.fence, end: end::Complete { result: Payload::null() }.into() };
    let reports: Reports = client.ask(Ask::Report { reports: vec![report], claim: None }).await?;
    match reports.reported.into_iter().collect::<Result<Vec<_>, _>>() {
        Ok(_) => output::print(&format!("completed {id}")),
        // On a stopped machine the lease can run out meanwhile, and somebody else completes it.
        Err(error) if error.is_refused() => {}
        Err(error) => return Err(error),
    }
    Ok(true)
}

/// Claims, again and again while nobody answers.
async fn claim(client: &Client, wants: &Wants, wait: Span) -> Result<Option<Claimed>, Error> {
    loop {
        match client.ask::<Vec<Claimed>>(Ask::Claim { wants: wants.clone(), wait }).await {
            Ok(mut claimed) => return Ok(claimed.pop()),
            Err(error) if error.is_temporary() && !error.is_shut_down() => SystemClock.sleep(REST).await,
            Err(error) => return Err(error),
        }
    }
}
