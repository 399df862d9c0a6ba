//! Revoking the lease of a running execution.

use super::{ActOutcome, OperatorAct};
use crate::record::{AttemptEnd, Execution, State};
use crate::rules::lost;
use crate::text::or_default;
use crate::{LeaseId, Millis, Reason, Rejection, Stop, View, What};
use serde::{Deserialize, Serialize};

/// Revokes the lease of a running execution.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = RevokeRequest))]
#[serde(deny_unknown_fields, default)]
pub struct Revoke {
    /// Id of the lease to revoke; the current lease when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseId>,
    /// Reason, recorded in the history.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Reason::is_empty")]
    pub reason: Reason,
}

impl OperatorAct for Revoke {
    fn act(&self, view: &mut View, execution: &mut Execution, now: Millis) -> Result<(What, ActOutcome), Stop> {
        let State::Active(active) = execution.state.clone() else {
            let state = execution.public_state();
            return Err(Rejection::NotActive { execution: execution.id, state }.into());
        };
        if self.lease.is_some_and(|lease| lease != active.lease.id) {
            return Err(Rejection::StaleLease { current: active.lease.epoch, given: 0 }.into());
        }
        let end = AttemptEnd::Revoked { reason: self.reason.clone() };
        let (attempt, at) = (active.attempt.number, execution.moment(now));
        let event = |again_at, held| What::LeaseRevoked { attempt, reason: self.reason.clone(), again_at, held };
        let event = lost::interrupt(view, execution, &active, (end, event), at)?;
        Ok((event, ActOutcome::Revoked { lease: active.lease.id, epoch: active.lease.epoch }))
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
        Row::new("revoke", |_, _| make::operate(61, id(1), make::revoke()), &[
            ("execution_not_found", "Absent"),
            ("→ ReadyReclaim", "ActiveMine ActiveResumed ActiveOther ActiveOnward ActiveLapsed ActiveTimedOut"),
            ("→ Cancelled", "ActiveAsked ActiveStopOver"),
            ("→ ReadyTooLate", "ActiveTooLate"),
            ("execution_purged", "Stub"),
            ("execution_not_active", "*"),
        ]),
        Row::new("revoke (other lease)", |_, _| make::operate(61, id(1), Revoke { lease: Some(LeaseId(7)), reason: "stuck".into() }.into()), &[
            ("execution_not_found", "Absent"),
            ("stale_lease", "ActiveMine ActiveResumed ActiveAsked ActiveOther ActiveOnward ActiveLapsed ActiveTimedOut ActiveTooLate ActiveStopOver"),
            ("execution_purged", "Stub"),
            ("execution_not_active", "*"),
        ]),
    ];
}
