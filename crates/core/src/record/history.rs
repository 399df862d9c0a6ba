//! The history of an execution: the newest transitions are in its record, older ones in pages beside it.

use super::{Format, Stored, formats};
use crate::{Actor, Millis, What};
use serde::{Deserialize, Serialize};

/// One transition in the history of an execution.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Transition {
    /// Time of the transition.
    pub at: Millis,
    /// Name of the operator who caused it, if it has one.
    pub by: Option<Actor>,
    /// Type of the transition, and the fields of this type.
    #[serde(flatten)]
    pub what: What,
}

/// A full page of transitions, oldest first; it never changes again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryPage {
    /// The format of this record.
    #[serde(rename = "v", skip_serializing)]
    pub format: Format,
    /// What happened, oldest first.
    pub transitions: Vec<Transition>,
}

impl Stored for HistoryPage {
    fn bytes(&self) -> usize {
        192 * self.transitions.len()
    }
}

formats!(struct Transition { at, by, what });
formats!(struct HistoryPage { format, transitions });
