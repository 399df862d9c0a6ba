//! What can be asked for on the command line, and the hidden commands of the processes that a run is made of.

use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// Break Onward under load and see whether it keeps its promises.
///
/// A plan starts a real server or cluster, three processes that submit and run work, and a reader of events; some plans
/// add two senders of signals. It breaks one thing again and again while all of them go on. At the end all work is finished, the feed is read once more from
/// its start, and the program onward-checker judges the written history: its table is printed, and the exit code is 1
/// when a promise was broken.
#[derive(Debug, Parser)]
#[command(version)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one plan
    Run(RunArgs),
    /// Run every plan, one after the other, and print a summary
    All(AllArgs),
    /// List the plans
    Plans,
    /// Submits and runs work
    #[command(hide = true)]
    Engine(EngineArgs),
    /// Submits work that waits and sends signals
    #[command(hide = true)]
    Sender(SenderArgs),
    /// Reads the feed
    #[command(hide = true)]
    Reader(ReaderArgs),
    /// Lists everything when all is over
    #[command(hide = true)]
    Look(LookArgs),
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RunArgs {
    /// Which plan; `onward-chaos plans` lists them
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct AllArgs {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CommonArgs {
    /// How long things are broken, instead of the plan's own time
    #[arg(long, value_name = "N")]
    pub(crate) seconds: Option<u64>,
    /// Decides when and whom faults hit; drawn and printed unless given
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Another build of this program, for the plan in which two builds share a store
    #[arg(long, value_name = "FILE")]
    pub(crate) previous: Option<PathBuf>,
    /// The newest format of records that the other build reads, if it is older: it must leave alone what is newer
    #[arg(long, value_name = "N")]
    pub(crate) previous_formats: Option<u32>,
    /// Where to keep the history, instead of removing it when every promise was kept
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) keep: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct EngineArgs {
    /// The address of the store
    #[arg(long)]
    pub(crate) store: String,
    /// The name of this process
    #[arg(long)]
    pub(crate) name: String,
    /// How long its leases last, in milliseconds
    #[arg(long)]
    pub(crate) lease: u64,
    /// Decides what it does
    #[arg(long)]
    pub(crate) seed: u64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SenderArgs {
    /// The address of the store
    #[arg(long)]
    pub(crate) store: String,
    /// Decides what it does
    #[arg(long)]
    pub(crate) seed: u64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReaderArgs {
    /// The address of the store
    #[arg(long)]
    pub(crate) store: String,
    /// Where to go on
    #[arg(long)]
    pub(crate) after: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct LookArgs {
    /// The address of the store
    #[arg(long)]
    pub(crate) store: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_arguments_fit_together() {
        Args::command().debug_assert();
        let help = Args::command().render_long_help().to_string();
        assert!(help.contains("all") && !help.contains("Reads the feed"), "{help}");
    }
}
