//! The states of an execution as a reader of events knows them, and which event may follow in which state.
//!
//! This is a second, smaller statement of the rules, written from their description and sharing no code with them.

use super::holding::{Holding, Run};
use onward_core::record::{
    Canceller, Execution, ExpiredBy, HowOver, Next, OnTimeout, Outcome, PublicState, Readiness, State, Waiting, WhyHeld,
};
use onward_core::{LeaseId, Millis, Span, What};

/// Where an execution stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    Absent,
    /// Anybody may claim it; the attempt that goes on with that, if one was paused.
    Ready(Option<Run>),
    Delayed {
        until: Millis,
        paused: Option<Run>,
    },
    Active(Holding),
    /// It waits for the world; its attempt goes on afterwards.
    Suspended(Option<Run>),
    /// An operator decides whether it goes on; what it waits for goes on underneath.
    Held {
        /// Because no retry was left, and not by the wish of an operator.
        exhausted: bool,
        inner: Box<Stage>,
    },
    Finished(Outcome),
    /// It is being removed; nothing can happen to it any more.
    Purging(Outcome),
}

/// What an execution's submitter or replayer decided about its time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) deadline: Option<Millis>,
    pub(super) timeout: Option<Span>,
}

impl Terms {
    pub(super) fn of(execution: &Execution) -> Self {
        Self { deadline: execution.deadline, timeout: execution.policy.attempt_timeout }
    }
}

impl Stage {
    /// What a record says.
    pub(crate) fn of(execution: &Execution) -> Self {
        let inner = Self::underneath(execution);
        match &execution.held {
            Some(held) if inner.is_unfinished() => inner.held(held.why == WhyHeld::Exhausted),
            _ => inner,
        }
    }

    /// The same, held.
    fn held(self, exhausted: bool) -> Self {
        Self::Held { exhausted, inner: Box::new(self) }
    }

    /// What a record says, apart from a hold.
    fn underneath(execution: &Execution) -> Self {
        let run = |next: &Next| next.paused().map(|paused| Run::of(&paused.attempt));
        match &execution.state {
            State::Waiting(Waiting { readiness: Readiness::Ready { .. }, next }) => Self::Ready(run(next)),
            State::Waiting(Waiting { readiness: Readiness::Delayed { until, .. }, next }) => {
                Self::Delayed { until: *until, paused: run(next) }
            }
            State::Waiting(Waiting { readiness: Readiness::Suspended(_), next }) => Self::Suspended(run(next)),
            State::Active(active) => Self::Active(Holding::of(active, Terms::of(execution))),
            State::Finished(finished) if finished.purging.is_some() => Self::Purging(finished.outcome),
            State::Finished(finished) => Self::Finished(finished.outcome),
        }
    }

    /// Whether a record says what its events do. A record's own time never goes back, so that once a clock ran ahead
    /// (`clamped`) events tell a later time than the one at which things were decided.
    pub(super) fn agrees(&self, found: &Self, clamped: bool) -> bool {
        let runs = |told: &Option<Run>, found: &Option<Run>| match (told, found) {
            (Some(told), Some(found)) => {
                let same = *told == Run { ran: told.ran, ..found.clone() };
                same && (found.ran == told.ran || (clamped && found.ran <= told.ran))
            }
            (told, found) => told == found,
        };
        match (self, found) {
            (Self::Active(told), Self::Active(found)) => {
                let rest = Holding { run: told.run.clone(), ..found.clone() };
                runs(&Some(told.run.clone()), &Some(found.run.clone())) && told.agrees(&rest, clamped)
            }
            (Self::Ready(told), Self::Ready(found)) => runs(told, found),
            (Self::Delayed { until, paused }, Self::Delayed { until: at, paused: found }) => {
                until == at && runs(paused, found)
            }
            (Self::Ready(told), Self::Delayed { paused: found, .. }) => clamped && runs(told, found),
            (Self::Suspended(told), Self::Suspended(found)) => runs(told, found),
            (Self::Held { exhausted, inner: told }, Self::Held { exhausted: found, inner }) => {
                exhausted == found && told.agrees(inner, clamped)
            }
            (told, found) => told == found,
        }
    }

    /// The holding, if the execution is held under this lease.
    pub(crate) fn held_under(&self, lease: LeaseId) -> Option<&Holding> {
        match self {
            Self::Active(holding) => Some(holding).filter(|holding| holding.lease.is_some_and(|(id, _)| id == lease)),
            _ => None,
        }
    }

    pub(crate) fn is_unfinished(&self) -> bool {
        matches!(self, Self::Ready(_) | Self::Delayed { .. } | Self::Active(_) | Self::Suspended(_) | Self::Held { .. })
    }

    /// The attempt that nobody runs and that goes on later, if there is one.
    pub(crate) fn paused(&self) -> Option<&Run> {
        match self {
            Self::Ready(paused) | Self::Delayed { paused, .. } | Self::Suspended(paused) => paused.as_ref(),
            Self::Held { inner, .. } => inner.paused(),
            _ => None,
        }
    }

    /// Where it stands apart from a hold.
    pub(crate) fn beneath(&self) -> &Self {
        if let Self::Held { inner, .. } = self { inner } else { self }
    }

    /// What users call it; `None` when there is no execution.
    pub(crate) fn public(&self) -> Option<PublicState> {
        Some(match self {
            Self::Absent => return None,
            Self::Ready(_) => PublicState::Waiting,
            Self::Delayed { .. } => PublicState::Delayed,
            Self::Active(_) => PublicState::Active,
            Self::Suspended(_) | Self::Held { .. } => PublicState::Suspended,
            Self::Finished(outcome) | Self::Purging(outcome) => outcome.public(),
        })
    }

    /// The stage that an event leads to; `said_at` is the event's time and `now` the store's at its commit.
    pub(super) fn after(&self, what: &What, said_at: Millis, now: Millis, terms: Terms) -> Result<Self, String> {
        if matches!(what, What::Signalled { .. }) && self.is_unfinished() {
            return Ok(self.clone());
        }
        match self {
            Self::Absent => match what {
                What::Submitted { delayed_until, .. } => Ok(waits(*delayed_until, said_at, None)),
                _ => self.never(what),
            },
            Self::Ready(paused) => self.after_ready(paused.as_ref(), what, said_at, now, terms),
            Self::Delayed { until, paused } => match what {
                What::Ready if now < *until => Err(format!("became ready at {now}, before its time {until}")),
                What::Ready => Ok(Self::Ready(paused.clone())),
                What::Expired { .. } if terms.deadline.is_some_and(|deadline| *until < deadline) => {
                    Err(format!("expired at {now} instead of becoming ready at {until}"))
                }
                _ => self.after_waiting(paused.as_ref(), what, said_at, now, terms),
            },
            Self::Active(holding) => match what {
                What::TagsChanged | What::Annotated { .. } | What::PriorityChanged { .. } => Ok(self.clone()),
                _ => self.after_active(holding, what, said_at, now),
            },
            Self::Suspended(run) => self.after_suspended(run.as_ref(), what, said_at, now, terms),
            Self::Held { exhausted, inner } => inner.after_held(*exhausted, what, said_at, now, terms),
            Self::Finished(outcome) => match what {
                What::TagsChanged | What::Annotated { .. } => Ok(self.clone()),
                What::Replayed { .. } => Ok(Self::Ready(None)),
                What::Purged => Ok(Self::Purging(*outcome)),
                _ => self.never(what),
            },
            Self::Purging(_) => self.never(what),
        }
    }

    /// What can happen to work that is suspended: what it waits for is here, its time is over, or somebody ends it.
    fn after_suspended(
        &self,
        run: Option<&Run>,
        what: &What,
        said_at: Millis,
        now: Millis,
        terms: Terms,
    ) -> Result<Self, String> {
        let is_own = |attempt: u32| {
            let right = run.is_some_and(|run| run.attempt == attempt);
            right.then_some(()).ok_or_else(|| format!("{what:?} while {run:?} was suspended"))
        };
        match what {
            What::Resumed { attempt: Some(attempt), delayed_until, .. } => {
                is_own(*attempt)?;
                Ok(waits(*delayed_until, said_at, run.cloned()))
            }
            What::SuspensionTimedOut { attempt, then } => {
                is_own(*attempt)?;
                match then {
                    OnTimeout::Escalate => Ok(self.clone()),
                    OnTimeout::Fail => Ok(Self::Finished(Outcome::Failed)),
                    OnTimeout::Cancel => Ok(Self::Finished(Outcome::Cancelled)),
                    OnTimeout::Expire => Ok(Self::Finished(Outcome::Expired)),
                    OnTimeout::Resume => self.never(what),
                }
            }
            What::WaitClosed { .. } => Ok(self.clone()),
            What::Rescheduled { .. } => self.never(what),
            _ => self.after_waiting(run, what, said_at, now, terms),
        }
    }

    /// What can happen to held work, of which this is what goes on underneath: everything but a claim.
    fn after_held(
        &self,
        exhausted: bool,
        what: &What,
        said_at: Millis,
        now: Millis,
        terms: Terms,
    ) -> Result<Self, String> {
        match what {
            What::Resumed { attempt: None, resumed_by: HowOver::Operator, delayed_until } => Ok(match self {
                Self::Ready(paused) => waits(*delayed_until, said_at, paused.clone()),
                other => other.clone(),
            }),
            What::Claimed { .. } => Err(format!("it was claimed although it is held: {self:?}")),
            What::Paused { attempt: None, .. } => Ok(self.clone().held(false)),
            What::Replayed { .. } if exhausted => Ok(Self::Ready(None)),
            _ => {
                let next = self.after(what, said_at, now, terms)?;
                Ok(if next.is_unfinished() { next.held(exhausted) } else { next })
            }
        }
    }

    fn never(&self, what: &What) -> Result<Self, String> {
        Err(format!("{what:?} happened to an execution that was {self:?}"))
    }

    /// Ready work can be claimed, and whatever is paused goes on with that.
    fn after_ready(
        &self,
        paused: Option<&Run>,
        what: &What,
        said_at: Millis,
        now: Millis,
        terms: Terms,
    ) -> Result<Self, String> {
        let What::Claimed { attempt, epoch, worker, resumed } = what else {
            return self.after_waiting(paused, what, said_at, now, terms);
        };
        if terms.deadline.is_some_and(|deadline| now >= deadline) {
            return Err(format!("it was claimed at {now}, after its deadline"));
        }
        if paused.is_some() != *resumed || paused.is_some_and(|run| run.attempt != *attempt) {
            return Err(format!("attempt {attempt} was claimed (resumed: {resumed}) while {paused:?} was paused"));
        }
        let run = paused.cloned().unwrap_or(Run { attempt: *attempt, started_at: said_at, ran: Span(0) });
        Ok(Self::Active(Holding::begin(*epoch, worker.clone(), run, *resumed, said_at, terms)))
    }

    /// What can happen to work that nobody holds.
    fn after_waiting(
        &self,
        paused: Option<&Run>,
        what: &What,
        said_at: Millis,
        now: Millis,
        terms: Terms,
    ) -> Result<Self, String> {
        let ends_right = |attempt: Option<u32>, was_paused: bool| {
            let right = attempt == paused.map(|run| run.attempt) && was_paused == paused.is_some();
            right.then_some(()).ok_or_else(|| format!("{what:?} while {paused:?} was paused"))
        };
        match what {
            What::TagsChanged | What::Annotated { .. } | What::PriorityChanged { .. } => Ok(self.clone()),
            What::Rescheduled { until } => Ok(waits(*until, said_at, paused.cloned())),
            What::Paused { attempt: None, .. } => Ok(self.clone().held(false)),
            What::Expired { attempt, paused: was_paused, expired_by: ExpiredBy::Deadline } => {
                ends_right(*attempt, *was_paused)?;
                if terms.deadline.is_none_or(|deadline| now < deadline) {
                    return Err(format!("it expired at {now}, before its deadline {:?}", terms.deadline));
                }
                Ok(Self::Finished(Outcome::Expired))
            }
            What::Cancelled { cancelled_by: Canceller::Operator, attempt, paused: was_paused, .. } => {
                ends_right(*attempt, *was_paused)?;
                Ok(Self::Finished(Outcome::Cancelled))
            }
            _ => self.never(what),
        }
    }

    /// What stops an attempt that goes on later. Once it was asked to stop, none does.
    fn after_pause(&self, holding: &Holding, what: &What, said_at: Millis, now: Millis) -> Result<Self, String> {
        holding.goes_on()?;
        match what {
            What::Returned { attempt } => {
                holding.acts(*attempt, now)?;
                Ok(Self::Ready(holding.resumed.then(|| holding.pause(said_at))))
            }
            What::Delayed { attempt, until } => {
                holding.acts(*attempt, now)?;
                Ok(waits(Some(*until), said_at, Some(holding.pause(said_at))))
            }
            What::Suspended { attempt, .. } => {
                holding.acts(*attempt, now)?;
                Ok(Self::Suspended(Some(holding.pause(said_at))))
            }
            What::Paused { attempt: Some(attempt), .. } => {
                holding.is(*attempt)?;
                Ok(Self::Ready(Some(holding.pause(said_at))).held(false))
            }
            _ => self.never(what),
        }
    }

    /// What can happen to work that somebody holds. Once it was asked to stop, no other attempt may follow.
    fn after_active(&self, holding: &Holding, what: &What, said_at: Millis, now: Millis) -> Result<Self, String> {
        let again = |at: Option<Millis>, outcome, held: &bool| match at {
            Some(_) => waits(at, said_at, None),
            None if *held => Self::Ready(None).held(true),
            None => Self::Finished(outcome),
        };
        match what {
            What::Completed { attempt } => {
                holding.acts(*attempt, now)?;
                Ok(Self::Finished(Outcome::Success))
            }
            What::AttemptFailed { attempt, retry_at, held, .. } => {
                holding.acts(*attempt, now)?;
                holding.goes_on()?;
                Ok(again(*retry_at, Outcome::Failed, held))
            }
            What::Returned { .. } | What::Delayed { .. } | What::Suspended { .. } | What::Paused { .. } => {
                self.after_pause(holding, what, said_at, now)
            }
            What::LeaseExpired { attempt, again_at, held } => {
                holding.lost(*attempt, now)?;
                holding.goes_on()?;
                Ok(again(*again_at, Outcome::Failed, held))
            }
            What::LeaseRevoked { attempt, again_at, held, .. } => {
                holding.is(*attempt)?;
                holding.goes_on()?;
                Ok(again(*again_at, Outcome::Failed, held))
            }
            What::TimedOut { attempt, retry_at, expired_by, held } => {
                let why = (retry_at.is_none() && !held).then_some(ExpiredBy::AttemptTimeout);
                if *expired_by != why {
                    return Err(format!("it timed out, and is said to have expired by {expired_by:?}"));
                }
                holding.timed_out(*attempt, now)?;
                holding.goes_on()?;
                Ok(again(*retry_at, Outcome::Expired, held))
            }
            What::Expired { attempt: Some(attempt), paused: false, expired_by: ExpiredBy::Deadline } => {
                holding.expired(*attempt, now)?;
                Ok(Self::Finished(Outcome::Expired))
            }
            What::StopRequested { attempt, until, .. } => {
                holding.is(*attempt)?;
                Ok(Self::Active(holding.asked_to_stop(*until)?))
            }
            What::Cancelled { cancelled_by, attempt: Some(attempt), paused: false, .. } => {
                match cancelled_by {
                    Canceller::Owner => holding.acts(*attempt, now)?,
                    Canceller::Operator => holding.is(*attempt)?,
                    Canceller::Timeout => return self.never(what),
                }
                Ok(Self::Finished(Outcome::Cancelled))
            }
            _ => self.never(what),
        }
    }
}

fn waits(until: Option<Millis>, said_at: Millis, paused: Option<Run>) -> Stage {
    match until {
        Some(until) if until > said_at => Stage::Delayed { until, paused },
        _ => Stage::Ready(paused),
    }
}
