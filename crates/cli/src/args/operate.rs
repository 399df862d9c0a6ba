//! What can be typed to decide about executions.

use super::{FilterArgs, Target};
use clap::Args;

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
