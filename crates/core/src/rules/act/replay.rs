//! Running an execution again that has ended or is held because no retry was left, with all its retries available.

use super::{ActOutcome, OperatorAct};
use crate::record::{Execution, Next, Outcome, State, StoredPayload, WhyHeld};
use crate::rules::{ready, times, unique, waits};
use crate::text::or_default;
use crate::{Key, Millis, PayloadSlot, Reason, Rejection, Span, Stop, View, What, When};
use serde::{Deserialize, Serialize};

/// Runs an ended execution again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReplayRequest))]
#[serde(deny_unknown_fields, default)]
pub struct Replay {
    /// Reason, recorded in the history.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Reason::is_empty")]
    pub reason: Reason,
    /// Time after which the execution expires; its earlier deadline does not apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_after: Option<Span>,
    /// Time at which the execution expires; not together with `expires_after`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::Time>))]
    pub expires_at: Option<Millis>,
}

impl Replay {
    /// Creates the act, optionally with a new deadline.
    #[must_use]
    pub fn new(reason: Reason, deadline: Option<When>) -> Self {
        let (expires_after, expires_at) = When::split_deadline(deadline);
        Self { reason, expires_after, expires_at }
    }

    /// The new deadline, if it has one.
    ///
    /// # Errors
    /// When both fields are set.
    pub fn deadline(&self) -> Result<Option<When>, Rejection> {
        When::of_fields("expires_at", self.expires_after, self.expires_at)
    }
}

impl OperatorAct for Replay {
    fn act(&self, view: &mut View, execution: &mut Execution, now: Millis) -> Result<(What, ActOutcome), Stop> {
        let is_exhausted = execution.held.as_ref().is_some_and(|held| held.why == WhyHeld::Exhausted);
        let succeeded = match &execution.state {
            State::Finished(finished) => finished.outcome == Outcome::Success,
            _ if is_exhausted => false,
            _ => {
                let state = execution.public_state();
                return Err(Rejection::NotFinished { execution: execution.id, state }.into());
            }
        };
        if execution.replays >= execution.policy.max_replays() {
            let replays = execution.replays;
            return Err(Rejection::ReplaysExhausted { execution: execution.id, replays }.into());
        }
        if let Some(key) = execution.unique_key.as_ref().filter(|_| !is_exhausted)
            && let Some(existing) = unique::holder(view, &execution.namespace, key)?
        {
            return Err(Rejection::UniqueKeyTaken { existing }.into());
        }
        unique::hold(view, execution, None, now)?;
        // The result of the first life must not be taken for that of the second.
        if let Some(StoredPayload::Beside { .. }) = execution.result.take() {
            view.delete(Key::Payload(execution.id, PayloadSlot::Result))?;
        }
        if succeeded {
            // What the life before waited for is done: this one waits for itself.
            waits::next_life(execution);
            execution.waits.iter_mut().for_each(|waits| waits.open.clear());
        }
        execution.held = None;
        execution.deadline = times::deadline(view, self.deadline()?, now)?;
        execution.replays += 1;
        (execution.retries, execution.reclaims, execution.reclaims_in_a_row) = (0, 0, 0);
        (execution.progress, execution.place) = (None, None);
        execution.changed_at = execution.stamp(now);
        ready::now(view, execution, Next::Replay, now)?;
        let replays = execution.replays;
        Ok((What::Replayed { replays, reason: self.reason.clone() }, ActOutcome::Replayed { replays }))
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use crate::rules::table::Row;
    use crate::rules::world::make::{self, id};

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("replay", |_, _| make::operate(61, id(1), make::replay()), &[
            ("execution_not_found", "Absent"),
            ("→ ReadyReplay", "HeldExhausted Completed Failed Cancelled Expired"),
            ("execution_purged", "Stub"),
            ("execution_not_finished", "*"),
        ]),
        Row::new("replay (repeat)", |_, _| make::operate(41, id(1), make::replay()), &[
            ("execution_not_found", "Absent"),
            ("=", "ReadyReplay"),
            ("invalid_argument", "DelayedOperator ActiveAsked ActiveStopOver Held Stub"),
            ("→ ReadyReplay", "HeldExhausted Completed Failed Cancelled Expired"),
            ("execution_not_finished", "*"),
        ]),
    ];
}
