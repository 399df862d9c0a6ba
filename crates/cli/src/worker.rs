//! The hidden worker process: runs the demonstration's handlers and says on standard output what it does.
//!
//! It ends when its standard input ends, so that it cannot outlive whoever started it.

use crate::args::WorkerArgs;
use crate::problem::{Exit, Problem};
use crate::{open, output, time};
use onward::engine::Engine;
use onward::store::Home;
use onward::{Context, Failed, Namespace, Worker};
use serde_json::Value;
use std::io::Read;
use tokio::sync::oneshot;

pub(crate) async fn run(args: WorkerArgs, store: &str) -> Result<Exit, Problem> {
    let lease = time::duration("--lease", &args.lease)?;
    let client = open::patiently(store, Namespace::default()).await?;
    let mut worker = Worker::new(&client).lanes([args.lane.as_str()]).lease(lease).on("echo", echo).on("hold", hold);
    if let Some(name) = &args.name {
        worker = worker.name(name);
    }
    let announcing = client.engine().map(|engine| tokio::spawn(announce_ownership(engine.clone())));
    output::print("ready");
    let result = worker.run_until(input_ends()).await;
    if let Some(announcing) = announcing {
        announcing.abort();
    }
    client.shutdown().await?;
    result?;
    Ok(Exit::Success)
}

/// Returns its input, and says how often the engine had to sweep for lost hints so far.
async fn echo(ctx: Context, input: Value) -> Result<Value, Failed> {
    let sweeps = ctx.client().engine().map_or(0, |engine| engine.metrics().sweeps);
    output::print(&format!("ran {} attempt={} sweeps={sweeps}", ctx.id(), ctx.attempt()));
    Ok(input)
}

/// Never ends by itself.
async fn hold(ctx: Context, _input: Value) -> Result<(), Failed> {
    output::print(&format!("running {} attempt={}", ctx.id(), ctx.attempt()));
    ctx.cancelled().await;
    Err(Failed::transient("the lease is lost"))
}

/// Says when this process becomes the one that runs the timers.
async fn announce_ownership(engine: Engine) {
    let mut home = engine.store().home();
    if home.wait_for(|home| *home != Home::Nowhere).await.is_ok() {
        output::print("owner");
    }
}

/// Ends with standard input.
pub(crate) async fn input_ends() {
    let (ended, end) = oneshot::channel();
    let read = move || {
        let mut rest = [0; 64];
        while matches!(std::io::stdin().read(&mut rest), Ok(1..)) {}
        let _gone = ended.send(()).is_err();
    };
    // A thread of its own, since a blocked read would keep the runtime from ending.
    if std::thread::Builder::new().name("stdin".into()).spawn(read).is_ok() {
        let _closed = end.await.is_err();
    } else {
        std::future::pending::<()>().await;
    }
}
