//! Ending one wait of a suspended execution, without a signal.

use super::{ActOutcome, OperatorAct};
use crate::record::{Execution, HowOver, Over, WaitAddress, WaitRef};
use crate::rules::waits;
use crate::{Millis, Rejection, Stop, View, What};
use serde::{Deserialize, Serialize};

/// Ends a wait of a suspended execution: it counts as met, and signals for it are refused or kept for the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CloseWaitRequest))]
#[serde(deny_unknown_fields)]
pub struct CloseWait {
    /// The wait: a name, or `name#2` for the second wait for it.
    pub wait: WaitAddress,
}

impl OperatorAct for CloseWait {
    fn act(&self, view: &mut View, execution: &mut Execution, now: Millis) -> Result<(What, ActOutcome), Stop> {
        let Some((mut suspension, paused)) = waits::suspended(execution) else {
            let state = execution.public_state();
            return Err(Rejection::NotSuspended { execution: execution.id, state }.into());
        };
        let open = |wait: &&WaitRef| self.wait.reaches(wait) && !suspension.over.contains_key(*wait);
        let Some(wait) = suspension.condition.waits().into_iter().find(open).cloned() else {
            let wait = WaitRef::new(self.wait.name.clone(), self.wait.n.unwrap_or(1));
            return Err(Rejection::WaitpointClosed { wait }.into());
        };
        let at = execution.moment(now);
        suspension.over.insert(wait.clone(), Over { how: HowOver::Operator, at: at.stamp, recorded: false });
        if suspension.is_met() {
            let how = (HowOver::Operator, suspension.delay);
            let event = waits::resume(view, execution, (suspension, paused), how, at)?;
            return Ok((event, ActOutcome::WaitClosed { resumed: true }));
        }
        execution.changed_at = at.stamp;
        waits::put_back(execution, suspension, paused);
        Ok((What::WaitClosed { wait }, ActOutcome::WaitClosed { resumed: false }))
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use super::*;
    use crate::rules::table::Row;
    use crate::rules::world::make::{self, id};

    fn close(wait: &str) -> crate::Command {
        make::operate(61, id(1), CloseWait { wait: wait.parse().unwrap() }.into())
    }

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("close wait", |_, _| close("approval"), &[
            ("execution_not_found", "Absent"),
            ("→ ReadyResume", "Suspended SuspendedOver"),
            ("execution_purged", "Stub"),
            ("execution_not_suspended", "*"),
        ]),
        Row::new("close wait (another)", |_, _| close("approval#2"), &[
            ("execution_not_found", "Absent"),
            ("waitpoint_closed", "Suspended SuspendedOver"),
            ("execution_purged", "Stub"),
            ("execution_not_suspended", "*"),
        ]),
    ];
}
