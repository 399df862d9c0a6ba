//! What can be typed about the program itself and the care of its store, and what serves tests.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Repair what can be repaired; a repair is skipped if the records it is based on change meanwhile.
    #[arg(long)]
    pub(crate) repair: bool,
    /// The store was restored from a backup: notify event readers and lanes, and repair.
    #[arg(long)]
    pub(crate) after_restore: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell to generate the script for.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// The lane to serve.
    #[arg(long, default_value = "default")]
    pub(crate) lane: String,
    /// How long each lease lasts.
    #[arg(long, default_value = "30s")]
    pub(crate) lease: String,
    /// The worker's name.
    #[arg(long)]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ChurnArgs {
    /// Callers at the same time.
    #[arg(long, default_value_t = 8)]
    pub(crate) callers: usize,
    /// How long each lease lasts.
    #[arg(long, default_value = "1s")]
    pub(crate) lease: String,
    /// Submit nothing more and end when everything has ended.
    #[arg(long)]
    pub(crate) finish: bool,
}
