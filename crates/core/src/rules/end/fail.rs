//! Failing an attempt: the policy decides whether another follows, and when.

use super::{Ending, LeaseEnd};
use crate::record::{Active, AttemptEnd, Execution, ExpiredBy, Finished, Next, Outcome, WhyDelayed};
use crate::rules::fence::Earlier;
use crate::rules::times::Moment;
use crate::rules::{finish, lease, ready};
use crate::{CommandId, Failure, Millis, Reported, Stop, View, What};

/// Fails an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fail {
    /// Why.
    pub failure: Failure,
}

impl LeaseEnd for Fail {
    fn answered(&self, earlier: &Earlier) -> Option<Reported> {
        match earlier {
            Earlier::Ended(AttemptEnd::Failed { retry_at, held, .. }) => Some(after(*retry_at, *held)),
            _ => None,
        }
    }

    fn end(&self, view: &mut View, ending: Ending<'_>) -> Result<(What, Reported), Stop> {
        let Ending { execution, active, command, at } = ending;
        let failed = Failed { failure: self.failure.checked()?, outcome: Outcome::Failed, by: Some(command) };
        let (retry_at, event) = failed.end(view, execution, &active, at)?;
        Ok((event, after(retry_at, execution.held.is_some())))
    }
}

fn after(retry_at: Option<Millis>, held: bool) -> Reported {
    retry_at.map_or(if held { Reported::READY } else { Reported::ENDED }, Reported::again)
}

/// An attempt that failed, by its worker's word or because it ran for too long.
pub(crate) struct Failed {
    pub(crate) failure: Failure,
    /// What becomes of the execution when no other attempt follows.
    pub(crate) outcome: Outcome,
    /// The call that says so.
    pub(crate) by: Option<CommandId>,
}

impl Failed {
    /// Ends the attempt; another one follows after a pause, or the execution ends. Answers when, and what happened.
    pub(crate) fn end(
        self,
        view: &mut View,
        execution: &mut Execution,
        active: &Active,
        at: Moment,
    ) -> Result<(Option<Millis>, What), Stop> {
        let Self { failure, outcome, by } = self;
        let (attempt, category) = (active.attempt.number, failure.category.clone());
        let retry = execution.policy.retry();
        let again = active.stop.is_none() && execution.retries < retry.max_retries && retry.covers(&category);
        // Drawn from what the lease is: a repeat draws the same, and a due time needs no chance of its own.
        let seed = active.lease.id.0 as u64 ^ active.lease.epoch;
        let retry_at = again.then(|| at.now + retry.pause(execution.retries, seed));
        execution.reclaims_in_a_row = 0;
        let holds = !again && active.stop.is_none() && execution.policy.pauses_when_exhausted();
        let end = AttemptEnd::Failed { failure: failure.in_short(), retry_at, held: holds };
        lease::end(execution, active, end, by, at);
        if let Some(last) = &mut execution.last {
            last.details.clone_from(&failure.details);
        }
        if let Some(cancelled) = finish::if_asked(view, execution, active, at.stamp)? {
            return Ok((retry_at, cancelled));
        }
        let held = retry_at.is_none() && finish::hold_instead(view, execution, (Next::Retry, &failure.message), at)?;
        let ends = retry_at.is_none() && !held;
        let expired_by = (outcome == Outcome::Expired && ends).then_some(ExpiredBy::AttemptTimeout);
        let event = match by {
            Some(_) => What::AttemptFailed { attempt, category, retry_at, held },
            None => What::TimedOut { attempt, retry_at, expired_by, held },
        };
        if held {
            return Ok((None, event));
        }
        let Some(until) = retry_at else {
            let finished =
                Finished { failure: Some(failure.in_short()), expired_by, ..Finished::new(outcome, at.stamp) };
            return Ok((None, finish::finish(view, execution, finished, event)?));
        };
        execution.retries += 1;
        ready::at(view, execution, until, (WhyDelayed::Retry, Next::Retry), at.now)?;
        Ok((retry_at, event))
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use crate::rules::table::Row;
    use crate::rules::world::make;

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::fenced("fail (retry left)", |_, fence| make::fail(60, fence), &[
            ("→ DelayedRetry", "ActiveMine ActiveResumed ActiveLapsed"),
            ("→ Cancelled", "ActiveAsked ActiveStopOver"),
        ]),
        Row::fenced("fail (none left)", |_, fence| make::fail(60, fence), &[
            ("→ Failed", "ActiveMine ActiveResumed ActiveLapsed"),
            ("→ Cancelled", "ActiveAsked ActiveStopOver"),
        ]),
        Row::repeated("fail (repeat)", |_, fence| make::fail(40, fence), &[
            ("=", "ReadyRetry DelayedRetry HeldExhausted Failed"),
            ("→ Failed", "ActiveMine ActiveResumed ActiveLapsed"),
            ("→ Cancelled", "ActiveAsked ActiveStopOver"),
        ]),
    ];
}
