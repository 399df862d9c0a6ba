//! What can be typed to submit an execution.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// Which handler runs it.
    pub(crate) kind: String,
    /// What it works on: JSON, @FILE to read a file, or - to read standard input.
    #[arg(long, value_name = "JSON|@FILE|-", default_value = "null", allow_hyphen_values = true)]
    pub(crate) input: String,
    /// What the input is, when it is not JSON.
    #[arg(long, value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// The lane to queue in.
    #[arg(long, default_value = "default")]
    pub(crate) lane: String,
    /// Higher runs first, 0 to 9000.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) priority: u16,
    /// Run it after a pause, as in 10s, 5m, 1h30m or 2d.
    #[arg(long, value_name = "PAUSE", conflicts_with = "at", allow_hyphen_values = true)]
    pub(crate) delay: Option<String>,
    /// Run it at a time, as in 2030-01-01T09:00:00+01:00.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
    /// A label; may be given several times.
    #[arg(long = "tag", value_name = "KEY=VALUE")]
    pub(crate) tags: Vec<String>,
    /// Makes a second submit with the same key answer the first execution.
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Makes a second submit with the same key answer the first execution until that one ends.
    #[arg(long, value_name = "KEY", conflicts_with = "key")]
    pub(crate) unique: Option<String>,
    /// Expire it after this long, wherever it stands then, as in 2h.
    #[arg(long, value_name = "PAUSE")]
    pub(crate) deadline: Option<String>,
    /// How often it is tried again when it fails.
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// How long one attempt may run, as in 10m.
    #[arg(long, value_name = "PAUSE")]
    pub(crate) attempt_timeout: Option<String>,
    /// How long it is kept after it has ended, as in 30d.
    #[arg(long, value_name = "PAUSE")]
    pub(crate) retention: Option<String>,
    /// A capability that the worker must have; may be given several times.
    #[arg(long, value_name = "CAPABILITY")]
    pub(crate) requires: Vec<String>,
    /// Whose work it is.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
}
