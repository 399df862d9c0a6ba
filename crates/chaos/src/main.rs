//! `onward-chaos`: runs engines on real servers, breaks them under load, and has the history judged by a program apart.

mod args;
mod child;
mod clock;
mod driver;
mod engine;
mod faketime;
mod faults;
mod final_state;
mod other_build;
mod output;
mod plan;
mod plan_servers;
mod poison;
mod processes;
mod progress;
mod reader;
mod script;
mod sender;
mod upgrade_probes;
mod verdict;
mod waits;
mod work;

use args::{Args, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let ended = match Args::parse().command {
        Command::Run(args) => driver::run(&args),
        Command::All(args) => driver::all(&args),
        Command::Plans => {
            plan::every().for_each(|plan| println!("{:24}{}", plan.name, plan.about));
            Ok(true)
        }
        Command::Engine(args) => child::run(engine::run(args)),
        Command::Sender(args) => child::run(sender::run(args)),
        Command::Reader(args) => child::run(reader::run(args)),
        Command::Look(args) => child::run(final_state::run(args)),
    };
    match ended {
        Ok(held) => ExitCode::from(u8::from(!held)),
        Err(error) => {
            eprintln!("onward-chaos: {error}");
            ExitCode::from(2)
        }
    }
}
