//! Removing an ended execution and all its data.

use super::{ActOutcome, OperatorAct};
use crate::record::{Execution, State};
use crate::{Millis, Rejection, Stop, View, What};
use serde::{Deserialize, Serialize};

/// Removes an ended execution and all its data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PurgeRequest))]
#[serde(deny_unknown_fields)]
pub struct Purge {}

impl OperatorAct for Purge {
    fn act(&self, _: &mut View, execution: &mut Execution, _: Millis) -> Result<(What, ActOutcome), Stop> {
        match &execution.state {
            State::Finished(_) => Ok((What::Purged, ActOutcome::Purged)),
            State::Waiting(_) | State::Active(_) => {
                let state = execution.public_state();
                Err(Rejection::NotFinished { execution: execution.id, state }.into())
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use super::*;
    use crate::rules::table::Row;
    use crate::rules::table::elsewhere;
    use crate::rules::world::make::{self, id};

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("purge", |_, _| make::operate(61, id(1), Purge {}.into()), &[
            ("execution_not_found", "Absent"),
            ("=", "Stub"),
            ("→ Stub", "Completed Failed Cancelled Expired"),
            ("execution_not_finished", "*"),
        ]),
        Row::new("purge (repeat)", |_, _| make::operate(41, id(1), Purge {}.into()), &[
            ("execution_not_found", "Absent"),
            ("=", "Stub"),
            ("invalid_argument", "ReadyReplay DelayedOperator ActiveAsked ActiveStopOver Held"),
            ("→ Stub", "Completed Failed Cancelled Expired"),
            ("execution_not_finished", "*"),
        ]),
        Row::new("purge (elsewhere)", |_, _| elsewhere(Purge {}.into()), &[
            ("execution_not_found", "*"),
        ]),
    ];
}
