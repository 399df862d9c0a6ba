//! What can be typed to submit an execution.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// Kind of work; selects the handler.
    pub(crate) kind: String,
    /// Input: JSON, @FILE to read a file, or - to read standard input.
    #[arg(long, value_name = "JSON|@FILE|-", default_value = "null", allow_hyphen_values = true)]
    pub(crate) input: String,
    /// Content type of an input that is not JSON.
    #[arg(long, value_name = "TYPE")]
    pub(crate) content_type: Option<String>,
    /// Lane to submit to.
    #[arg(long, default_value = "default")]
    pub(crate) lane: String,
    /// Priority from 0 to 9000; higher runs first.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) priority: u16,
    /// Run it after this delay, for example 10s, 5m, 1h30m or 2d.
    #[arg(long, value_name = "DURATION", conflicts_with = "at", allow_hyphen_values = true)]
    pub(crate) delay: Option<String>,
    /// Run it at this time, for example 2030-01-01T09:00:00+01:00.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) at: Option<String>,
    /// Tag; repeatable.
    #[arg(long = "tag", value_name = "KEY=VALUE")]
    pub(crate) tags: Vec<String>,
    /// Idempotency key: a second submit with the same key returns the first execution.
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// Unique key: a second submit with the same key returns the first execution until that one ends.
    #[arg(long, value_name = "KEY", conflicts_with = "key")]
    pub(crate) unique: Option<String>,
    /// Deadline after which it expires in any state, for example 2h.
    #[arg(long, value_name = "DURATION")]
    pub(crate) deadline: Option<String>,
    /// Maximum number of retries.
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// Timeout of one attempt, for example 10m.
    #[arg(long, value_name = "DURATION")]
    pub(crate) attempt_timeout: Option<String>,
    /// How long it is kept after it has finished, for example 30d.
    #[arg(long, value_name = "DURATION")]
    pub(crate) retention: Option<String>,
    /// Capability that the worker must have; repeatable.
    #[arg(long, value_name = "CAPABILITY")]
    pub(crate) requires: Vec<String>,
    /// Namespace of the execution.
    #[arg(long, default_value = "default")]
    pub(crate) namespace: String,
}
