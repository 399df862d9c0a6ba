//! Giving ready work to a worker: one call for the first attempt, a retry, a reclaim, a replay and a resume.

use crate::record::{Active, AttemptKind, Execution, LaneState, Next, State, WaitRef, Waiting};
use crate::rules::{fence, lane, lease, payload, woken};
use crate::{
    Addressed, Build, Class, ExecutionId, Fence, Key, Kind, Lane, LeaseId, Millis, Namespace, PartitionId, Payload,
    PayloadSlot, Rejection, Span, Stop, TagKey, TagValue, TraceContext, Urgency, Verb, View, What, Woken, WorkerName,
    limits,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Gives a ready execution to a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Which execution; a hint that it is ready.
    pub execution: ExecutionId,
    /// The lease to give out. A repeat of the claim carries the same.
    pub lease: LeaseId,
    /// Who.
    pub worker: WorkerName,
    /// Which build of its program the worker is.
    pub build: Option<Build>,
    /// What the worker can do.
    pub capabilities: Class,
    /// How long the lease lasts without renewal.
    pub ttl: Span,
}

/// What a worker gets with a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// What proves ownership in every later call.
    pub fence: Fence,
    /// When the lease ends unless it is renewed.
    pub expires_at: Millis,
    /// Whose execution.
    pub namespace: Namespace,
    /// Its lane.
    pub lane: Lane,
    /// Which handler to run.
    pub kind: Kind,
    /// What to work on.
    pub input: Payload,
    /// Its labels.
    pub tags: BTreeMap<TagKey, TagValue>,
    /// Why this attempt was made.
    pub attempt_kind: AttemptKind,
    /// Whether the attempt goes on after a pause.
    pub resumed: bool,
    /// How many failures were retried before.
    pub retries: u32,
    /// When the attempt is ended for having run too long.
    pub times_out_at: Option<Millis>,
    /// When the execution expires.
    pub deadline: Option<Millis>,
    /// When it was submitted.
    pub created_at: Millis,
    /// The trace from which it was submitted.
    pub trace: Option<TraceContext>,
    /// Why the attempt goes on, if it was suspended.
    pub woke: Option<Box<Woken>>,
    /// Waits that its last suspension left open, each with the time since which it is: timeouts count from it.
    pub open_waits: BTreeMap<WaitRef, Millis>,
}

impl Addressed for Claim {
    fn home(&self, _: u16) -> PartitionId {
        self.execution.partition()
    }
}

impl Verb for Claim {
    const URGENCY: Urgency = Urgency::Sheddable;
    type Reply = Box<Claimed>;

    fn keys(&self, _: PartitionId) -> Vec<Key> {
        vec![Key::Execution(self.execution)]
    }

    fn run(&self, view: &mut View, now: Millis) -> Result<Box<Claimed>, Stop> {
        let Some(mut execution) = view.execution(self.execution)? else {
            return Err(Rejection::ExecutionNotFound(self.execution).into());
        };
        let next = match &execution.state {
            // A repeat gets the same answer while the lease lives; afterwards no worker may start under it.
            State::Active(active) if active.lease.id == self.lease => {
                fence::alive(view, &execution, active, now)?;
                return claimed(view, &execution, active);
            }
            State::Waiting(Waiting { next, .. }) if execution.is_ready() => next.clone(),
            _ => {
                let state = execution.public_state();
                return Err(Rejection::NotReady { execution: self.execution, state }.into());
            }
        };
        used(&execution, &next, self)?;
        check(view, self, &execution)?;
        timely(view, &execution, now)?;
        let active = lease::begin(view, Arc::make_mut(&mut execution), self, next, now)?;
        let reply = claimed(view, &execution, &active)?;
        let event = What::Claimed {
            attempt: active.attempt.number,
            epoch: active.lease.epoch,
            worker: self.worker.clone(),
            resumed: active.attempt.resumed,
        };
        view.put_execution(execution, event)?;
        Ok(reply)
    }
}

/// Refuses a repeat that comes after its lease has ended: a lease is given out once.
fn used(execution: &Execution, next: &Next, claim: &Claim) -> Result<(), Stop> {
    let ended = execution.last.as_ref().filter(|last| last.lease == claim.lease).map(|last| last.ended_at);
    let paused = match next {
        Next::Resume(paused) if paused.lease == claim.lease => Some(execution.changed_at),
        _ => None,
    };
    match ended.or(paused) {
        Some(expired_at) => Err(Rejection::LeaseExpired { expired_at }.into()),
        None => Ok(()),
    }
}

/// Refuses work whose deadline has passed, whether or not anybody noticed.
fn timely(view: &mut View, execution: &Execution, now: Millis) -> Result<(), Stop> {
    match execution.deadline {
        Some(deadline) if deadline <= now => {
            view.not_before(deadline);
            Err(Rejection::DeadlinePassed { deadline }.into())
        }
        Some(deadline) => {
            view.not_after(deadline);
            Ok(())
        }
        None => Ok(()),
    }
}

fn check(view: &mut View, claim: &Claim, execution: &Execution) -> Result<(), Stop> {
    limits::check_lease(claim.ttl)?;
    let missing = execution.requires.missing_from(&claim.capabilities);
    if !missing.is_empty() {
        return Err(Rejection::CapabilityMismatch { missing }.into());
    }
    match lane::copy(view, &execution.namespace, &execution.lane)?.state {
        LaneState::Paused => Err(Rejection::LanePaused(execution.lane.clone()).into()),
        LaneState::Open | LaneState::Draining => Ok(()),
    }
}

fn claimed(view: &mut View, execution: &Execution, active: &Active) -> Result<Box<Claimed>, Stop> {
    let input = payload::load(view, &Key::Payload(execution.id, PayloadSlot::Input), &execution.input)?;
    let woke = active.attempt.woke.as_ref().map(|woke| woken::tell(view, execution.id, woke)).transpose()?;
    Ok(Box::new(Claimed {
        fence: Fence {
            execution: execution.id,
            lease: active.lease.id,
            epoch: active.lease.epoch,
            attempt: active.attempt.number,
        },
        expires_at: active.lease.expires_at,
        namespace: execution.namespace.clone(),
        lane: execution.lane.clone(),
        kind: execution.kind.clone(),
        input,
        tags: execution.tags.clone(),
        attempt_kind: active.attempt.kind,
        resumed: active.attempt.resumed,
        retries: execution.retries,
        times_out_at: execution.times_out_at(active),
        deadline: execution.deadline,
        created_at: execution.created_at,
        trace: execution.trace,
        woke: woke.map(Box::new),
        open_waits: execution.waits.as_ref().map(|waits| waits.open.clone()).unwrap_or_default(),
    }))
}

#[cfg(test)]
pub(crate) mod rows {
    use crate::rules::table::Row;
    use crate::rules::world::make::{self, id};

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("claim", |_, _| make::claim(id(1), 77).into(), &[
            ("execution_not_found", "Absent"),
            ("→ ActiveOther", "ReadyFirst ReadyRetry ReadyReclaim ReadyReturned ReadyReplay"),
            ("→ ActiveOnward", "ReadyResume"),
            ("deadline_passed", "ReadyTooLate"),
            ("execution_not_ready", "*"),
        ]),
        Row::new("claim (repeat)", |_, _| make::claim(id(1), 10).into(), &[
            ("execution_not_found", "Absent"),
            ("→ ActiveMine", "ReadyFirst"),
            ("lease_expired", "ReadyRetry ReadyReclaim ReadyReturned ReadyReplay ReadyResume"),
            ("deadline_passed", "ReadyTooLate ActiveTooLate"),
            ("=", "ActiveMine ActiveResumed ActiveAsked ActiveLapsed ActiveStopOver"),
            ("attempt_timed_out", "ActiveTimedOut"),
            ("execution_not_ready", "*"),
        ]),
    ];
}
