//! Resuming an execution that is held or suspended, without what it waits for.

use super::{ActOutcome, OperatorAct};
use crate::record::{Execution, HowOver};
use crate::rules::{ready, waits};
use crate::{Millis, Rejection, Span, Stop, View, What, limits};
use serde::{Deserialize, Serialize};

/// Resumes an execution: first one that is held, then one that is suspended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ResumeRequest))]
#[serde(deny_unknown_fields, default)]
pub struct Resume {
    /// Delay before a suspended execution goes on; that of the suspension when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Span>,
}

impl OperatorAct for Resume {
    fn act(&self, view: &mut View, execution: &mut Execution, now: Millis) -> Result<(What, ActOutcome), Stop> {
        if self.delay.is_some_and(|delay| delay > limits::FUTURE_MAX) {
            let why = format!("must be at most {}", limits::FUTURE_MAX);
            return Err(Rejection::invalid("delay", why).into());
        }
        let at = execution.moment(now);
        if execution.held.is_some() && !execution.is_finished() {
            if self.delay.is_some() {
                return Err(Rejection::invalid("delay", "is for a suspended execution; this one is held").into());
            }
            execution.held = None;
            execution.changed_at = at.stamp;
            // Its queue may have been forgotten meanwhile, since held work is in none.
            let until = ready::offer_again(view, execution, now)?;
            let event = What::Resumed { attempt: None, resumed_by: HowOver::Operator, delayed_until: until };
            return Ok((event, ActOutcome::Resumed { until }));
        }
        let Some((suspension, paused)) = waits::suspended(execution) else {
            let state = execution.public_state();
            return Err(Rejection::NotSuspended { execution: execution.id, state }.into());
        };
        let delay = self.delay.or(suspension.delay);
        let event = waits::resume(view, execution, (suspension, paused), (HowOver::Operator, delay), at)?;
        let until = if let What::Resumed { delayed_until, .. } = &event { *delayed_until } else { None };
        Ok((event, ActOutcome::Resumed { until }))
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use super::*;
    use crate::rules::table::Row;
    use crate::rules::world::make::{self, id};

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("resume", |_, _| make::operate(61, id(1), Resume::default().into()), &[
            ("execution_not_found", "Absent"),
            ("→ ReadyResume", "Suspended SuspendedOver"),
            ("→ ReadyFirst", "Held"),
            ("→ ReadyRetry", "HeldExhausted"),
            ("execution_purged", "Stub"),
            ("execution_not_suspended", "*"),
        ]),
        Row::new("resume (later)", |_, _| make::operate(61, id(1), Resume { delay: Some(Span::seconds(5)) }.into()), &[
            ("execution_not_found", "Absent"),
            ("→ DelayedWorker", "Suspended SuspendedOver"),
            ("invalid_argument", "Held HeldExhausted"),
            ("execution_purged", "Stub"),
            ("execution_not_suspended", "*"),
        ]),
    ];
}
