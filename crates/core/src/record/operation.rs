//! What operators did to an execution lately, so that a call that is repeated finds itself.

use super::formats;
use crate::CommandId;
use crate::act::ActOutcome;
use serde::{Deserialize, Serialize};

/// A call of an operator and what it was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operated {
    /// The call.
    pub by: CommandId,
    /// Its answer.
    pub outcome: ActOutcome,
}

formats!(struct Operated { by, outcome });
formats!(enum ActOutcome {
    Cancelled, StopRequested { until }, Rescheduled { until }, Prioritised { before }, Tagged, Annotated,
    Revoked { lease, epoch }, Replayed { replays }, Purged, Paused = 2, Resumed { until } = 2, WaitClosed { resumed } = 2,
});
