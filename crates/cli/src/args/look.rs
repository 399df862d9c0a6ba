//! What can be typed to look at executions and events.

use clap::Args;

/// Which execution.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Id of the execution.
    pub(crate) id: String,
    /// Namespace of the execution.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
}

/// How long to look.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Refresh every two seconds, or at the given interval.
    #[arg(short, long, value_name = "DURATION", num_args = 0..=1, default_missing_value = "2s", require_equals = true)]
    pub(crate) watch: Option<String>,
}

/// Which execution, and how long to look at it.
#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    #[command(flatten)]
    pub(crate) target: Target,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

/// What to watch.
#[derive(Debug, Args)]
pub(crate) struct TopArgs {
    /// Namespace.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
    /// Refresh interval.
    #[arg(long, value_name = "DURATION", default_value = "2s")]
    pub(crate) every: String,
    /// Print once and exit.
    #[arg(long, conflicts_with = "every")]
    pub(crate) once: bool,
}

/// Which executions.
#[derive(Debug, Args)]
pub(crate) struct FilterArgs {
    /// Namespace.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
    /// Only executions in one of these states, separated by commas: waiting, delayed, active, suspended, completed, failed, cancelled or expired.
    #[arg(long)]
    pub(crate) state: Option<String>,
    /// Only in this lane.
    #[arg(long)]
    pub(crate) lane: Option<String>,
    /// Only of this kind.
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// Only with this tag.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) tag: Option<String>,
    /// Only submitted at or after this time, for example 2030-01-01T09:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only submitted before this time.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
    /// Maximum number of executions to show.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Continue a listing from its cursor.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CountArgs {
    /// Namespace.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Namespace of the events.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
    /// Wait for new events instead of exiting after the newest one.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only events after this cursor; by default from the oldest one.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    /// Only in this lane.
    #[arg(long)]
    pub(crate) lane: Option<String>,
    /// Only events of this execution.
    #[arg(long, value_name = "ID")]
    pub(crate) execution: Option<String>,
    /// Only events of this type, such as claimed or lease_expired; repeatable.
    #[arg(long, value_name = "NAME")]
    pub(crate) what: Vec<String>,
    /// Only events that end an execution.
    #[arg(long)]
    pub(crate) endings: bool,
}
