//! Completing an execution with its result.

use super::{Ending, LeaseEnd};
use crate::record::{AttemptEnd, Finished, Outcome};
use crate::rules::fence::Earlier;
use crate::rules::{finish, lease, payload};
use crate::{Payload, PayloadSlot, Reported, Stop, View, What};

/// Completes an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complete {
    /// What the handler returned.
    pub result: Payload,
}

impl LeaseEnd for Complete {
    fn answered(&self, earlier: &Earlier) -> Option<Reported> {
        matches!(earlier, Earlier::Ended(AttemptEnd::Succeeded)).then_some(Reported::ENDED)
    }

    fn end(&self, view: &mut View, ending: Ending<'_>) -> Result<(What, Reported), Stop> {
        let Ending { execution, active, command, at } = ending;
        payload::check_result(&self.result)?;
        execution.result = Some(payload::store(view, execution.id, PayloadSlot::Result, self.result.clone())?);
        execution.reclaims_in_a_row = 0;
        lease::end(execution, &active, AttemptEnd::Succeeded, Some(command), at);
        let event = What::Completed { attempt: active.attempt.number };
        let event = finish::finish(view, execution, Finished::new(Outcome::Success, at.stamp), event)?;
        Ok((event, Reported::ENDED))
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use crate::rules::table::Row;
    use crate::rules::world::make;

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::fenced("complete", |_, fence| make::complete(60, fence), &[
            ("→ Completed", "ActiveMine ActiveResumed ActiveAsked ActiveLapsed ActiveStopOver"),
        ]),
        Row::repeated("complete (repeat)", |_, fence| make::complete(40, fence), &[
            ("=", "ReadyReplay Completed Stub"),
            ("→ Completed", "ActiveMine ActiveResumed ActiveAsked ActiveLapsed ActiveStopOver"),
        ]),
    ];
}
