//! What can be typed to decide about executions.

use super::{FilterArgs, Target};
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Reason, recorded in the history.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(crate) reason: String,
    /// Time for a running attempt to stop by itself, for example 30s or 5m; none by default.
    #[arg(long, value_name = "DURATION")]
    pub(crate) grace: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReasonArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Reason, recorded in the history.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(crate) reason: String,
}

#[derive(Debug, Args)]
pub(crate) struct RescheduleArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Run it after this delay, for example 10s, 5m, 1h30m or 2d.
    #[arg(long, value_name = "DURATION", conflicts_with = "at", allow_hyphen_values = true)]
    pub(crate) delay: Option<String>,
    /// Run it at this time, for example 2030-01-01T09:00:00+01:00.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct PriorityArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Priority from 0 to 9000; higher runs first.
    pub(crate) priority: u16,
}

#[derive(Debug, Args)]
pub(crate) struct TagArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Tag to add or replace; repeatable.
    #[arg(long = "set", value_name = "KEY=VALUE", required_unless_present = "remove")]
    pub(crate) set: Vec<String>,
    /// Tag to remove; repeatable.
    #[arg(long = "remove", value_name = "KEY")]
    pub(crate) remove: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct BulkArgs {
    /// Action to apply.
    #[arg(value_enum)]
    pub(crate) action: BulkAction,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Apply it to all executions if no filter is given.
    #[arg(long)]
    pub(crate) all: bool,
    /// Only count the matching executions.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Reason, recorded in the history.
    #[arg(long, default_value = "", hide_default_value = true)]
    pub(crate) reason: String,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum BulkAction {
    /// Cancel unfinished executions.
    Cancel,
    /// Run finished executions again.
    Replay,
    /// Make delayed executions ready.
    RunNow,
    /// Revoke the leases of running executions.
    Revoke,
    /// Delete finished executions.
    Purge,
}
