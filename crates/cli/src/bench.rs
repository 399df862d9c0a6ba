//! `onward bench`: runs the benchmarks and turns what they end with into an exit code.

use crate::output;
use crate::problem::{Exit, Problem, of_engine, of_scratch};
use onward_bench::{BenchArgs, Error};

pub(crate) async fn run(args: BenchArgs, store: &str, json: bool) -> Result<Exit, Problem> {
    let met = onward_bench::run(args, store, json, output::print).await?;
    Ok(if met { Exit::Success } else { Exit::BarMissed })
}

/// How a benchmark ends that gave no figures.
pub(crate) fn exit(error: &Error) -> Exit {
    match error {
        Error::Scratch(error) => of_scratch(error),
        Error::Option(_) => Exit::Usage,
        Error::Engine(error) => of_engine(error),
        Error::Store(_) | Error::System(_) => Exit::Store,
        _ => Exit::Refused,
    }
}
