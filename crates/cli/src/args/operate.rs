//! What can be typed to decide about executions.

use super::{FilterArgs, Target};
use crate::examples::{CANCEL_EXAMPLES, RESCHEDULE_EXAMPLES, TAG_EXAMPLES};
use clap::{Args, Subcommand};

/// What an operator can do with one execution.
#[derive(Debug, Subcommand)]
pub(crate) enum OperateCommand {
    /// Cancel an execution, at once or after a grace period.
    #[command(after_help = CANCEL_EXAMPLES)]
    Cancel(CancelArgs),
    /// Run a finished execution again.
    Replay(ReasonArgs),
    /// Reschedule a waiting execution; without a time, run it now.
    #[command(after_help = RESCHEDULE_EXAMPLES)]
    Reschedule(RescheduleArgs),
    /// Change the priority of an execution.
    Priority(PriorityArgs),
    /// Add and remove tags of an execution.
    #[command(after_help = TAG_EXAMPLES)]
    Tag(TagArgs),
    /// Write a note on an execution; an empty one removes it.
    Annotate(AnnotateArgs),
    /// Revoke a worker's lease; the execution becomes ready again at once.
    Revoke(ReasonArgs),
    /// Hold an execution: no worker gets it until it is resumed.
    Pause(ReasonArgs),
    /// Resume an execution that is held, or one that is suspended without what it waits for.
    Resume(ResumeArgs),
    /// End a wait of a suspended execution without a signal, as if it had come.
    CloseWait(CloseWaitArgs),
    /// Delete a finished execution and everything that belongs to it.
    Purge(Target),
}

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
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Let a suspended execution go on after this delay, for example 10s or 5m.
    #[arg(long, value_name = "DURATION")]
    pub(crate) delay: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CloseWaitArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Name of the wait, or name#2 for the second wait for it.
    pub(crate) wait: String,
}

/// A signal to send.
#[derive(Debug, Args)]
pub(crate) struct SignalArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Name of the wait that it is for, or name#2 for the second wait for it only.
    pub(crate) wait: String,
    /// Name of the signal, such as approved.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// What it carries: JSON, @FILE, or - for standard input.
    #[arg(long, default_value = "null", hide_default_value = true, allow_hyphen_values = true)]
    pub(crate) payload: String,
    /// Content type of the payload, if it is not JSON.
    #[arg(long, value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// Idempotency key: a second signal to the same wait name with the same key is the same signal.
    #[arg(long)]
    pub(crate) key: Option<String>,
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
pub(crate) struct AnnotateArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    /// Note, at most 1024 bytes.
    pub(crate) note: String,
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
    /// Name of the wait that a signal is for.
    #[arg(long, required_if_eq("action", "signal"))]
    pub(crate) wait: Option<String>,
    /// Name of the signal, such as approved.
    #[arg(long, requires = "wait")]
    pub(crate) name: Option<String>,
    /// What the signal carries: JSON, @FILE, or - for standard input.
    #[arg(long, requires = "wait", default_value = "null", hide_default_value = true, allow_hyphen_values = true)]
    pub(crate) payload: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BulkAction {
    /// Cancel unfinished executions.
    Cancel,
    /// Run finished executions again.
    Replay,
    /// Make delayed executions ready.
    RunNow,
    /// Revoke the leases of running executions.
    Revoke,
    /// Send a signal to unfinished executions.
    Signal,
    /// Delete finished executions.
    Purge,
}
