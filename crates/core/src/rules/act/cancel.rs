//! Cancelling an execution that has not ended.

use super::{ActOutcome, OperatorAct};
use crate::record::{Active, AttemptEnd, Cancellation, Canceller, Execution, State, StopRequest};
use crate::rules::{finish, lease};
use crate::text::or_default;
use crate::{Millis, Reason, Rejection, Span, Stop, View, What, limits};
use serde::{Deserialize, Serialize};

/// Cancels an execution: at once, or after a running attempt had time to stop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CancelRequest))]
#[serde(deny_unknown_fields, default)]
pub struct Cancel {
    /// Reason, recorded in the history.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Reason::is_empty")]
    pub reason: Reason,
    /// Time for a running attempt to stop, up to a day; the execution is cancelled at once when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace: Option<Span>,
}

impl OperatorAct for Cancel {
    fn act(&self, view: &mut View, execution: &mut Execution, now: Millis) -> Result<(What, ActOutcome), Stop> {
        let cancellation = Cancellation { by: Canceller::Operator, reason: self.reason.clone() };
        let asked = self.grace.map(|grace| asked(cancellation.clone(), grace, now)).transpose()?;
        let at = execution.moment(now);
        match (execution.state.clone(), asked) {
            (State::Finished(finished), _) => {
                let state = finished.outcome.public();
                Err(Rejection::Finished { execution: execution.id, state }.into())
            }
            (State::Active(active), Some(asked)) => Ok(ask(execution, active, asked, at.stamp)),
            _ => {
                let ended = lease::end_any(view, execution, AttemptEnd::Cancelled, at)?;
                Ok((finish::cancelled(view, execution, cancellation, ended, at.stamp)?, ActOutcome::Cancelled))
            }
        }
    }
}

/// A request to stop within the grace period.
fn asked(cancellation: Cancellation, grace: Span, now: Millis) -> Result<StopRequest, Rejection> {
    if grace > limits::STOP_GRACE_MAX {
        return Err(Rejection::invalid("grace", format!("must be at most {}, is {grace}", limits::STOP_GRACE_MAX)));
    }
    Ok(StopRequest { cancellation, until: now + grace, grace })
}

/// Asks a running attempt to stop. A second request can shorten its grace period but not extend it.
fn ask(execution: &mut Execution, active: Active, asked: StopRequest, stamp: Millis) -> (What, ActOutcome) {
    let asked = match &active.stop {
        Some(before) if before.until < asked.until => {
            StopRequest { until: before.until, grace: before.grace, cancellation: asked.cancellation }
        }
        _ => asked,
    };
    let (attempt, until, reason) = (active.attempt.number, asked.until, asked.cancellation.reason.clone());
    execution.changed_at = stamp;
    execution.state = State::Active(Active { stop: Some(asked), ..active });
    (What::StopRequested { attempt, until, reason }, ActOutcome::StopRequested { until })
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
        Row::new("end", |_, _| make::operate(61, id(1), make::end()), &[
            ("execution_not_found", "Absent"),
            ("execution_finished", "Completed Failed Cancelled Expired"),
            ("execution_purged", "Stub"),
            ("→ Cancelled", "*"),
        ]),
        Row::new("ask to stop", |_, _| make::operate(61, id(1), make::ask(Span::seconds(5))), &[
            ("execution_not_found", "Absent"),
            ("→ ActiveAsked", "ActiveMine ActiveResumed ActiveOther ActiveOnward"),
            ("stays", "ActiveAsked ActiveLapsed ActiveTimedOut ActiveTooLate ActiveStopOver"),
            ("execution_finished", "Completed Failed Cancelled Expired"),
            ("execution_purged", "Stub"),
            ("→ Cancelled", "*"),
        ]),
        Row::new("ask (repeat)", |_, _| make::operate(41, id(1), make::ask(Span::seconds(5))), &[
            ("execution_not_found", "Absent"),
            ("invalid_argument", "ReadyReplay DelayedOperator Held Stub"),
            ("→ ActiveAsked", "ActiveMine ActiveResumed ActiveOther ActiveOnward"),
            ("=", "ActiveAsked ActiveStopOver"),
            ("stays", "ActiveLapsed ActiveTimedOut ActiveTooLate"),
            ("execution_finished", "Completed Failed Cancelled Expired"),
            ("→ Cancelled", "*"),
        ]),
        Row::new("end (elsewhere)", |_, _| elsewhere(make::end()), &[
            ("execution_not_found", "*"),
        ]),
    ];
}
