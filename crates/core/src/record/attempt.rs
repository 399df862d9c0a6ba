//! One concrete run of an execution, while it runs and after it ended.

use super::{Format, Stored, Woke, formats, is_default};
use crate::rules::times::Moment;
use crate::{Build, CommandId, Failure, Json, LeaseId, Millis, Reason, Span, WorkerName};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

words! {
    /// Why an attempt was started.
    AttemptKind {
        /// First attempt.
        Initial = "initial",
        /// The attempt before failed, and the policy allows a retry.
        Retry = "retry",
        /// The attempt before lost its lease.
        Reclaim = "reclaim",
        /// An operator replayed the ended execution.
        Replay = "replay",
    }
}

/// The attempt that is running now.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Counts from 1 without gaps.
    pub number: u32,
    /// Why it was made.
    pub kind: AttemptKind,
    /// When it was first claimed.
    pub started_at: Millis,
    /// The build of the worker that runs it, or ran it last.
    pub build: Option<Build>,
    /// Whether it was taken up again after a pause.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resumed: bool,
    /// Since when it runs without a pause, by the clock; absent when that is when it was first claimed.
    pub since: Option<Millis>,
    /// How long it ran before its last pause.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ran: Span,
    /// The calls that paused it, oldest first, each with its answer: a repeat changes nothing.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub pauses: VecDeque<(CommandId, Pause)>,
    /// Why it goes on after its last suspension.
    pub woke: Option<Box<Woke>>,
}

/// What a call that paused an attempt was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pause {
    /// Its worker goes on later.
    Delayed {
        /// When.
        until: Millis,
    },
    /// Its worker gave it back.
    Returned,
    /// It waits for signals, an operator or a time.
    Suspended,
}

/// An attempt that nobody runs now and that goes on with the next lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paused {
    /// The attempt.
    pub attempt: Attempt,
    /// The lease it ran under last.
    pub lease: LeaseId,
    /// Who ran it last.
    pub worker: WorkerName,
}

impl Attempt {
    /// A fresh attempt that starts now.
    pub(crate) fn start(number: u32, kind: AttemptKind, at: Moment) -> Self {
        let since = (at.now != at.stamp).then_some(at.now);
        let (resumed, ran, pauses) = (false, Span(0), VecDeque::new());
        Self { number, kind, started_at: at.stamp, build: None, resumed, since, ran, pauses, woke: None }
    }

    /// Since when it runs without a pause, by the clock.
    #[must_use]
    pub fn running_since(&self) -> Millis {
        self.since.unwrap_or(self.started_at)
    }

    /// How long it has run, without its pauses.
    pub(crate) fn run_time(&self, now: Millis) -> Span {
        self.ran + (now - self.running_since())
    }

    /// When a run of at most this long is over; paused time does not count.
    #[must_use]
    pub fn times_out_at(&self, timeout: Span) -> Millis {
        self.running_since() + Span(timeout.0.saturating_sub(self.ran.0))
    }

    /// Stops the run; it goes on with another lease.
    pub(crate) fn stop(&mut self, now: Millis) {
        self.ran = self.run_time(now);
    }

    /// Stops the run by a call, which is remembered.
    pub(crate) fn pause(&mut self, by: CommandId, pause: Pause, now: Millis) {
        self.stop(now);
        while self.pauses.len() >= crate::limits::OPERATOR_COMMANDS_KEPT {
            self.pauses.pop_front();
        }
        self.pauses.push_back((by, pause));
    }
}

/// How an attempt ended.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AttemptEnd {
    /// The handler succeeded.
    Succeeded,
    /// The handler failed, or the attempt timed out; the execution is retried at `retry_at`, is held, or has ended.
    Failed {
        /// Reason of the failure.
        failure: Failure,
        /// Time of the retry; absent when the execution is held or has ended.
        retry_at: Option<Millis>,
        /// Whether no retry was left and the execution is held for an operator.
        #[serde(default, skip_serializing_if = "is_default")]
        held: bool,
    },
    /// The lease expired.
    Interrupted,
    /// An operator revoked the lease.
    Revoked {
        /// Reason, recorded in the history.
        reason: Reason,
    },
    /// The lease was returned: no worker received it, or the worker stopped.
    Returned,
    /// The execution was cancelled.
    Cancelled,
    /// The execution's deadline passed.
    Expired,
}

impl AttemptEnd {
    /// The stable word for it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed { .. } => "failed",
            Self::Interrupted => "interrupted",
            Self::Revoked { .. } => "revoked",
            Self::Returned => "returned",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }
}

/// An attempt that has ended; it never changes again.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedAttempt {
    /// The format of this record when it is stored on its own.
    #[serde(rename = "v", skip_serializing)]
    pub format: Format,
    /// Counts from 1 without gaps.
    pub number: u32,
    /// Why it was made.
    pub kind: AttemptKind,
    /// When it was first claimed.
    pub started_at: Millis,
    /// How long it ran, without its pauses.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ran: Span,
    /// When it ended.
    pub ended_at: Millis,
    /// The lease it ran under.
    pub lease: LeaseId,
    /// Who ran it.
    pub worker: WorkerName,
    /// The build of that worker.
    pub build: Option<Build>,
    /// How it ended.
    pub end: AttemptEnd,
    /// The details of its failure. They stand beside the end, since JSON cannot be kept as it is inside of it.
    pub details: Option<Json>,
    /// The call that ended it, so that a repeat gets the same answer; absent when time ended it.
    pub ended_by: Option<CommandId>,
    /// The calls that paused it, oldest first, each with its answer.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub pauses: VecDeque<(CommandId, Pause)>,
}

impl EndedAttempt {
    /// Why it failed, with its details.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        match &self.end {
            AttemptEnd::Failed { failure, .. } => Some(Failure { details: self.details.clone(), ..failure.clone() }),
            _ => None,
        }
    }
}

impl Stored for EndedAttempt {
    fn bytes(&self) -> usize {
        self.usual_bytes() + self.details.as_ref().map_or(0, |json| json.as_str().len()) + 128 * self.pauses.len()
    }

    fn usual_bytes(&self) -> usize {
        512
    }
}

formats!(struct EndedAttempt {
    format, number, kind, started_at, ran, ended_at, lease, worker, build, end, details, ended_by, pauses,
});
formats!(struct Attempt { number, kind, started_at, build, resumed, since, ran, pauses, woke = 2 });
formats!(struct Paused { attempt, lease, worker });
formats!(
    enum AttemptKind {
        Initial,
        Retry,
        Reclaim,
        Replay,
    }
);
formats!(enum Pause { Delayed { until }, Returned, Suspended = 2 });
formats!(enum AttemptEnd {
    Succeeded, Failed { failure, retry_at, held = 2 }, Interrupted, Revoked { reason }, Returned, Cancelled, Expired,
});
