//! Giving a lease back: the execution is ready again at once and nothing counts as lost.

use super::{Ending, LeaseEnd};
use crate::record::{AttemptEnd, Next, Pause};
use crate::rules::fence::Earlier;
use crate::rules::{finish, lease, ready};
use crate::{Reported, Stop, View, What};

/// Gives a lease back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unclaim;

impl LeaseEnd for Unclaim {
    fn answered(&self, earlier: &Earlier) -> Option<Reported> {
        let returned = matches!(earlier, Earlier::Ended(AttemptEnd::Returned) | Earlier::Paused(Pause::Returned));
        returned.then_some(Reported::READY)
    }

    fn end(&self, view: &mut View, ending: Ending<'_>) -> Result<(What, Reported), Stop> {
        let Ending { execution, active, command, at } = ending;
        // An attempt that had a pause before goes on after this one too; a fresh one starts over.
        let next = if active.attempt.resumed && active.stop.is_none() {
            lease::pause(execution, &active, command, Pause::Returned, at.now)
        } else {
            lease::end(execution, &active, AttemptEnd::Returned, Some(command), at);
            Next::fresh(active.attempt.kind)
        };
        if let Some(cancelled) = finish::if_asked(view, execution, &active, at.stamp)? {
            return Ok((cancelled, Reported::READY));
        }
        ready::now(view, execution, next, at.now)?;
        Ok((What::Returned { attempt: active.attempt.number }, Reported::READY))
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use crate::rules::table::Row;
    use crate::rules::world::make;

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::fenced("unclaim", |_, fence| make::unclaim(60, fence), &[
            ("→ ReadyReturned", "ActiveMine ActiveLapsed"),
            ("→ ReadyResume", "ActiveResumed"),
            ("→ Cancelled", "ActiveAsked ActiveStopOver"),
        ]),
        Row::repeated("unclaim (repeat)", |_, fence| make::unclaim(40, fence), &[
            ("=", "ReadyReturned"),
            ("→ ReadyReturned", "ActiveMine ActiveLapsed"),
            ("→ ReadyResume", "ActiveResumed"),
            ("→ Cancelled", "ActiveAsked ActiveStopOver"),
        ]),
    ];
}
