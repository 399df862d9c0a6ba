//! Setting the time at which a waiting or delayed execution runs; its next attempt stays the same.

use super::{ActOutcome, OperatorAct};
use crate::record::{Execution, Readiness, State, Waiting, WhyDelayed};
use crate::rules::{ready, times};
use crate::{Millis, Rejection, Span, Stop, View, What, When};
use serde::{Deserialize, Serialize};

/// Sets the time at which a waiting or delayed execution runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RescheduleRequest))]
#[serde(deny_unknown_fields, default)]
pub struct Reschedule {
    /// Delay before it runs; it runs at once when `delay` and `run_at` are absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
    /// Time at which it runs; not together with `delay`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::Time>))]
    pub run_at: Option<Millis>,
}

impl From<When> for Reschedule {
    fn from(when: When) -> Self {
        let (delay, run_at) = when.split();
        Self { delay, run_at }
    }
}

impl OperatorAct for Reschedule {
    fn act(&self, view: &mut View, execution: &mut Execution, now: Millis) -> Result<(What, ActOutcome), Stop> {
        let State::Waiting(Waiting { readiness: Readiness::Ready { .. } | Readiness::Delayed { .. }, next }) =
            &execution.state
        else {
            let state = execution.public_state();
            return Err(Rejection::NotWaiting { execution: execution.id, state }.into());
        };
        let next = next.clone();
        let when = When::of_fields("run_at", self.delay, self.run_at)?.unwrap_or_default();
        let at = times::time(view, "run_at", when, now)?;
        execution.changed_at = execution.stamp(now);
        let until = ready::at(view, execution, at, (WhyDelayed::Operator, next), now)?;
        Ok((What::Rescheduled { until }, ActOutcome::Rescheduled { until }))
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use super::*;
    use crate::Span;
    use crate::rules::table::Row;
    use crate::rules::world::make::{self, id};

    const LATER: When = When::After(Span::seconds(9));

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("reschedule (later)", |_, _| make::operate(61, id(1), Reschedule::from(LATER).into()), &[
            ("execution_not_found", "Absent"),
            ("→ DelayedOperator", "ReadyFirst ReadyRetry ReadyReclaim ReadyReturned ReadyReplay ReadyResume ReadyTooLate DelayedSubmitted DelayedRetry DelayedReclaim DelayedWorker"),
            ("stays", "DelayedOperator Held HeldExhausted"),
            ("execution_purged", "Stub"),
            ("execution_not_waiting", "*"),
        ]),
        Row::new("reschedule (now)", |_, _| make::operate(61, id(1), Reschedule::default().into()), &[
            ("execution_not_found", "Absent"),
            ("stays", "ReadyFirst ReadyRetry ReadyReclaim ReadyReturned ReadyReplay ReadyResume ReadyTooLate Held HeldExhausted"),
            ("→ ReadyFirst", "DelayedSubmitted DelayedOperator"),
            ("→ ReadyRetry", "DelayedRetry"),
            ("→ ReadyReclaim", "DelayedReclaim"),
            ("→ ReadyResume", "DelayedWorker"),
            ("execution_purged", "Stub"),
            ("execution_not_waiting", "*"),
        ]),
        Row::new("reschedule (repeat)", |_, _| make::operate(41, id(1), Reschedule::from(LATER).into()), &[
            ("execution_not_found", "Absent"),
            ("→ DelayedOperator", "ReadyFirst ReadyRetry ReadyReclaim ReadyReturned ReadyResume ReadyTooLate DelayedSubmitted DelayedRetry DelayedReclaim DelayedWorker"),
            ("stays", "HeldExhausted"),
            ("invalid_argument", "ReadyReplay ActiveAsked ActiveStopOver Held Stub"),
            ("=", "DelayedOperator"),
            ("execution_not_waiting", "*"),
        ]),
    ];
}
