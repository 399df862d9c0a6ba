//! Going on with an attempt later: the lease is released, and the same attempt is taken up again when its time comes.

use super::{Ending, LeaseEnd};
use crate::record::{AttemptEnd, Pause, WhyDelayed};
use crate::rules::fence::Earlier;
use crate::rules::{finish, lease, ready, times};
use crate::{Reported, Stop, View, What, When};

/// Goes on with an attempt later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// When the attempt goes on.
    pub when: When,
}

impl LeaseEnd for Delay {
    fn answered(&self, earlier: &Earlier) -> Option<Reported> {
        match earlier {
            Earlier::Paused(Pause::Delayed { until }) => Some(Reported::again(*until)),
            _ => None,
        }
    }

    fn end(&self, view: &mut View, ending: Ending<'_>) -> Result<(What, Reported), Stop> {
        let Ending { execution, active, command, at } = ending;
        let until = times::time(view, "until", self.when, at.now)?.max(at.now);
        let next = lease::pause(execution, &active, command, Pause::Delayed { until }, at.now);
        execution.reclaims_in_a_row = 0;
        ready::at(view, execution, until, (WhyDelayed::Worker, next), at.now)?;
        let mut event = What::Delayed { attempt: active.attempt.number, until };
        if active.stop.is_some() {
            // The pause is remembered with the attempt that ends here, so that a repeat gets its answer.
            lease::end_any(view, execution, AttemptEnd::Cancelled, at)?;
            event = finish::if_asked(view, execution, &active, at.stamp)?.unwrap_or(event);
        }
        Ok((event, Reported::again(until)))
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use super::*;
    use crate::Span;
    use crate::rules::table::Row;
    use crate::rules::world::make;

    const LATER: When = When::After(Span::seconds(5));

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::fenced("delay", |_, fence| make::delay(60, fence, LATER), &[
            ("→ DelayedWorker", "ActiveMine ActiveResumed ActiveLapsed"),
            ("→ Cancelled", "ActiveAsked ActiveStopOver"),
        ]),
        Row::repeated("delay (repeat)", |_, fence| make::delay(40, fence, LATER), &[
            ("=", "ReadyResume DelayedWorker ActiveOnward"),
            ("→ DelayedWorker", "ActiveMine ActiveResumed ActiveLapsed"),
            ("→ Cancelled", "ActiveAsked ActiveStopOver"),
        ]),
    ];
}
