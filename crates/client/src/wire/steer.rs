//! Responses over HTTP: outcomes of acts, attempts and histories.

use crate::AttemptDescription;
use onward_core::ActOutcome;
use onward_core::record::Transition;
use serde::{Deserialize, Serialize};

/// Request body of an act; the path names the act.
#[cfg(feature = "remote")]
#[derive(Debug)]
pub(crate) struct ActBody<'a>(pub(crate) &'a onward_core::Act);

#[cfg(feature = "remote")]
impl Serialize for ActBody<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_body(serializer)
    }
}

/// Response to an act.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Acted {
    /// Outcome of the act.
    pub outcome: ActOutcome,
}

/// The attempts of an execution.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttemptList {
    /// Attempts, oldest first, including a running or paused one.
    pub attempts: Vec<AttemptDescription>,
}

/// The history of an execution.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = History))]
pub struct HistoryPage {
    /// Transitions, oldest first.
    pub transitions: Vec<Transition>,
}
