//! What comes of operators' acts over HTTP, and what there is to know about one execution.

use crate::AttemptDescription;
use onward_core::ActOutcome;
use onward_core::record::Transition;
use serde::{Deserialize, Serialize};

/// The body of an act's own request, whose path has its name.
#[cfg(feature = "remote")]
#[derive(Debug)]
pub(crate) struct ActBody<'a>(pub(crate) &'a onward_core::Act);

#[cfg(feature = "remote")]
impl Serialize for ActBody<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_body(serializer)
    }
}

/// What came of an act.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Acted {
    /// What came of it.
    pub outcome: ActOutcome,
}

/// The attempts of an execution.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AttemptList {
    /// Oldest first, with the one that runs now.
    pub attempts: Vec<AttemptDescription>,
}

/// What happened to an execution.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = History))]
pub struct HistoryPage {
    /// Oldest first.
    pub transitions: Vec<Transition>,
}
