//! What can be typed: the commands, and the options of all of them.

mod key;
mod lane;
mod look;
mod operate;
#[cfg(feature = "server")]
mod serve;
mod submit;
mod token;
mod tools;

use crate::examples::{
    BULK_EXAMPLES, COMPLETIONS_EXAMPLES, DEMO_EXAMPLES, DOCTOR_EXAMPLES, EVENTS_EXAMPLES, EXIT_CODES, GET_EXAMPLES,
    KEY_EXAMPLES, LANE_EXAMPLES, LS_EXAMPLES, RESULT_EXAMPLES, SIGNAL_EXAMPLES, SUBMIT_EXAMPLES, TOKEN_EXAMPLES,
    TOP_EXAMPLES, WHY_EXAMPLES,
};
use clap::parser::ValueSource;
use clap::{ArgMatches, FromArgMatches, Parser, Subcommand};
pub(crate) use key::{KeyArgs, KeyCommand, KeyCreateArgs};
pub(crate) use lane::{LaneArgs, LaneCommand, LaneSetArgs};
pub(crate) use look::{CountArgs, EventsArgs, FilterArgs, GetArgs, LsArgs, Target, TopArgs, WatchArgs};
use onward::Address;
pub(crate) use operate::*;
#[cfg(feature = "server")]
pub(crate) use serve::{ConfigArgs, ConfigCommand, ServeArgs};
pub(crate) use submit::SubmitArgs;
pub(crate) use token::{TokenArgs, TokenCommand, TokenMintArgs, TokenSignalArgs};
pub(crate) use tools::{ChurnArgs, CompletionsArgs, DoctorArgs, WorkerArgs};

/// Durable execution: submit work, run it on workers, survive crashes.
#[derive(Debug, Parser)]
#[command(name = "onward", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    /// Store to use: sqlite:PATH, postgres://…, valkey://… (or redis://…), or memory: for one that ends with the
    /// command.
    #[arg(long, global = true, env = "ONWARD_STORE", default_value = "sqlite:onward.db", value_name = "ADDRESS")]
    pub(crate) store: String,
    /// Server to use instead of a store: http://host:port or https://host. ONWARD_API_KEY holds the API key if the server
    /// requires one.
    #[arg(long, global = true, env = "ONWARD_SERVER", value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Print JSON instead of text, including errors.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Log to standard error; repeat for more detail (-vv, -vvv).
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Whether the store was typed, not left to the environment or the default.
    #[arg(skip)]
    pub(crate) store_typed: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// What was typed. The demonstration makes a store of its own where somebody says so; a store in the environment is
    /// meant for the other commands.
    pub(crate) fn of(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = |option: &str| {
            let typed = |matches: &ArgMatches| matches.value_source(option) == Some(ValueSource::CommandLine);
            typed(matches) || matches.subcommand().is_some_and(|(_, matches)| typed(matches))
        };
        let (store_typed, server_typed) = (typed("store"), typed("server"));
        let mut cli = Self { store_typed, ..Self::from_arg_matches(matches)? };
        if store_typed && server_typed {
            let both = "a store and a server were named; work is either here or there";
            return Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, both));
        }
        if server_typed && !cli.command.is_served() {
            let unserved = "--server: this command works on a store itself, not through a server";
            return Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, unserved));
        }
        // What is typed counts more than what is in the environment.
        if let Some(server) = cli.server.take().filter(|_| !store_typed && cli.command.is_served()) {
            if !matches!(server.parse(), Ok(Address::Http(_))) {
                let wrong = format!("--server: {server:?} is not http://host:port or https://host");
                return Err(clap::Error::raw(clap::error::ErrorKind::ValueValidation, wrong));
            }
            cli.store = server;
        }
        Ok(cli)
    }
}

impl Command {
    /// Whether a server can do it; a server in the environment is not meant for the others.
    fn is_served(&self) -> bool {
        #[cfg(feature = "server")]
        if matches!(self, Self::Serve(_) | Self::Config(_)) {
            return false;
        }
        #[cfg(feature = "bench")]
        if matches!(self, Self::Bench(_)) {
            return false;
        }
        !matches!(self, Self::Demo | Self::Completions(_))
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a demo: plain work, a retry, a delay, and recovery from a killed process.
    #[command(after_help = DEMO_EXAMPLES)]
    Demo,
    /// Submit an execution; it is durable when the command returns.
    #[command(after_help = SUBMIT_EXAMPLES)]
    Submit(SubmitArgs),
    /// Show one execution.
    #[command(after_help = GET_EXAMPLES)]
    Get(GetArgs),
    /// List executions, newest first; waiting ones in claim order.
    #[command(after_help = LS_EXAMPLES)]
    Ls(LsArgs),
    /// Count executions by state, up to 100,000 each.
    Count(CountArgs),
    /// Print an execution's result, and nothing else.
    #[command(after_help = RESULT_EXAMPLES)]
    Result(Target),
    /// Show the attempts of an execution.
    Attempts(Target),
    /// Show the history of an execution.
    History(Target),
    /// Explain what an execution is waiting for and what would unblock it.
    #[command(after_help = WHY_EXAMPLES)]
    Why(GetArgs),
    /// Send a signal to an execution; one that comes before its wait is kept.
    #[command(after_help = SIGNAL_EXAMPLES)]
    Signal(SignalArgs),
    /// Show what an execution waits for, what it waited for, and the signals that were sent to it.
    Waits(Target),
    #[command(flatten)]
    Operate(OperateCommand),
    /// Apply one action to all executions that match a filter.
    #[command(after_help = BULK_EXAMPLES)]
    Bulk(BulkArgs),
    /// Show events, and follow new ones.
    #[command(after_help = EVENTS_EXAMPLES)]
    Events(EventsArgs),
    /// Check the store for inconsistencies and repair them.
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArgs),
    /// List, pause, resume, drain and configure lanes.
    #[command(after_help = LANE_EXAMPLES)]
    Lane(LaneArgs),
    /// Watch lanes and workers: queue depth, age of the oldest work, throughput, and running work.
    #[command(after_help = TOP_EXAMPLES)]
    Top(TopArgs),
    /// Serve programs in any language over HTTP.
    #[cfg(feature = "server")]
    #[command(after_help = serve::SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Check the settings of a server without starting it.
    #[cfg(feature = "server")]
    #[command(after_help = serve::CONFIG_EXAMPLES)]
    Config(ConfigArgs),
    /// Issue, list and revoke API keys.
    #[command(after_help = KEY_EXAMPLES)]
    Key(KeyArgs),
    /// Make tokens and links with which people answer a wait, check them, and rotate the keys that sign them.
    #[command(after_help = TOKEN_EXAMPLES)]
    Token(TokenArgs),
    /// Benchmark the engine against the bare store.
    #[cfg(feature = "bench")]
    #[command(after_help = onward_bench::EXAMPLES)]
    Bench(onward_bench::BenchArgs),
    /// Print a completion script for a shell.
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
    /// Run the demonstration's handlers; serves the demo and the tests.
    #[command(hide = true)]
    Worker(WorkerArgs),
    /// Submit, claim and complete without pause, and print every acknowledgement; serves crash tests.
    #[command(hide = true)]
    Churn(ChurnArgs),
}
