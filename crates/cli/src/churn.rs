//! The hidden load for crash tests: several callers submit, claim and complete without pause, and every acknowledgement
//! is printed after it was given, as `submitted ID`, `claimed ID` or `completed ID`.

use crate::args::ChurnArgs;
use crate::problem::{Exit, Problem};
use crate::worker::input_ends;
use crate::{output, time};
use onward::engine::{Engine, NewExecution, Wants};
use onward::{Class, Client, Error, Lane, Namespace, Payload, Span};
use std::time::Duration;
use tokio::task::JoinSet;

/// How long the finishing callers wait for leases of killed processes to run out.
const IDLE: Span = Span::seconds(3);

pub(crate) async fn run(args: ChurnArgs, store: &str) -> Result<Exit, Problem> {
    let lease = time::duration("--lease", &args.lease)?;
    let client = Client::open(store).await?;
    let wants = wants(lease)?;
    let mut callers = JoinSet::new();
    for _ in 0..args.callers {
        let (engine, wants) = (client.engine().clone(), wants.clone());
        let finish = args.finish;
        callers.spawn(
            async move { if finish { finish_all(&engine, &wants).await } else { churn(&engine, &wants).await } },
        );
    }
    let ended = async {
        while let Some(ended) = callers.join_next().await {
            ended.unwrap_or_else(|error| Err(onward::engine::Error::Internal(error.to_string())))?;
        }
        Ok::<_, onward::engine::Error>(())
    };
    tokio::select! {
        ended = ended => ended.map_err(Error::from)?,
        () = input_ends() => {}
    }
    client.shutdown().await?;
    Ok(Exit::Success)
}

fn wants(lease: Duration) -> Result<Wants, Problem> {
    Ok(Wants {
        namespace: Namespace::default(),
        lanes: vec![Lane::default()],
        capabilities: Class::default(),
        worker: format!("churn-{}", std::process::id()).parse().map_err(Error::from)?,
        lease: Span(u64::try_from(lease.as_millis()).unwrap_or(u64::MAX)),
        max: 1,
    })
}

async fn churn(engine: &Engine, wants: &Wants) -> Result<(), onward::engine::Error> {
    loop {
        let kind = "churn".parse().map_err(|_| onward::engine::Error::Internal("churn is a kind".into()))?;
        let submitted = engine.submit(NewExecution::new(kind, Payload::null())).await?;
        output::print(&format!("submitted {}", submitted.id));
        one(engine, wants, Span(0)).await?;
    }
}

/// Runs what is left until nothing comes for a while.
async fn finish_all(engine: &Engine, wants: &Wants) -> Result<(), onward::engine::Error> {
    while one(engine, wants, IDLE).await? {}
    Ok(())
}

/// Claims and completes one execution; whether there was one.
async fn one(engine: &Engine, wants: &Wants, wait: Span) -> Result<bool, onward::engine::Error> {
    let Some(claimed) = engine.claim(wants, wait).await?.pop() else { return Ok(false) };
    let id = claimed.fence.execution;
    output::print(&format!("claimed {id}"));
    match engine.complete(claimed.fence, Payload::null()).await {
        Ok(()) => output::print(&format!("completed {id}")),
        // On a stopped machine the lease can run out meanwhile, and somebody else completes it.
        Err(onward::engine::Error::Refused(_)) => {}
        Err(error) => return Err(error),
    }
    Ok(true)
}
