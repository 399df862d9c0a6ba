//! `onward demo`: durable work on a store of its own, shown live: done, retried, delayed, and recovered from a killed process.

mod books;
mod crash;
mod scenes;
mod show;

use crate::output;
use crate::problem::{Exit, Problem};
use onward::engine::clock::{Clock, SystemClock};
use onward::{Client, Description, ExecutionId};
use onward_scratch::{Kind, Scratch, shown};
use show::Show;
use std::time::Duration;

/// How long a scene waits for what it shows; far longer than it takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// What all scenes play with.
struct Play {
    client: Client,
    /// The store's address.
    store: String,
    show: Show,
    /// Everything that was submitted.
    submitted: Vec<ExecutionId>,
}

impl Play {
    async fn find(&self, id: ExecutionId) -> Result<Description, Problem> {
        self.client.get(id).await?.ok_or_else(|| Problem::DemoBroken(format!("{id} is gone")))
    }
}

/// Plays on a store that is made for it, at the place that was named or in a temporary directory, and removed afterwards.
pub(crate) async fn run(named: Option<&str>, json: bool) -> Result<Exit, Problem> {
    let clock = SystemClock;
    let started = clock.now();
    let file = || format!("sqlite:{}", std::env::temp_dir().join("demo.db").display());
    let named = named.map_or_else(file, str::to_owned);
    let scratch = Scratch::new(&named)?;
    let store = scratch.shared_address()?;
    let mut play = Play { client: Client::open(&store).await?, store, show: Show::new(json), submitted: Vec::new() };
    play.show.line(&match scratch.kind() {
        Kind::File => "Durable work in one SQLite file. Each submit returns after the work is on the disk.".to_owned(),
        _ => {
            let server = shown(&named);
            format!("Durable work on {server}, in a store made for this. Each submit returns after its commit.")
        }
    });
    let worker = scenes::worker(&play.client).start()?;
    scenes::plain(&mut play).await?;
    scenes::retry(&mut play).await?;
    scenes::later(&mut play).await?;
    crash::killed(&mut play).await?;
    worker.drain().await?;
    play.client.shutdown().await?;
    books::check(&mut play).await?;
    scratch.clear(&play.store).await?;

    let seconds = (clock.now() - started).0 as f64 / 1_000.0;
    let (held, broken) = play.show.counts();
    if json {
        let summary =
            serde_json::json!({ "checks": play.show.checks(), "held": held, "broken": broken, "seconds": seconds });
        output::print(&summary.to_string());
    } else {
        play.show.line(&format!("\n{held} of {} checks held, in {seconds:.1} s.", held + broken));
    }
    if broken > 0 {
        return Err(Problem::DemoBroken(format!("{broken} of {} checks did not hold", held + broken)));
    }
    Ok(Exit::Success)
}
