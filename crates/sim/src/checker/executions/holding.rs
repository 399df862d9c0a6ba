//! Who holds an execution and until when: the lease, the attempt's own time and the deadline; the first to end decides.

use super::stage::Terms;
use onward_core::record::{Active, Attempt};
use onward_core::{LeaseId, Millis, Span, WorkerName};

/// An attempt and for how long it ran before its last pause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) attempt: u32,
    pub(crate) started_at: Millis,
    pub(crate) ran: Span,
}

impl Run {
    pub(super) fn of(attempt: &Attempt) -> Self {
        Self { attempt: attempt.number, started_at: attempt.started_at, ran: attempt.ran }
    }
}

/// Who holds an execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holding {
    pub(crate) epoch: u64,
    pub(crate) worker: WorkerName,
    pub(crate) run: Run,
    /// Whether the attempt was paused before.
    pub(crate) resumed: bool,
    /// Since when it runs without a pause.
    pub(crate) since: Millis,
    /// The lease; an event does not tell it, the record does.
    pub(crate) lease: Option<(LeaseId, Millis)>,
    /// When the attempt has run for too long.
    pub(crate) times_out_at: Option<Millis>,
    pub(crate) deadline: Option<Millis>,
    /// When it is cancelled, if it was asked to stop.
    pub(crate) stop: Option<Millis>,
}

impl Holding {
    pub(super) fn begin(epoch: u64, worker: WorkerName, run: Run, resumed: bool, since: Millis, terms: Terms) -> Self {
        // Only the time for which it really ran counts.
        let times_out_at = terms.timeout.map(|timeout| since + Span(timeout.0.saturating_sub(run.ran.0)));
        let deadline = terms.deadline;
        Self { epoch, worker, run, resumed, since, lease: None, times_out_at, deadline, stop: None }
    }

    /// What a record says.
    pub(super) fn of(active: &Active, terms: Terms) -> Self {
        let Active { lease, attempt, stop } = active;
        let (resumed, since) = (attempt.resumed, attempt.since.unwrap_or(attempt.started_at));
        let said = Self::begin(lease.epoch, lease.worker.clone(), Run::of(attempt), resumed, since, terms);
        let stop = stop.as_ref().map(|stop| stop.until);
        Self { lease: Some((lease.id, lease.expires_at)), stop, ..said }
    }

    /// Whether two are the same as far as events can tell. Once a clock ran ahead (`clamped`), an event tells a later
    /// time than the one from which the attempt's own time counts.
    pub(super) fn agrees(&self, found: &Self, clamped: bool) -> bool {
        let mut same = Self { lease: self.lease, ..found.clone() };
        if clamped && found.since <= self.since {
            (same.since, same.times_out_at) = (self.since, self.times_out_at);
        }
        *self == same
    }

    /// When time ends it, as far as that is known.
    fn alive_until(&self) -> Option<Millis> {
        let lease = self.lease.map(|(_, expires_at)| expires_at);
        lease.into_iter().chain(self.acts_until()).min()
    }

    /// Until when its holder may act. The end of its lease is none until it is committed.
    pub(super) fn acts_until(&self) -> Option<Millis> {
        self.times_out_at.into_iter().chain(self.deadline).min()
    }

    pub(super) fn is(&self, attempt: u32) -> Result<(), String> {
        if self.run.attempt == attempt {
            return Ok(());
        }
        Err(format!("attempt {attempt} ended while attempt {} was running", self.run.attempt))
    }

    /// Its holder did something.
    pub(super) fn acts(&self, attempt: u32, now: Millis) -> Result<(), String> {
        self.is(attempt)?;
        if self.lease.is_none() {
            return Err("an attempt ended in the commit that began it".to_owned());
        }
        match self.acts_until() {
            Some(until) if now >= until => {
                Err(format!("a worker's call was committed at {now}, after its time had ended at {until}"))
            }
            _ => Ok(()),
        }
    }

    /// Another attempt, or the same one later, may only follow when nobody asked it to stop.
    pub(super) fn goes_on(&self) -> Result<(), String> {
        match self.stop {
            None => Ok(()),
            Some(until) => Err(format!("it was asked to stop until {until} and was not cancelled")),
        }
    }

    pub(super) fn lost(&self, attempt: u32, now: Millis) -> Result<(), String> {
        self.is(attempt)?;
        self.ends("lease", self.lease.map(|(_, expires_at)| expires_at), now)
    }

    pub(super) fn timed_out(&self, attempt: u32, now: Millis) -> Result<(), String> {
        self.is(attempt)?;
        self.ends("time", self.times_out_at, now)
    }

    pub(super) fn expired(&self, attempt: u32, now: Millis) -> Result<(), String> {
        self.is(attempt)?;
        self.ends("deadline", self.deadline, now)?;
        match self.stop {
            Some(stop) if self.deadline.is_some_and(|deadline| stop < deadline) => {
                Err(format!("it expired and should have been cancelled at {stop}"))
            }
            _ => Ok(()),
        }
    }

    /// One of its times is over, and it is the first.
    fn ends(&self, which: &str, at: Option<Millis>, now: Millis) -> Result<(), String> {
        match at {
            None => Err(format!("its {which} was ended and it had none")),
            Some(at) if now < at => Err(format!("its {which} was ended at {now} and lasts until {at}")),
            Some(at) if self.alive_until().is_some_and(|until| until < at) => {
                Err(format!("its {which} was ended, and something else ended before {at}"))
            }
            Some(_) => Ok(()),
        }
    }

    /// Who asks again may shorten its time, not lengthen it.
    pub(super) fn asked_to_stop(&self, until: Millis) -> Result<Self, String> {
        if self.stop.is_some_and(|stop| until > stop) {
            return Err(format!("it may go on until {until} although it was asked to stop before"));
        }
        Ok(Self { stop: Some(until), ..self.clone() })
    }

    pub(in crate::checker) fn is_asked_to_stop(&self) -> bool {
        self.stop.is_some()
    }

    /// The attempt when it is paused.
    pub(super) fn pause(&self, at: Millis) -> Run {
        Run { ran: self.ran_until(at), ..self.run.clone() }
    }

    /// For how long it ran in all when it stops now.
    pub(super) fn ran_until(&self, at: Millis) -> Span {
        Span(self.run.ran.0 + (at - self.since).0)
    }
}
