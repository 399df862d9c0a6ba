//! What an execution went through: the newest transitions in its record, the older ones in pages beside it.

use super::Format;
use crate::{Actor, Millis, What};
use serde::{Deserialize, Serialize};

/// Something that happened to an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Transition {
    /// When.
    pub at: Millis,
    /// Who did it, when it was an operator with a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Actor>,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// A full page of transitions, oldest first; it never changes again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryPage {
    /// The format of this record.
    #[serde(rename = "v")]
    pub format: Format,
    /// What happened, oldest first.
    pub transitions: Vec<Transition>,
}
