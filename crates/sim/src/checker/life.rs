//! What the model knows about one execution: every stage it had, and how often it was given out.

use super::Stage;
use onward_core::Millis;

/// What one execution went through.
#[derive(Debug, Default)]
pub(super) struct Life {
    /// Every stage with the number of the commit that made it.
    pub(super) versions: Vec<(u64, Stage)>,
    /// The highest epoch ever given out.
    pub(super) epoch: u64,
    pub(super) claims: u32,
    /// Since when it waits for a worker, if it does.
    pub(super) ready_since: Option<Millis>,
    /// The store lost a commit that touched it, so nothing that was said about it before counts.
    pub(super) void: bool,
    /// It was removed once.
    pub(super) removed: bool,
}
