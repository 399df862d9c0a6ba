//! The states of an execution as a reader of events knows them, and which event may follow in which state.
//!
//! This is a second, smaller statement of the rules, written from their description and sharing no code with them.

use onward_core::record::{Execution, Outcome, PublicState, Readiness, State, Waiting};
use onward_core::{LeaseId, Millis, What, WorkerName};

/// Where an execution stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    Absent,
    Ready,
    Delayed { until: Millis },
    Active(Holding),
    Finished(Outcome),
}

/// Who holds an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) epoch: u64,
    pub(crate) attempt: u32,
    pub(crate) worker: WorkerName,
    /// The lease; an event does not tell it, the record does.
    pub(crate) lease: Option<(LeaseId, Millis)>,
}

impl Stage {
    /// What a record says.
    pub(crate) fn of(execution: &Execution) -> Self {
        match &execution.state {
            State::Waiting(Waiting { readiness: Readiness::Ready { .. }, .. }) => Self::Ready,
            State::Waiting(Waiting { readiness: Readiness::Delayed { until, .. }, .. }) => {
                Self::Delayed { until: *until }
            }
            State::Active(active) => Self::Active(Holding {
                epoch: active.lease.epoch,
                attempt: active.attempt.index,
                worker: active.lease.worker.clone(),
                lease: Some((active.lease.id, active.lease.expires_at)),
            }),
            State::Finished(finished) => Self::Finished(finished.outcome),
        }
    }

    /// Whether two stages are the same as far as events can tell.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Active(one), Self::Active(two)) => {
                (one.epoch, one.attempt, &one.worker) == (two.epoch, two.attempt, &two.worker)
            }
            (one, two) => one == two,
        }
    }

    /// What users call it; `None` when there is no execution.
    pub(crate) fn public(&self) -> Option<PublicState> {
        Some(match self {
            Self::Absent => return None,
            Self::Ready => PublicState::Waiting,
            Self::Delayed { .. } => PublicState::Delayed,
            Self::Active(_) => PublicState::Active,
            Self::Finished(outcome) => outcome.public(),
        })
    }

    /// The stage that an event leads to; `said_at` is the event's time and `now` the store's at its commit.
    pub(crate) fn after(&self, what: &What, said_at: Millis, now: Millis) -> Result<Self, String> {
        let waits = |until: Option<Millis>| match until {
            Some(until) if until > said_at => Self::Delayed { until },
            _ => Self::Ready,
        };
        match (self, what) {
            (Self::Absent, What::Submitted { delayed_until, .. }) => Ok(waits(*delayed_until)),
            (Self::Delayed { until }, What::Ready) => {
                if now < *until {
                    return Err(format!("became ready at {now}, before its time {until}"));
                }
                Ok(Self::Ready)
            }
            (Self::Ready, What::Claimed { attempt, epoch, worker, .. }) => {
                let worker = worker.clone();
                Ok(Self::Active(Holding { epoch: *epoch, attempt: *attempt, worker, lease: None }))
            }
            (Self::Active(holding), What::Completed { attempt }) => {
                holding.is_alive(*attempt, now)?;
                Ok(Self::Finished(Outcome::Success))
            }
            (Self::Active(holding), What::AttemptFailed { attempt, retry_at, .. }) => {
                holding.is_alive(*attempt, now)?;
                Ok(if retry_at.is_some() { waits(*retry_at) } else { Self::Finished(Outcome::Failed) })
            }
            (Self::Active(holding), What::Returned { attempt }) => {
                holding.is_alive(*attempt, now)?;
                Ok(Self::Ready)
            }
            (Self::Active(holding), What::LeaseExpired { attempt, again_at }) => {
                holding.is_dead(*attempt, now)?;
                Ok(if again_at.is_some() { waits(*again_at) } else { Self::Finished(Outcome::Failed) })
            }
            (stage, what) => Err(format!("{what:?} happened to an execution that was {stage:?}")),
        }
    }
}

impl Holding {
    fn lease_of(&self, attempt: u32) -> Result<Millis, String> {
        if self.attempt != attempt {
            return Err(format!("attempt {attempt} ended while attempt {} was running", self.attempt));
        }
        let ends = self.lease.map(|(_, expires_at)| expires_at);
        ends.ok_or_else(|| "an attempt ended in the commit that began it".to_owned())
    }

    fn is_alive(&self, attempt: u32, now: Millis) -> Result<(), String> {
        let expires_at = self.lease_of(attempt)?;
        if now < expires_at {
            return Ok(());
        }
        Err(format!("a worker's call was committed at {now}, after its lease had ended at {expires_at}"))
    }

    fn is_dead(&self, attempt: u32, now: Millis) -> Result<(), String> {
        let expires_at = self.lease_of(attempt)?;
        if now >= expires_at {
            return Ok(());
        }
        Err(format!("a lease was ended at {now} that lives until {expires_at}"))
    }
}
