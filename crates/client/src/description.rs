//! An execution as its users see it.

use onward_core::record::{AttemptEnd, Cancellation, Execution, Progress, PublicState, Readiness, State, StopRequest};
use onward_core::{
    Class, ExecutionId, Failure, IdempotencyKey, Kind, Lane, Millis, Namespace, Policy, TagKey, TagValue, UniqueKey,
    WorkerName,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What an execution is and where it stands. Times are those of the store's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Execution))]
#[non_exhaustive]
pub struct Description {
    /// Its stable name.
    pub id: ExecutionId,
    /// Whose it is.
    pub namespace: Namespace,
    /// Where it queues.
    pub lane: Lane,
    /// Which handler runs it.
    pub kind: Kind,
    /// Where it stands.
    pub state: PublicState,
    /// Higher runs first.
    pub priority: u16,
    /// Labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<TagKey, TagValue>,
    /// The capabilities it requires.
    #[serde(default, skip_serializing_if = "Class::is_empty")]
    pub requires: Class,
    /// What its submitter and its lane decided beforehand.
    #[serde(default, skip_serializing_if = "Policy::is_default")]
    pub policy: Policy,
    /// The key it was submitted under.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<IdempotencyKey>,
    /// The key that stands for it until it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique_key: Option<UniqueKey>,
    /// When it expires, wherever it stands then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Millis>,
    /// How often it was run again after it had ended.
    pub replays: u32,
    /// How far its newest attempt says it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// A note that an operator wrote on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub note: Option<Arc<str>>,
    /// A running attempt was asked to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopRequest>,
    /// Who cancelled it and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<Cancellation>,
    /// How many attempts were made.
    pub attempts: u32,
    /// How many failures were followed by another attempt.
    pub retries: u32,
    /// How many lost workers were followed by another attempt.
    pub reclaims: u32,
    /// When it was submitted.
    pub created_at: Millis,
    /// When it was first claimed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Millis>,
    /// When it last changed.
    pub changed_at: Millis,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Millis>,
    /// When it becomes ready, while it is delayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_at: Option<Millis>,
    /// Who runs it, or ran it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<WorkerName>,
    /// When the worker's lease ends unless it is renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_expires_at: Option<Millis>,
    /// Why it failed, or why its last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}

impl Description {
    /// What users see of a record.
    #[must_use]
    pub fn of(execution: &Execution) -> Self {
        let last = execution.last.as_ref();
        let last_failure = || match &last?.end {
            AttemptEnd::Failed { failure, .. } => Some(failure.clone()),
            _ => None,
        };
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
            failure: last_failure(),
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
                described.failure = finished.failure.clone();
                described.cancelled = finished.cancelled.clone();
            }
        }
        described
    }
}
