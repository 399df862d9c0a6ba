//! Cancelling an execution that its own worker finds unwanted.

use super::{Ending, LeaseEnd};
use crate::record::{AttemptEnd, Cancellation, Canceller};
use crate::rules::fence::Earlier;
use crate::rules::{finish, lease};
use crate::{Reason, Reported, Stop, View, What};

/// Cancels an execution that its worker finds unwanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cancel {
    /// Why.
    pub reason: Reason,
}

impl LeaseEnd for Cancel {
    fn answered(&self, earlier: &Earlier) -> Option<Reported> {
        matches!(earlier, Earlier::Ended(AttemptEnd::Cancelled)).then_some(Reported::ENDED)
    }

    fn end(&self, view: &mut View, ending: Ending<'_>) -> Result<(What, Reported), Stop> {
        let Ending { execution, active, command, at } = ending;
        lease::end(execution, &active, AttemptEnd::Cancelled, Some(command), at);
        let by = Cancellation { by: Canceller::Owner, reason: self.reason.clone() };
        let event = finish::cancelled(view, execution, by, (Some(active.attempt.number), false), at.stamp)?;
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
        Row::fenced("cancel", |_, fence| make::cancel(60, fence), &[
            ("→ Cancelled", "ActiveMine ActiveResumed ActiveAsked ActiveLapsed ActiveStopOver"),
        ]),
        Row::repeated("cancel (repeat)", |_, fence| make::cancel(40, fence), &[
            ("→ Cancelled", "ActiveMine ActiveResumed ActiveAsked ActiveLapsed ActiveStopOver"),
            ("=", "Cancelled"),
        ]),
    ];
}
