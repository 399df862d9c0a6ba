//! The `onward` command line: submit work, look at it, measure the engine, and see it survive a crash.

mod args;
#[cfg(feature = "bench")]
mod bench;
mod bulk;
mod churn;
#[cfg(feature = "server")]
mod config;
mod demo;
mod doctor;
mod events;
mod examples;
mod get;
mod key;
mod lane;
#[cfg(feature = "server")]
mod logging;
mod look;
mod ls;
mod open;
mod operate;
mod output;
mod problem;
mod progress;
#[cfg(feature = "server")]
mod serve;
#[cfg(feature = "server")]
mod settings;
mod shape;
mod signal;
mod submit;
mod time;
mod token;
mod top;
#[cfg(feature = "otel")]
mod traces;
#[cfg(all(feature = "server", not(feature = "otel")))]
#[path = "no_traces.rs"]
mod traces;
mod watch;
mod worker;

use args::{Cli, Command};
use clap::CommandFactory;
use clap::error::ErrorKind;
use look::Aspect;
use problem::{Exit, Problem};
use std::process::ExitCode;

/// Records are made by one thread and dropped by another, which the system's allocator answers with contended locks.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = match Cli::command().try_get_matches().and_then(|matches| Cli::of(&matches)) {
        Ok(cli) => cli,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            let help = error.render();
            output::print(&if output::in_colour() { help.ansi().to_string() } else { help.to_string() });
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            let json = std::env::args_os().any(|arg| arg == "--json");
            if error.kind() == ErrorKind::MissingSubcommand && !json {
                output::print_error(Cli::command().render_help().to_string().trim_end());
                return Exit::Usage.into();
            }
            return Problem::usage(&error).report(json);
        }
    };
    // A server logs as its settings say, which are read first.
    #[cfg(feature = "server")]
    let logs_by_settings = matches!(cli.command, Command::Serve(_));
    #[cfg(not(feature = "server"))]
    let logs_by_settings = false;
    if !logs_by_settings {
        output::log(cli.verbose);
    }
    let json = cli.json;
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Problem::system("no threads could be started", &error).report(json),
    };
    match (runtime.block_on(run(cli)), output::lost()) {
        (Ok(_), Some(why)) => {
            Problem::System { what: "the answer cannot be written", why: why.to_owned() }.report(json)
        }
        (Ok(exit), None) => exit.into(),
        (Err(problem), _) => problem.report(json),
    }
}

async fn run(cli: Cli) -> Result<Exit, Problem> {
    let Cli { store, store_typed, json, .. } = cli;
    match cli.command {
        Command::Demo => demo::run(store_typed.then_some(store.as_str()), json).await,
        Command::Submit(args) => submit::run(args, &store, json).await,
        Command::Get(args) => get::run(&args, &store, json).await,
        Command::Ls(args) => ls::run(&args, &store, json).await,
        Command::Count(args) => ls::count(&args, &store, json).await,
        Command::Result(target) => look::run(Aspect::Result, &target, &store, json).await,
        Command::Attempts(target) => look::run(Aspect::Attempts, &target, &store, json).await,
        Command::History(target) => look::run(Aspect::History, &target, &store, json).await,
        Command::Why(args) => look::why(&args, &store, json).await,
        Command::Signal(args) => signal::send(args, &store, json).await,
        Command::Waits(target) => signal::waits(target, &store, json).await,
        Command::Operate(command) => operate::run(command, &store, json).await,
        Command::Bulk(args) => bulk::run(args, &store, json).await,
        Command::Events(args) => events::run(args, &store, json).await,
        Command::Doctor(args) => doctor::run(&args, &store, json).await,
        Command::Lane(args) => lane::run(args, &store, json).await,
        Command::Top(args) => top::run(&args, &store, json).await,
        #[cfg(feature = "server")]
        Command::Serve(args) => serve::run(args, store_typed.then_some(store), cli.verbose, json).await,
        #[cfg(feature = "server")]
        Command::Config(args) => config::run(args, store_typed.then_some(store), cli.verbose, json),
        Command::Key(args) => key::run(args, &store, json).await,
        Command::Token(args) => token::run(args, &store, json).await,
        #[cfg(feature = "bench")]
        Command::Bench(args) => bench::run(args, &store, json).await,
        Command::Completions(args) => {
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut Cli::command(), "onward", &mut script);
            output::print(&String::from_utf8_lossy(&script));
            Ok(Exit::Success)
        }
        Command::Worker(args) => worker::run(args, &store).await,
        Command::Churn(args) => churn::run(args, &store).await,
    }
}
