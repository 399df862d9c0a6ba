//! `onward bench`: how fast and how steady the engine is, always beside the same store without the engine.
//!
//! Absolute numbers say more about a machine than about a program, so every bar is a ratio to a raw figure taken in
//! the same run, in turns, as the median of several rounds; only promises about time itself are absolute.

mod all;
mod bytes;
mod capture;
mod child;
mod costs;
mod crowd;
mod drain;
mod error;
mod growth;
mod handed;
mod idle;
mod latency;
mod leases;
mod lifecycle;
mod load;
mod look;
mod measure;
mod messages;
mod midnight;
mod processes;
mod queues;
mod raw;
mod recovery;
mod remote;
mod report;
mod requests;
mod retention;
mod rows;
mod seed;
mod served;
mod server;
mod side;
mod site;
mod size;
mod submit;
mod suspend;
mod system;
mod tap;
#[cfg(test)]
mod tests;
mod timers;
mod wake;
mod weight;
mod work;

pub use error::Error;

use all::All;
use report::Report;
use site::Site;
use size::Size;
use std::io::Write;

/// Examples for the help of the command that takes [`BenchArgs`].
pub const EXAMPLES: &str = "\
Stores are made beside the path of --store and deleted afterwards; no existing store is opened.

Examples:
  onward bench lifecycle --callers 64
  onward --json bench all
  onward --store postgres: bench processes
  onward --store memory: bench latency";

/// Arguments of `onward bench`: what to measure, and how much of it.
#[derive(Debug, Clone, clap::Args)]
pub struct BenchArgs {
    /// What to measure.
    #[arg(value_enum)]
    pub(crate) scenario: Scenario,
    /// Callers at the same time, or executions in flight [default: 64; 4 for submit where it sends 1,000 in each call].
    #[arg(long, value_name = "N")]
    pub(crate) callers: Option<usize>,
    /// How long each side is measured in each round, or how long the whole of timers and idle lasts, in seconds.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) duration: Option<u32>,
    /// Rounds to take the median of [default: 5].
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<usize>,
    /// Shrink everything, to see that it works; the figures mean little.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Finished executions in the grown store of growth [default: 1000000], or of bytes [default: 100000].
    #[arg(long, value_name = "N")]
    pub(crate) finished: Option<usize>,
    /// Waiting executions in the grown store of growth [default: 100000].
    #[arg(long, value_name = "N")]
    pub(crate) waiting: Option<usize>,
}

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scenario {
    /// The life of an execution: submit, claim, complete.
    Lifecycle,
    /// Submits, 1,000 in a call, and one by one.
    Submit,
    /// From submit to running on a parked worker, one at a time.
    Latency,
    /// From a signal to running, and lives that are suspended once.
    Suspend,
    /// How fast one worker empties a backlog of 20,000.
    Drain,
    /// How late delayed executions become ready.
    Timers,
    /// How soon 100,000 executions are ready that are due at one instant after a restart.
    Midnight,
    /// How long a change of a lane takes until every partition has it, one at a time.
    Messages,
    /// What a claim costs in a lane with 500 queues.
    Queues,
    /// How soon the work of a killed process can be claimed again.
    Recovery,
    /// What three processes on one store do together, beside one.
    Processes,
    /// The life of an execution over HTTP, beside an engine in the same process.
    Remote,
    /// How soon a submit reaches its worker on a server with 2,000 parked calls and 500 streams.
    Crowd,
    /// What 10,000 held leases cost.
    Leases,
    /// What a million finished and 100,000 waiting executions cost.
    Growth,
    /// What removing 100,000 ended executions costs.
    Retention,
    /// How many bytes a finished execution takes.
    Bytes,
    /// What one submit, claim and complete ask of the store.
    Costs,
    /// What an engine with nothing to do costs.
    Idle,
    /// All of them, one after the other.
    All,
    /// Serves another process of a benchmark.
    #[value(hide = true)]
    Child,
}

/// Measures on fresh stores at `store_url` and hands the result to `print`; returns whether all bars are met. Progress goes
/// to standard error.
///
/// Scenarios of several processes run the current executable again, with `bench child` or `serve`. So the program that
/// calls this must be the `onward` command line, and pass both on.
///
/// # Errors
/// When a scenario cannot be run on this store, or when so much failed that its figures are void. Of all scenarios
/// the others are measured and printed before that.
pub async fn run(args: BenchArgs, store_url: &str, json: bool, print: fn(&str)) -> Result<bool, Error> {
    if args.scenario == Scenario::Child {
        return child::serve(store_url).await.map(|()| true);
    }
    let size = Size::new(&args)?;
    let site = Site::new(store_url)?;
    if args.scenario != Scenario::All {
        let report = measure(args.scenario, &site, &size).await?;
        print(&if json { report.json().to_string() } else { report.text() });
        return Ok(report.all_met());
    }
    let all = All::measure(&site, &size, json).await;
    print(&if json { all.json().to_string() } else { all.text() });
    all.verdict()
}

async fn measure(scenario: Scenario, site: &Site, size: &Size) -> Result<Report, Error> {
    let report = match scenario {
        Scenario::Lifecycle => lifecycle::measure(site, size).await,
        Scenario::Submit => submit::measure(site, size).await,
        Scenario::Latency => latency::measure(site, size).await,
        Scenario::Suspend => suspend::measure(site, size).await,
        Scenario::Drain => drain::measure(site, size).await,
        Scenario::Timers => timers::measure(site, size).await,
        Scenario::Midnight => midnight::measure(site, size).await,
        Scenario::Messages => messages::measure(site, size).await,
        Scenario::Queues => queues::measure(site, size).await,
        Scenario::Recovery => recovery::measure(site, size).await,
        Scenario::Processes => processes::measure(site, size).await,
        Scenario::Remote => remote::measure(site, size).await,
        Scenario::Crowd => crowd::measure(site, size).await,
        Scenario::Leases => leases::measure(site, size).await,
        Scenario::Growth => growth::measure(site, size).await,
        Scenario::Retention => retention::measure(site, size).await,
        Scenario::Bytes => bytes::measure(site, size).await,
        Scenario::Costs => costs::measure(site, size).await,
        Scenario::Idle => idle::measure(site, size).await,
        Scenario::All | Scenario::Child => Err(Error::Option("this is not one scenario".to_owned())),
    };
    report?.finish()
}

impl Scenario {
    /// Its name on the command line.
    fn name(self) -> String {
        clap::ValueEnum::to_possible_value(&self).map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// Tells a person who waits what is being done; the figures go elsewhere.
fn progress(what: &str) {
    show(&format!("bench: {what}"));
}

/// Shows a text on standard error. A closed one is no reason to stop measuring.
fn show(text: &str) {
    let _closed = writeln!(std::io::stderr().lock(), "{text}").is_err();
}
