//! Explains the state of an execution: the reason for it, and what would change it.

use crate::record::{
    AttemptKind, Cancellation, Execution, ExpiredBy, Held, LaneSettings, LaneState, Outcome, PublicState, Readiness,
    State, StopRequest, Suspension, Timeout, WaitRef, WhyDelayed, WhyHeld, is_default,
};
use crate::{Class, Failure, Kind, Lane, Millis, Reason, WorkerName};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Explanation of the state of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Explanation {
    /// Current state.
    pub state: PublicState,
    /// Reason for the state.
    pub reason: Because,
    /// What would change the state, the most likely first.
    pub unblocked_by: Vec<Release>,
}

/// Reason for the state of an execution.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Because {
    /// It is ready, and no worker has claimed it yet.
    WaitingForWorker {
        /// Time since which it is ready.
        since: Millis,
        /// Lane in which it queues.
        lane: Lane,
        /// Capabilities that the worker must have.
        requires: Class,
        /// Kind of the next attempt.
        next: AttemptKind,
        /// Kind of the work.
        kind: Kind,
        /// Whether a worker asks for such work.
        served: Served,
    },
    /// It is ready, but its lane is paused.
    LanePaused {
        /// The lane.
        lane: Lane,
    },
    /// It is delayed.
    Delayed {
        /// Time at which it becomes ready.
        at: Millis,
        /// Why it is delayed.
        chosen_by: WhyDelayed,
        /// Kind of the next attempt.
        next: AttemptKind,
    },
    /// Its delay is over, and the engine is about to make it ready.
    Due {
        /// Time at which the delay ended.
        at: Millis,
    },
    /// It is suspended.
    Suspended {
        /// Time since which it is.
        since: Millis,
        /// What it waits for, as its worker put it.
        #[serde(default, skip_serializing_if = "Reason::is_empty")]
        reason: Reason,
        /// What is missing.
        missing: String,
        /// Time at which the suspension times out, and what happens then.
        timeout: Option<Timeout>,
        /// Whether it timed out and only an operator can resume it.
        #[serde(default, skip_serializing_if = "is_default")]
        escalated: bool,
    },
    /// An operator holds it, or it is held for one.
    Held {
        /// Time since which it is.
        since: Millis,
        /// Why it is held.
        why: WhyHeld,
        /// Reason, for people.
        #[serde(default, skip_serializing_if = "Reason::is_empty")]
        reason: Reason,
    },
    /// A worker runs it.
    Running {
        /// Name of the worker.
        worker: WorkerName,
        /// Number of the attempt, from 1.
        attempt: u32,
        /// Time at which the attempt started or resumed.
        since: Millis,
        /// Set once the attempt was asked to stop.
        stop: Option<StopRequest>,
    },
    /// It has ended.
    Ended {
        /// How it ended.
        outcome: Outcome,
        /// Time of its end.
        at: Millis,
        /// Reason, if it failed or expired.
        failure: Option<Failure>,
        /// Which time was over, if it expired.
        expired_by: Option<ExpiredBy>,
        /// Who cancelled it and the reason, if it was cancelled.
        cancelled: Option<Cancellation>,
    },
}

/// Whether a worker asks for work of a kind in a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Served {
    /// A live worker does.
    Yes,
    /// No worker of the process that answers does; workers of other processes are not known.
    NotHere,
    /// No live worker does.
    No,
}

/// Something that would change the state of an execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Release {
    /// A worker with these capabilities claims it.
    Claim {
        /// The lane.
        lane: Lane,
        /// Capabilities that the worker must have.
        requires: Class,
    },
    /// An operator opens the lane.
    LaneOpened {
        /// The lane.
        lane: Lane,
    },
    /// Its delay ends.
    TimeComes {
        /// Time at which it becomes ready.
        at: Millis,
    },
    /// An operator reschedules it to run now.
    RunNow,
    /// A signal for one of these waits.
    Signalled {
        /// The waits.
        waits: Vec<WaitRef>,
    },
    /// The time of a wait or of the suspension is over.
    SuspensionTimesOut {
        /// When the first is.
        at: Millis,
    },
    /// An operator resumes it.
    OperatorResumes,
    /// Its worker reports.
    WorkerReports {
        /// Name of the worker.
        worker: WorkerName,
    },
    /// The lease expires.
    LeaseRunsOut {
        /// Time at which it expires unless it is renewed.
        at: Millis,
    },
    /// The attempt times out.
    AttemptTimesOut {
        /// Time of the timeout.
        at: Millis,
    },
    /// It is cancelled because the attempt did not stop in time.
    Cancelled {
        /// End of the grace period.
        at: Millis,
    },
    /// Its deadline passes.
    DeadlinePasses {
        /// The deadline.
        at: Millis,
    },
    /// An operator replays it.
    Replay,
    /// Its retention ends, and it is removed.
    RetentionEnds {
        /// Time of its removal.
        at: Millis,
    },
}

/// Explains an execution from its record, its lane's settings in its partition, and which workers ask for such work.
#[must_use]
pub fn why(execution: &Execution, lane: &LaneSettings, served: Served, now: Millis) -> Explanation {
    let (because, mut until) = match &execution.state {
        State::Waiting(waiting) => match waiting.readiness {
            _ if execution.held.is_some() => held(execution),
            Readiness::Suspended(ref suspension) => suspended(suspension),
            Readiness::Ready { since } => ready(execution, lane, served, (since, waiting.next.kind())),
            Readiness::Delayed { until, .. } if until <= now => (Because::Due { at: until }, Vec::new()),
            Readiness::Delayed { until, why } => (
                Because::Delayed { at: until, chosen_by: why, next: waiting.next.kind() },
                vec![Release::TimeComes { at: until }, Release::RunNow],
            ),
        },
        State::Active(active) => {
            let worker = active.lease.worker.clone();
            let mut until = vec![
                Release::WorkerReports { worker: worker.clone() },
                Release::LeaseRunsOut { at: active.lease.expires_at },
            ];
            until.extend(execution.times_out_at(active).map(|at| Release::AttemptTimesOut { at }));
            until.extend(active.stop.as_ref().map(|stop| Release::Cancelled { at: stop.until }));
            let (attempt, since) = (active.attempt.number, active.attempt.running_since());
            (Because::Running { worker, attempt, since, stop: active.stop.clone() }, until)
        }
        State::Finished(finished) => (
            Because::Ended {
                outcome: finished.outcome,
                at: finished.at,
                failure: finished.failure.clone(),
                expired_by: finished.expired_by,
                cancelled: finished.cancelled.clone(),
            },
            vec![Release::Replay, Release::RetentionEnds { at: finished.at + execution.policy.retention() }],
        ),
    };
    if !execution.is_finished() {
        until.extend(execution.deadline.map(|at| Release::DeadlinePasses { at }));
    }
    Explanation { state: execution.public_state(), reason: because, unblocked_by: until }
}

fn held(execution: &Execution) -> (Because, Vec<Release>) {
    let held = execution.held.clone();
    let Held { why, at, reason } =
        held.unwrap_or_else(|| Held { why: WhyHeld::Operator, at: execution.changed_at, reason: Reason::default() });
    let mut until = vec![Release::OperatorResumes];
    until.extend((why == WhyHeld::Exhausted).then_some(Release::Replay));
    (Because::Held { since: at, why, reason }, until)
}

fn suspended(suspension: &Suspension) -> (Because, Vec<Release>) {
    let missing = if suspension.escalated {
        "an operator who resumes it".to_owned()
    } else {
        let missing = suspension.with_reached(|condition, reached| condition.missing(reached));
        missing.map_or_else(String::new, |missing| missing.to_string())
    };
    let open = suspension.condition.waits().into_iter().filter(|wait| !suspension.over.contains_key(*wait));
    let waits: Vec<WaitRef> = open.cloned().collect();
    let mut until = Vec::new();
    if !waits.is_empty() && !suspension.escalated {
        until.push(Release::Signalled { waits });
    }
    until.extend(suspension.due().map(|at| Release::SuspensionTimesOut { at }));
    until.push(Release::OperatorResumes);
    let Suspension { since, reason, timeout, escalated, .. } = suspension.clone();
    (Because::Suspended { since, reason, missing, timeout, escalated }, until)
}

fn ready(
    execution: &Execution,
    lane: &LaneSettings,
    served: Served,
    (since, next): (Millis, AttemptKind),
) -> (Because, Vec<Release>) {
    let (name, requires) = (execution.lane.clone(), execution.requires.clone());
    if lane.state == LaneState::Paused {
        return (Because::LanePaused { lane: name.clone() }, vec![Release::LaneOpened { lane: name }]);
    }
    let release = Release::Claim { lane: name.clone(), requires: requires.clone() };
    let kind = execution.kind.clone();
    (Because::WaitingForWorker { since, lane: name, requires, next, kind, served }, vec![release])
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitingForWorker { lane, requires, next, kind, served, .. } => {
                write!(f, "it is ready in lane {lane} and no worker has taken it ({} attempt)", next.as_str())?;
                match served {
                    Served::Yes => {}
                    Served::NotHere => write!(f, "; no worker of this process asks for {kind} in this lane")?,
                    Served::No => write!(f, "; no live worker asks for {kind} in this lane")?,
                }
                if requires.is_empty() { Ok(()) } else { write!(f, "; it requires {}", requires.name()) }
            }
            Self::LanePaused { lane } => write!(f, "lane {lane} is paused"),
            Self::Delayed { chosen_by, .. } => f.write_str(match chosen_by {
                WhyDelayed::Submitted => "it was submitted for a later time",
                WhyDelayed::Retry => "its last attempt failed and it pauses before the next",
                WhyDelayed::Reclaim => "it lost several workers in a row and pauses before the next attempt",
                WhyDelayed::Worker => "its worker put it off and goes on later",
                WhyDelayed::Operator => "an operator chose a later time",
                WhyDelayed::Resumed => "its suspension ended and it pauses before it goes on",
            }),
            Self::Suspended { missing, timeout, escalated, reason, .. } => {
                write!(f, "it waits for {missing}")?;
                match timeout {
                    _ if *escalated => f.write_str("; its time is over")?,
                    Some(Timeout { at, then }) => write!(f, ", until {at}, then {}", then.in_words())?,
                    None => {}
                }
                if reason.is_empty() { Ok(()) } else { write!(f, " ({reason})") }
            }
            Self::Held { why, reason, .. } => {
                f.write_str(match why {
                    WhyHeld::Operator => "an operator paused it",
                    WhyHeld::Exhausted => "no retry is left and an operator decides",
                })?;
                if reason.is_empty() { Ok(()) } else { write!(f, " ({reason})") }
            }
            Self::Due { .. } => f.write_str("its time has come and is about to be noticed"),
            Self::Running { worker, attempt, stop: None, .. } => {
                write!(f, "worker {worker} runs attempt {attempt}")
            }
            Self::Running { worker, attempt, .. } => {
                write!(f, "worker {worker} runs attempt {attempt} and was asked to stop")
            }
            Self::Ended { outcome, failure, cancelled, .. } => {
                write!(f, "it has ended: {}", outcome.public().as_str())?;
                if let Some(failure) = failure {
                    write!(f, " ({}: {})", failure.category.as_str(), failure.message)?;
                }
                match cancelled {
                    Some(by) if !by.reason.is_empty() => write!(f, " ({})", by.reason),
                    _ => Ok(()),
                }
            }
        }
    }
}
