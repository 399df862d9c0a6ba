//! Holding an execution: no worker gets it until an operator resumes it.

use super::{ActOutcome, OperatorAct};
use crate::record::{Execution, Held, State, Waiting, WhyHeld};
use crate::rules::{lease, ready};
use crate::text::or_default;
use crate::{Millis, Reason, Rejection, Stop, View, What};
use serde::{Deserialize, Serialize};

/// Holds an execution. A running attempt loses its lease and goes on once the execution is resumed; delays, suspensions and
/// deadlines go on underneath.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PauseRequest))]
#[serde(deny_unknown_fields, default)]
pub struct Pause {
    /// Reason, recorded in the history.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Reason::is_empty")]
    pub reason: Reason,
}

impl OperatorAct for Pause {
    fn act(&self, view: &mut View, execution: &mut Execution, now: Millis) -> Result<(What, ActOutcome), Stop> {
        let at = execution.moment(now);
        let attempt = match execution.state.clone() {
            State::Finished(finished) => {
                let state = finished.outcome.public();
                return Err(Rejection::Finished { execution: execution.id, state }.into());
            }
            State::Active(active) if active.stop.is_some() => return Err(Rejection::Stopping(execution.id).into()),
            State::Active(active) => {
                let next = lease::take(&active, now);
                ready::now(view, execution, next, now)?;
                Some(active.attempt.number)
            }
            State::Waiting(Waiting { .. }) => None,
        };
        execution.changed_at = at.stamp;
        execution.held = Some(Held { why: WhyHeld::Operator, at: at.stamp, reason: self.reason.clone() });
        Ok((What::Paused { attempt, reason: self.reason.clone() }, ActOutcome::Paused))
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use super::*;
    use crate::rules::table::Row;
    use crate::rules::world::make::{self, id};

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("pause", |_, _| make::operate(61, id(1), Pause { reason: "look".into() }.into()), &[
            ("execution_not_found", "Absent"),
            ("stays", "Suspended SuspendedOver Held"),
            ("execution_stopping", "ActiveAsked ActiveStopOver"),
            ("execution_finished", "Completed Failed Cancelled Expired"),
            ("execution_purged", "Stub"),
            ("→ Held", "*"),
        ]),
    ];
}
