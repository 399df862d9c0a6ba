//! Changing the priority of an execution; a running one takes its new place when it waits again.

use super::{ActOutcome, OperatorAct};
use crate::record::{Execution, State};
use crate::{Millis, Rejection, Stop, View, What, limits};
use serde::{Deserialize, Serialize};

/// Sets the priority of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PrioritiseRequest))]
#[serde(deny_unknown_fields)]
pub struct Prioritise {
    /// Priority, from 0 to 9,000; higher runs first.
    #[cfg_attr(feature = "openapi", schema(maximum = 9000))]
    pub priority: u16,
}

impl OperatorAct for Prioritise {
    fn act(&self, _: &mut View, execution: &mut Execution, now: Millis) -> Result<(What, ActOutcome), Stop> {
        limits::check_priority(self.priority)?;
        if let State::Finished(finished) = &execution.state {
            let state = finished.outcome.public();
            return Err(Rejection::Finished { execution: execution.id, state }.into());
        }
        let before = std::mem::replace(&mut execution.priority, self.priority);
        execution.changed_at = execution.stamp(now);
        Ok((What::PriorityChanged { before, after: self.priority }, ActOutcome::Prioritised { before }))
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
        Row::new("prioritise", |_, _| make::operate(61, id(1), Prioritise { priority: 7 }.into()), &[
            ("execution_not_found", "Absent"),
            ("execution_finished", "Completed Failed Cancelled Expired"),
            ("execution_purged", "Stub"),
            ("stays", "*"),
        ]),
    ];
}
