//! What can be typed: commands, options, and the examples in their help.

use crate::bench::BenchArgs;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  refused, or something promised did not hold
  2  the arguments cannot be understood
  3  a benchmark did not meet its bar
  4  there is no such execution
  5  the store failed

Examples:
  onward demo
  onward submit send-email --input '{\"to\": \"ada@example.com\"}' --lane emails
  onward ls --state failed
  onward --json get x-0192f0c8-0000-7000-8000-000000000001-17";

const SUBMIT_EXAMPLES: &str = "\
Examples:
  onward submit resize --input @photo.json --priority 5
  echo '[1, 2, 3]' | onward submit sum --input -
  onward submit remind --input '\"call Ada\"' --delay 1h30m --tag customer=42
  onward submit report --at 2030-01-01T09:00:00+01:00 --key report-2030
  onward submit train --requires gpu --requires linux
  onward submit scan --input @page.png --content-type image/png";

const GET_EXAMPLES: &str = "\
Examples:
  onward get x-0192f0c8-0000-7000-8000-000000000001-17
  onward --json get x-0192f0c8-0000-7000-8000-000000000001-17";

const LS_EXAMPLES: &str = "\
Examples:
  onward ls
  onward ls --state failed --kind send-email --limit 100
  onward ls --before x-0192f0c8-0000-7000-8000-000000000001-17";

const DEMO_EXAMPLES: &str = "\
Runs in a temporary directory and takes less than half a minute. Ends with exit code 1 if anything did not hold.

Example:
  onward demo";

const BENCH_EXAMPLES: &str = "\
Stores are made beside the path of --store and deleted afterwards; no existing store is opened.

Examples:
  onward bench lifecycle --callers 64
  onward --json bench all
  onward --store memory: bench latency";

/// Durable work that survives crashes.
#[derive(Debug, Parser)]
#[command(name = "onward", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    /// Where the work is kept: sqlite:PATH, or memory: for what ends with the command.
    #[arg(long, global = true, env = "ONWARD_STORE", default_value = "sqlite:onward.db", value_name = "ADDRESS")]
    pub(crate) store: String,
    /// Print JSON instead of text, errors too.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Log what happens to standard error; twice for more, three times for everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// What was typed. The demonstration makes a store of its own, so naming one for it is a mistake; one in the
    /// environment is meant for the other commands.
    pub(crate) fn of(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let cli = Self::from_arg_matches(matches)?;
        let typed = |matches: &ArgMatches| matches.value_source("store") == Some(ValueSource::CommandLine);
        let named = typed(matches) || matches.subcommand().is_some_and(|(_, matches)| typed(matches));
        if named && matches!(cli.command, Command::Demo) {
            let why = "--store: the demonstration makes a store of its own";
            return Err(Self::command().error(ErrorKind::ArgumentConflict, why));
        }
        Ok(cli)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show work being done, retried, delayed, and recovered from a killed process.
    #[command(after_help = DEMO_EXAMPLES)]
    Demo,
    /// Submit an execution; when this returns, it is on the disk.
    #[command(after_help = SUBMIT_EXAMPLES)]
    Submit(SubmitArgs),
    /// Show one execution.
    #[command(after_help = GET_EXAMPLES)]
    Get(GetArgs),
    /// List executions, newest first.
    #[command(after_help = LS_EXAMPLES)]
    Ls(LsArgs),
    /// Measure the engine beside the same store without it.
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchArgs),
    /// Run the demonstration's handlers; serves the demo and the tests.
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Submit, claim and complete without pause, and print every acknowledgement; serves crash tests.
    #[command(hide = true)]
    Churn(ChurnArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// Which handler runs it.
    pub(crate) kind: String,
    /// What it works on: JSON, @FILE to read a file, or - to read standard input.
    #[arg(long, value_name = "JSON|@FILE|-", default_value = "null", allow_hyphen_values = true)]
    pub(crate) input: String,
    /// What the input is, when it is not JSON.
    #[arg(long, value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// The lane to queue in.
    #[arg(long, default_value = "default")]
    pub(crate) lane: String,
    /// Higher runs first, 0 to 9000.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) priority: u16,
    /// Run it after a pause, as in 10s, 5m, 1h30m or 2d.
    #[arg(long, value_name = "PAUSE", conflicts_with = "at", allow_hyphen_values = true)]
    pub(crate) delay: Option<String>,
    /// Run it at a time, as in 2030-01-01T09:00:00+01:00.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
    /// A label; may be given several times.
    #[arg(long = "tag", value_name = "KEY=VALUE")]
    pub(crate) tags: Vec<String>,
    /// Makes a second submit with the same key answer the first execution.
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// A capability that the worker must have; may be given several times.
    #[arg(long, value_name = "CAPABILITY")]
    pub(crate) requires: Vec<String>,
    /// Whose work it is.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
}

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// Its id.
    pub(crate) id: String,
    /// Whose work it is.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
}

#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    /// How many to show at most.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Whose work.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
    /// Only in this state: waiting, delayed, active, completed or failed.
    #[arg(long)]
    pub(crate) state: Option<String>,
    /// Only of this lane.
    #[arg(long)]
    pub(crate) lane: Option<String>,
    /// Only of this kind.
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// Only those older than this one, to go on where a listing ended.
    #[arg(long, value_name = "ID")]
    pub(crate) before: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// The lane to serve.
    #[arg(long, default_value = "default")]
    pub(crate) lane: String,
    /// How long each lease lasts.
    #[arg(long, default_value = "30s")]
    pub(crate) lease: String,
    /// The worker's name.
    #[arg(long)]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ChurnArgs {
    /// Callers at the same time.
    #[arg(long, default_value_t = 8)]
    pub(crate) callers: usize,
    /// How long each lease lasts.
    #[arg(long, default_value = "1s")]
    pub(crate) lease: String,
    /// Submit nothing more and end when everything has ended.
    #[arg(long)]
    pub(crate) finish: bool,
}
