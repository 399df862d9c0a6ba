//! The checker as a program: reads the history of a run, prints a table, and ends with 1 when a promise was broken.

use clap::Parser;
use std::path::PathBuf;
use std::process::ExitCode;

/// Judge the history of a chaos run.
///
/// The directory holds one file of JSON lines for each process of the run. The table tells what was promised, how many
/// cases were looked at and how many broke the promise; the exit code is 1 when any did, 2 when nothing can be read.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// The directory with the history.
    directory: PathBuf,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match onward_checker::check(&args.directory) {
        Ok(report) => {
            println!("{report}");
            ExitCode::from(u8::from(!report.holds()))
        }
        Err(error) => {
            eprintln!("{} cannot be read: {error}", args.directory.display());
            ExitCode::from(2)
        }
    }
}
