//! What can be typed: commands and options.

use crate::bench::BenchArgs;
use crate::examples::{
    BENCH_EXAMPLES, BULK_EXAMPLES, CANCEL_EXAMPLES, COMPLETIONS_EXAMPLES, DEMO_EXAMPLES, DOCTOR_EXAMPLES,
    EVENTS_EXAMPLES, EXIT_CODES, GET_EXAMPLES, LANE_EXAMPLES, LS_EXAMPLES, RESCHEDULE_EXAMPLES, RESULT_EXAMPLES,
    SUBMIT_EXAMPLES, TAG_EXAMPLES, WHY_EXAMPLES,
};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

/// Durable work that survives crashes.
#[derive(Debug, Parser)]
#[command(name = "onward", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    /// Where the work is kept: sqlite:PATH, postgres://…, valkey://… (or redis://…), or memory: for what ends with the
    /// command.
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
    /// List executions, newest first; waiting work in the order in which it is claimed.
    #[command(after_help = LS_EXAMPLES)]
    Ls(LsArgs),
    /// Count executions by state; counting stops at 100,000 of each.
    Count(CountArgs),
    /// Print what an execution ended with, and nothing else.
    #[command(after_help = RESULT_EXAMPLES)]
    Result(Target),
    /// Show the attempts of an execution.
    Attempts(Target),
    /// Show everything that happened to an execution.
    History(Target),
    /// Explain what an execution waits for and what would move it on.
    #[command(after_help = WHY_EXAMPLES)]
    Why(GetArgs),
    /// End an execution, at once or after its worker had time to stop.
    #[command(after_help = CANCEL_EXAMPLES)]
    Cancel(CancelArgs),
    /// Run an execution again that has ended.
    Replay(ReasonArgs),
    /// Choose when a waiting execution runs; now, unless a time is given.
    #[command(after_help = RESCHEDULE_EXAMPLES)]
    Reschedule(RescheduleArgs),
    /// Choose the place of an execution in its queue.
    Priority(PriorityArgs),
    /// Add and remove labels of an execution.
    #[command(after_help = TAG_EXAMPLES)]
    Tag(TagArgs),
    /// Take an execution away from its worker; another one starts it again at once.
    Revoke(ReasonArgs),
    /// Remove an execution that has ended, with all that belongs to it.
    Purge(PurgeArgs),
    /// Do one thing with every execution that passes a filter.
    #[command(after_help = BULK_EXAMPLES)]
    Bulk(BulkArgs),
    /// Show what happened, and follow what happens.
    #[command(after_help = EVENTS_EXAMPLES)]
    Events(EventsArgs),
    /// Compare everything in the store with everything else, and repair what damage from outside left behind.
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArgs),
    /// Show and change what lanes let through.
    #[command(after_help = LANE_EXAMPLES)]
    Lane(LaneArgs),
    /// Measure the engine beside the same store without it.
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(BenchArgs),
    /// Print a script that completes commands in a shell.
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
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
    /// Makes a second submit with the same key answer the first execution until that one ends.
    #[arg(long, value_name = "KEY", conflicts_with = "key")]
    pub(crate) unique: Option<String>,
    /// Expire it after this long, wherever it stands then, as in 2h.
    #[arg(long, value_name = "PAUSE")]
    pub(crate) deadline: Option<String>,
    /// How often it is tried again when it fails.
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// How long one attempt may run, as in 10m.
    #[arg(long, value_name = "PAUSE")]
    pub(crate) attempt_timeout: Option<String>,
    /// How long it is kept after it has ended, as in 30d.
    #[arg(long, value_name = "PAUSE")]
    pub(crate) retention: Option<String>,
    /// A capability that the worker must have; may be given several times.
    #[arg(long, value_name = "CAPABILITY")]
    pub(crate) requires: Vec<String>,
    /// Whose work it is.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
}

/// Which execution.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Its id.
    pub(crate) id: String,
    /// Whose work it is.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
}

/// How long to look.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Look again every two seconds, or as often as given, and show what has changed.
    #[arg(short, long, value_name = "PAUSE", num_args = 0..=1, default_missing_value = "2s", require_equals = true)]
    pub(crate) watch: Option<String>,
}

/// Which execution, and how long to look at it.
#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Set right what can be; each repair is made only if nothing that it was judged by has changed.
    #[arg(long)]
    pub(crate) repair: bool,
    /// The store was restored from a copy: tell readers of events and lanes, and repair.
    #[arg(long)]
    pub(crate) after_restore: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Why, for whoever looks later.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(crate) reason: String,
    /// How long a running attempt gets to stop by itself, as in 30s or 5m; no time unless given.
    #[arg(long, value_name = "PAUSE")]
    pub(crate) grace: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReasonArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Why, for whoever looks later.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(crate) reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct RescheduleArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Run it after a pause, as in 10s, 5m, 1h30m or 2d.
    #[arg(long, value_name = "PAUSE", conflicts_with = "at", allow_hyphen_values = true)]
    pub(crate) delay: Option<String>,
    /// Run it at a time, as in 2030-01-01T09:00:00+01:00.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PriorityArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Higher runs first, 0 to 9000.
    pub(crate) priority: u16,
}

#[derive(Debug, Args)]
pub(crate) struct TagArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// A label to add or replace; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE", required_unless_present = "remove")]
    pub(crate) set: Vec<String>,
    /// A label to take away; may be given several times.
    #[arg(long = "remove", value_name = "KEY")]
    pub(crate) remove: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PurgeArgs {
    #[command(flatten)]
    pub(crate) target: Target,
}

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Whose events.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
    /// Wait for more instead of ending with the newest one.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only those behind this cursor; from the oldest one on unless given.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    /// Only of this lane.
    #[arg(long)]
    pub(crate) lane: Option<String>,
    /// Only of this execution.
    #[arg(long, value_name = "ID")]
    pub(crate) execution: Option<String>,
    /// Only events of this name, such as claimed or lease_expired; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) what: Vec<String>,
    /// Only those that end an execution.
    #[arg(long)]
    pub(crate) endings: bool,
}

#[derive(Debug, Args)]
pub(crate) struct LaneArgs {
    /// Whose lanes.
    #[arg(long, global = true, default_value = "default")]
    pub(crate) namespace: String,
    #[command(subcommand)]
    pub(crate) command: LaneCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LaneCommand {
    /// List the lanes that were used or changed.
    Ls(WatchArgs),
    /// Let nobody claim from a lane; submissions wait.
    Pause(LaneName),
    /// Let a lane take and give work again.
    Resume(LaneName),
    /// Refuse submissions to a lane; what waits there is still run.
    Drain(LaneName),
    /// Decide what holds for submissions that do not say otherwise; what is left out is left to the system.
    Set(LaneSetArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LaneName {
    /// The lane.
    pub(crate) lane: String,
}

#[derive(Debug, Args)]
pub(crate) struct LaneSetArgs {
    /// The lane.
    pub(crate) lane: String,
    /// How often a failed execution is tried again.
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// How long one attempt may run, as in 10m.
    #[arg(long, value_name = "PAUSE")]
    pub(crate) attempt_timeout: Option<String>,
    /// How many lost workers are followed by another attempt.
    #[arg(long, value_name = "N")]
    pub(crate) max_reclaims: Option<u32>,
    /// How often an execution may be run again after it has ended.
    #[arg(long, value_name = "N")]
    pub(crate) max_replays: Option<u32>,
    /// How long ended executions are kept, as in 30d.
    #[arg(long, value_name = "PAUSE")]
    pub(crate) retention: Option<String>,
    /// How long idempotency keys are remembered, as in 24h.
    #[arg(long, value_name = "PAUSE")]
    pub(crate) remember_keys: Option<String>,
}

/// Which executions.
#[derive(Debug, Args)]
pub(crate) struct FilterArgs {
    /// Whose work.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
    /// Only in this state: waiting, delayed, active, completed, failed, cancelled or expired.
    #[arg(long)]
    pub(crate) state: Option<String>,
    /// Only of this lane.
    #[arg(long)]
    pub(crate) lane: Option<String>,
    /// Only of this kind.
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// Only with this label.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) tag: Option<String>,
    /// Only submitted at this time or later, as in 2030-01-01T09:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only submitted before this time.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// How many to show at most.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Go on where a listing ended.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BulkArgs {
    /// What to do with them.
    #[arg(value_enum)]
    pub(crate) action: BulkAction,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Do it with everything, when no filter is given.
    #[arg(long)]
    pub(crate) all: bool,
    /// Only say how many it would be.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Why, for whoever looks later.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(crate) reason: String,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum BulkAction {
    /// End those that have not ended.
    Cancel,
    /// Run those again that have ended.
    Replay,
    /// Make delayed ones ready.
    RunNow,
    /// Take running ones away from their workers.
    Revoke,
    /// Remove those that have ended.
    Purge,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// For which shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct CountArgs {
    /// Whose work.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
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
