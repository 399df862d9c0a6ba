//! What can be typed about lanes.

use super::WatchArgs;
use clap::{Args, Subcommand};
use onward::OnExhausted;

#[derive(Debug, Args)]
pub(crate) struct LaneArgs {
    /// Namespace of the lanes.
    #[arg(long, global = true, default_value = "default")]
    pub(crate) namespace: String,
    #[command(subcommand)]
    pub(crate) command: LaneCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LaneCommand {
    /// List lanes that have been used or changed.
    Ls(WatchArgs),
    /// Pause a lane: workers stop claiming, submissions queue up.
    Pause(LaneName),
    /// Resume a paused or draining lane.
    Resume(LaneName),
    /// Drain a lane: refuse submissions, finish what is queued.
    Drain(LaneName),
    /// Set a lane's defaults for retries, timeouts and retention; omitted ones return to the system's defaults.
    Set(LaneSetArgs),
}

#[derive(Debug, Args)]
pub(crate) struct LaneName {
    /// Name of the lane.
    pub(crate) lane: String,
}

#[derive(Debug, Args)]
pub(crate) struct LaneSetArgs {
    /// Name of the lane.
    pub(crate) lane: String,
    /// Maximum number of retries.
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// Timeout of one attempt, for example 10m.
    #[arg(long, value_name = "DURATION")]
    pub(crate) attempt_timeout: Option<String>,
    /// Maximum number of lost leases before the execution fails.
    #[arg(long, value_name = "N")]
    pub(crate) max_reclaims: Option<u32>,
    /// Maximum number of replays.
    #[arg(long, value_name = "N")]
    pub(crate) max_replays: Option<u32>,
    /// What happens when an attempt fails and no retry is left.
    #[arg(long, value_enum)]
    pub(crate) on_exhausted: Option<OnExhaustedArg>,
    /// How long finished executions are kept, for example 30d.
    #[arg(long, value_name = "DURATION")]
    pub(crate) retention: Option<String>,
    /// How long idempotency keys are remembered, for example 24h.
    #[arg(long, value_name = "DURATION")]
    pub(crate) remember_keys: Option<String>,
}

/// What happens when no retry is left, as it is typed.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(crate) enum OnExhaustedArg {
    /// The execution fails.
    Fail,
    /// The execution is held for an operator.
    Pause,
}

impl From<OnExhaustedArg> for OnExhausted {
    fn from(typed: OnExhaustedArg) -> Self {
        match typed {
            OnExhaustedArg::Fail => Self::Fail,
            OnExhaustedArg::Pause => Self::Pause,
        }
    }
}
