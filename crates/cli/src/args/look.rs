//! What can be typed to look at executions and events.

use clap::Args;

/// Which execution.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Its id.
    pub(crate) id: String,
    /// Whose work it is.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
}

/// How long to look.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Look again every two seconds, or as often as given, and show what has changed.
    #[arg(short, long, value_name = "PAUSE", num_args = 0..=1, default_missing_value = "2s", require_equals = true)]
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
    /// Whose work.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
    /// How often to look again.
    #[arg(long, value_name = "PAUSE", default_value = "2s")]
    pub(crate) every: String,
    /// Look once.
    #[arg(long, conflicts_with = "every")]
    pub(crate) once: bool,
}

/// Which executions.
#[derive(Debug, Args)]
pub(crate) struct FilterArgs {
    /// Whose work.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
    /// Only in this state: waiting, delayed, active, completed, failed, cancelled or expired.
    #[arg(long)]
    pub(crate) state: Option<String>,
    /// Only of this lane.
    #[arg(long)]
    pub(crate) lane: Option<String>,
    /// Only of this kind.
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// Only with this label.
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) tag: Option<String>,
    /// Only submitted at this time or later, as in 2030-01-01T09:00:00Z.
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
    /// How many to show at most.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) limit: u16,
    /// Go on where a listing ended.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CountArgs {
    /// Whose work.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
    #[command(flatten)]
    pub(crate) watch: WatchArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Whose events.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
    /// Wait for more instead of ending with the newest one.
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// Only those behind this cursor; from the oldest one on unless given.
    #[arg(long, value_name = "CURSOR")]
    pub(crate) after: Option<String>,
    /// Only of this lane.
    #[arg(long)]
    pub(crate) lane: Option<String>,
    /// Only of this execution.
    #[arg(long, value_name = "ID")]
    pub(crate) execution: Option<String>,
    /// Only events of this name, such as claimed or lease_expired; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) what: Vec<String>,
    /// Only those that end an execution.
    #[arg(long)]
    pub(crate) endings: bool,
}
