//! The description of an execution that clients get.

use onward_core::record::{Cancellation, Execution, ExpiredBy, Progress, PublicState, Readiness, State, StopRequest};
use onward_core::{
    Class, ExecutionId, Failure, IdempotencyKey, Kind, Lane, Millis, Namespace, Policy, TagKey, TagValue, UniqueKey,
    WorkerName,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// An execution. Times are those of the store's clock.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Execution))]
#[non_exhaustive]
pub struct Description {
    /// Id.
    pub id: ExecutionId,
    /// Namespace.
    pub namespace: Namespace,
    /// Lane in which it queues.
    pub lane: Lane,
    /// Kind of work, which selects the handler.
    pub kind: Kind,
    /// Current state.
    pub state: PublicState,
    /// Priority; higher runs first.
    pub priority: u16,
    /// Tags.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<TagKey, TagValue>,
    /// Capabilities that a worker must have to claim it.
    #[serde(default, skip_serializing_if = "Class::is_empty")]
    pub requires: Class,
    /// Policy: that of the submit, completed with the defaults of the lane.
    #[serde(default, skip_serializing_if = "Policy::is_default")]
    pub policy: Policy,
    /// Idempotency key of the submit.
    pub idempotency_key: Option<IdempotencyKey>,
    /// Unique key, which no other execution can have until this one ends.
    pub unique_key: Option<UniqueKey>,
    /// Time at which it expires if it has not ended.
    pub expires_at: Option<Millis>,
    /// Number of replays.
    pub replays: u32,
    /// Progress of the newest attempt, as its worker reported it.
    pub progress: Option<Progress>,
    /// Note of an operator.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub note: Option<Arc<str>>,
    /// Set once the running attempt was asked to stop.
    pub stop: Option<StopRequest>,
    /// Who cancelled it and the reason, if it was cancelled.
    pub cancelled: Option<Cancellation>,
    /// Number of attempts.
    pub attempts: u32,
    /// Number of retries after failures.
    pub retries: u32,
    /// Number of attempts after lost leases.
    pub reclaims: u32,
    /// Time at which it was submitted.
    pub created_at: Millis,
    /// Time of the first claim.
    pub started_at: Option<Millis>,
    /// Time of the last change.
    pub changed_at: Millis,
    /// Time of its end.
    pub finished_at: Option<Millis>,
    /// Time at which it becomes ready, if it is delayed.
    pub ready_at: Option<Millis>,
    /// Worker that runs it, or ran it last.
    pub worker: Option<WorkerName>,
    /// Time at which the lease expires unless it is renewed.
    pub lease_expires_at: Option<Millis>,
    /// Reason why it, or its last attempt, failed.
    pub failure: Option<Failure>,
    /// Which time was over, if it expired.
    pub expired_by: Option<ExpiredBy>,
}

impl Description {
    /// What users see of a record among many: without the details of a failure.
    pub(crate) fn in_short(execution: &Execution) -> Self {
        let mut described = Self::of(execution);
        if let Some(failure) = &mut described.failure {
            failure.details = None;
        }
        described
    }

    /// What users see of a record.
    #[must_use]
    pub fn of(execution: &Execution) -> Self {
        let last = execution.last.as_ref();
        let mut described = Self {
            id: execution.id,
            namespace: execution.namespace.clone(),
            lane: execution.lane.clone(),
            kind: execution.kind.clone(),
            state: execution.public_state(),
            priority: execution.priority,
            tags: execution.tags.clone(),
            requires: execution.requires.clone(),
            policy: execution.policy.clone(),
            idempotency_key: execution.idempotency_key.clone(),
            unique_key: execution.unique_key.clone(),
            expires_at: execution.deadline,
            replays: execution.replays,
            progress: execution.progress.clone(),
            note: execution.note.clone(),
            stop: None,
            cancelled: None,
            attempts: execution.attempts,
            retries: execution.retries,
            reclaims: execution.reclaims,
            created_at: execution.created_at,
            started_at: execution.started_at,
            changed_at: execution.changed_at,
            finished_at: None,
            ready_at: None,
            worker: last.map(|attempt| attempt.worker.clone()),
            lease_expires_at: None,
            failure: execution.failure(),
            expired_by: None,
        };
        match &execution.state {
            State::Waiting(waiting) => {
                if let Readiness::Delayed { until, .. } = waiting.readiness {
                    described.ready_at = Some(until);
                }
            }
            State::Active(active) => {
                described.worker = Some(active.lease.worker.clone());
                described.lease_expires_at = Some(active.lease.expires_at);
                described.stop = active.stop.clone();
            }
            State::Finished(finished) => {
                described.finished_at = Some(finished.at);
                described.expired_by = finished.expired_by;
                described.cancelled = finished.cancelled.clone();
            }
        }
        described
    }
}
