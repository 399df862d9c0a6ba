//! What can be typed about lanes.

use super::WatchArgs;
use clap::{Args, Subcommand};

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
