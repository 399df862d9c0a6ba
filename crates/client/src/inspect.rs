//! Reading the attempts and the history of an execution, and the explanation of its state.

use crate::call::Ask;
use crate::{Client, Result};
use onward_core::record::{Active, AttemptEnd, AttemptKind, EndedAttempt, Execution, State, Transition};
use onward_core::{Build, ExecutionId, Explanation, Failure, Json, Millis, Span, WorkerName};
use serde::{Deserialize, Serialize};

/// One attempt of an execution.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Attempt))]
#[non_exhaustive]
pub struct AttemptDescription {
    /// Number of the attempt, from 1 without gaps.
    pub number: u32,
    /// Why the attempt was started.
    pub kind: AttemptKind,
    /// Worker that runs it, or ran it last.
    pub worker: WorkerName,
    /// Build of that worker, if it named one.
    pub build: Option<Build>,
    /// Time of its first claim.
    pub started_at: Millis,
    /// Time of its end; absent while it runs or is paused.
    pub ended_at: Option<Millis>,
    /// Running time until its last pause or its end, without pauses.
    pub ran: Span,
    /// How it ended; absent while it runs or is paused.
    pub end: Option<AttemptEnd>,
    /// Details of its failure, any JSON.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub details: Option<Json>,
}

impl AttemptDescription {
    /// The attempts of an execution, oldest first: those that have ended, and the one that runs now.
    pub(crate) fn all(execution: &Execution, ended: Vec<EndedAttempt>) -> Vec<Self> {
        let mut attempts: Vec<_> = ended
            .into_iter()
            .map(|attempt| Self {
                number: attempt.number,
                kind: attempt.kind,
                worker: attempt.worker,
                build: attempt.build,
                started_at: attempt.started_at,
                ended_at: Some(attempt.ended_at),
                ran: attempt.ran,
                end: Some(attempt.end),
                details: attempt.details,
            })
            .collect();
        let begun = match &execution.state {
            State::Active(Active { lease, attempt, .. }) => Some((attempt, &lease.worker)),
            State::Waiting(waiting) => waiting.next.paused().map(|paused| (&paused.attempt, &paused.worker)),
            State::Finished(_) => None,
        };
        attempts.extend(begun.map(|(attempt, worker)| Self {
            number: attempt.number,
            kind: attempt.kind,
            worker: worker.clone(),
            build: attempt.build.clone(),
            started_at: attempt.started_at,
            ended_at: None,
            ran: attempt.ran,
            end: None,
            details: None,
        }));
        attempts
    }

    /// Why it failed.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        match &self.end {
            Some(AttemptEnd::Failed { failure, .. }) => {
                Some(Failure { details: self.details.clone(), ..failure.clone() })
            }
            _ => None,
        }
    }
}

impl Client {
    /// The attempts of an execution, oldest first, with the one that runs now.
    ///
    /// # Errors
    /// A refusal when there is no such execution, or a failure of the store.
    pub async fn attempts(&self, id: ExecutionId) -> Result<Vec<AttemptDescription>> {
        self.ask(Ask::Attempts(id)).await
    }

    /// The history of an execution, oldest first.
    ///
    /// # Errors
    /// A refusal when there is no such execution, or a failure of the store.
    pub async fn history(&self, id: ExecutionId) -> Result<Vec<Transition>> {
        self.ask(Ask::History(id)).await
    }

    /// Explains the state of an execution: the reason for it, and what would change it.
    ///
    /// # Errors
    /// A refusal when there is no such execution, or a failure of the store.
    pub async fn why(&self, id: ExecutionId) -> Result<Explanation> {
        let why: Box<Explanation> = self.ask(Ask::Why(id)).await?;
        Ok(*why)
    }
}
