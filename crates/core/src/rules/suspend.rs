//! Suspending an attempt: it waits for the world without a worker, or goes on at once when all has come already.

use crate::condition::Condition;
use crate::record::{
    Active, AttemptEnd, Execution, HowOver, Next, OnTimeout, Pause, Readiness, Record, State, Suspension, Timeout,
    Waiting, Woke,
};
use crate::rules::fence::{self, Earlier, Owner, fenced};
use crate::rules::{finish, lease, waits, woken};
use crate::text::or_default;
use crate::verb::USUAL_BYTES;
use crate::{
    CommandId, Fence, Json, Key, Millis, Reason, Rejection, Span, Stop, Verb, View, What, When, Woken, limits,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Suspends an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspend {
    /// This call; a repeat carries the same and gets the same answer.
    pub command: CommandId,
    /// Proof of ownership.
    pub fence: Fence,
    /// What it waits for.
    pub new: Box<NewSuspension>,
}

/// A suspension to begin: the same type is part of a request and the input of the rule.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct NewSuspension {
    /// When the attempt goes on.
    pub condition: Condition,
    /// Time after which the suspension times out; never when absent.
    pub timeout: Option<Span>,
    /// Time at which the suspension times out, which may be past; not together with `timeout`.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::openapi::Time>))]
    pub timeout_at: Option<Millis>,
    /// What happens when it times out; the attempt resumes when absent.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "crate::record::is_default")]
    pub on_timeout: OnTimeout,
    /// Delay between the end of the suspension and the time at which the attempt can be claimed.
    pub resume_delay: Option<Span>,
    /// Any JSON up to 8 KiB, which the worker gets back when the attempt resumes.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<serde_json::Value>))]
    pub continuation: Option<Json>,
    /// What it waits for, for people.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Reason::is_empty")]
    pub reason: Reason,
}

impl NewSuspension {
    /// A suspension without a timeout.
    #[must_use]
    pub fn new(condition: Condition) -> Self {
        Self {
            condition,
            timeout: None,
            timeout_at: None,
            on_timeout: OnTimeout::Resume,
            resume_delay: None,
            continuation: None,
            reason: Reason::default(),
        }
    }

    /// Checks it, and turns lengths of time into times.
    fn begin(&self, now: Millis) -> Result<Suspension, Rejection> {
        let timeout = When::of_fields("timeout_at", self.timeout, self.timeout_at)?.map(|when| match when {
            When::Now => now,
            When::After(span) => now + span,
            When::At(at) => at,
        });
        if timeout.is_none() && self.on_timeout != OnTimeout::default() {
            return Err(Rejection::invalid("on_timeout", "needs a timeout"));
        }
        self.condition.check(timeout.is_some())?;
        let mut condition = self.condition.clone();
        condition.fix_times(now);
        let latest = now + limits::FUTURE_MAX;
        let times = condition.timeouts().into_iter().map(|(_, until)| until).chain(timeout);
        if times.chain(self.resume_delay.map(|delay| now + delay)).any(|time| time > latest) {
            let why = format!("must be at most {} in the future", limits::FUTURE_MAX);
            return Err(Rejection::invalid("timeout", why));
        }
        if let Some(continuation) = &self.continuation {
            let checked = continuation.check(limits::CONTINUATION_BYTES_MAX);
            checked.map_err(|error| Rejection::Payload { field: "continuation", error })?;
        }
        Ok(Suspension {
            since: now,
            condition,
            taken: Vec::new(),
            over: BTreeMap::new(),
            timeout: timeout.map(|at| Timeout { at, then: self.on_timeout }),
            delay: self.resume_delay,
            continuation: self.continuation.clone(),
            reason: self.reason.clone(),
            escalated: false,
        })
    }
}

/// What came of a suspension.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Suspended {
    /// Set when all had come already: the attempt was not suspended, keeps its lease and goes on with this. Absent when it
    /// was suspended and its lease is over.
    pub met: Option<Box<Woken>>,
}

fenced!(Suspend);

impl Verb for Suspend {
    type Reply = Suspended;

    fenced!(keys);

    fn bytes(&self) -> usize {
        USUAL_BYTES + limits::CONDITION_BYTES_MAX
    }

    fn run(&self, view: &mut View, now: Millis) -> Result<Suspended, Stop> {
        let (mut shared, active) = match fence::owner(view, &self.fence, Some(self.command), now)? {
            Owner::Holds(execution, active) => (execution, active),
            Owner::Repeats(Earlier::Paused(Pause::Suspended)) => return Ok(Suspended { met: None }),
            Owner::Repeats(_) => return Err(fence::other_use()),
        };
        let mut suspension = Suspension { since: shared.stamp(now), ..self.new.begin(now)? };
        let execution = Arc::make_mut(&mut shared);
        waits::find_over(view, execution, &mut suspension)?;
        waits::take_mail(view, execution, &mut suspension)?;
        if suspension.is_met() {
            return met(view, shared, suspension, now);
        }
        let event = self.suspend(view, execution, suspension, &active, now)?;
        view.put_execution(shared, event)?;
        Ok(Suspended { met: None })
    }
}

impl Suspend {
    /// Ends the lease; the attempt goes on when the condition is met.
    fn suspend(
        &self,
        view: &mut View,
        execution: &mut Execution,
        suspension: Suspension,
        active: &Active,
        now: Millis,
    ) -> Result<What, Stop> {
        let at = execution.moment(now);
        let (attempt, reason) = (active.attempt.number, suspension.reason.clone());
        let event = What::Suspended { attempt, until: suspension.due(), reason };
        let next: Next = lease::pause(execution, active, self.command, Pause::Suspended, now);
        execution.reclaims_in_a_row = 0;
        let readiness = Readiness::Suspended(Box::new(suspension));
        execution.state = State::Waiting(Waiting { readiness, next });
        if active.stop.is_none() {
            return Ok(event);
        }
        // The pause is remembered with the attempt that ends here, so that a repeat gets its answer.
        lease::end_any(view, execution, AttemptEnd::Cancelled, at)?;
        Ok(finish::if_asked(view, execution, active, at.stamp)?.unwrap_or(event))
    }
}

/// All has come already: the attempt keeps its lease and gets what the waits took.
fn met(view: &mut View, mut shared: Arc<Execution>, suspension: Suspension, now: Millis) -> Result<Suspended, Stop> {
    let before = shared.waits.clone();
    let execution = Arc::make_mut(&mut shared);
    let stamp = execution.stamp(now);
    let waits = waits::close(view, execution, &suspension, HowOver::Signals, stamp)?;
    let by = waits.iter().map(|wait| wait.how).find(|how| *how == HowOver::Signals);
    let by = by.or_else(|| waits.first().map(|wait| wait.how)).unwrap_or(HowOver::Signals);
    // What was over before is told with the time of then, so that a repeat gets the same answer.
    let at = waits.iter().map(|wait| wait.at).max().unwrap_or(stamp);
    let woke = Woke { by, at, waits, continuation: suspension.continuation };
    let met = Some(Box::new(woken::tell(view, execution.id, &woke)?));
    if execution.waits != before {
        execution.changed_at = stamp;
        view.put(Key::Execution(execution.id), Record::Execution(shared))?;
    }
    Ok(Suspended { met })
}

#[cfg(test)]
pub(crate) mod rows {
    use crate::rules::table::Row;
    use crate::rules::world::make;

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::fenced("suspend", |_, fence| make::suspend_on(60, fence, "approval"), &[
            ("→ Suspended", "ActiveMine ActiveResumed ActiveLapsed"),
            ("→ Cancelled", "ActiveAsked ActiveStopOver"),
        ]),
        Row::repeated("suspend (repeat)", |_, fence| make::suspend_on(40, fence, "approval"), &[
            ("→ Suspended", "ActiveMine ActiveResumed ActiveLapsed"),
            ("→ Cancelled", "ActiveAsked ActiveStopOver"),
            ("=", "Suspended SuspendedOver"),
        ]),
    ];
}
