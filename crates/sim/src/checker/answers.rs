//! Answers are true: what was acknowledged is stored, and a refusal was right at some moment during the call.

use super::calls::Since;
use super::executions::Holding;
use super::{Checker, Stage, execution};
use onward_core::record::{AttemptEnd, EndedAttempt, Execution, Next, Outcome, PublicState, State, Waiting};
use onward_core::{
    Claimed, CommandId, ExecutionId, Fence, Key, LeaseId, Millis, Payload, PayloadSlot, Rejection, Renewed, WorkerName,
};
use onward_engine::{Error, Wants};
use onward_store::ErrorKind;

/// The checker of answers, by name.
pub(super) const ANSWERS: &str = "answers";
/// Stands for the id of a call that the engine chose and that is not known here.
const UNKNOWN: CommandId = CommandId(0);

impl Checker {
    /// A call begins.
    pub(crate) fn since(&self, now: Millis) -> Since {
        Since { seq: self.seq, at: now, rollbacks: self.rollbacks }
    }

    /// A worker says what it will ask for.
    pub(crate) fn worker(&mut self, wants: &Wants) {
        self.executions.worker(wants);
    }

    /// The execution as it is now.
    pub(crate) fn execution(&self, id: ExecutionId) -> Option<&Execution> {
        execution(self.record(&Key::Execution(id)))
    }

    /// Errors that only a defect causes; the others leave the outcome open, which is no claim that could be false.
    pub(super) fn failure(&mut self, call: &str, error: &Error) {
        let defect = match error {
            Error::Internal(_) => true,
            Error::Store { kind, .. } => *kind != ErrorKind::Unavailable,
            Error::Refused(_) | Error::Overloaded { .. } | Error::Contended | Error::ShuttingDown => false,
        };
        if defect {
            self.violate(ANSWERS, format!("{call} was answered by a defect: {error}"));
        }
    }

    pub(super) fn unjustified(&mut self, call: &str, rejection: &Rejection, about: &dyn std::fmt::Display) {
        self.violate(ANSWERS, format!("{call} of {about} was refused without reason: {rejection}"));
    }

    /// A worker's report that was refused must not have happened. What is being removed may have forgotten whether it
    /// did, and says neither.
    pub(super) fn report_refused(&mut self, command: CommandId, fence: Fence, happened: bool, error: &Error) {
        let Error::Refused(rejection) = error else { return };
        let id = fence.execution;
        if !matches!(rejection, Rejection::Purged(_)) {
            return self.refused(command, id, happened);
        }
        let is_known = |last: &EndedAttempt| last.number == fence.attempt && last.ended_by == Some(command);
        if self.execution(id).and_then(|execution| execution.last.as_ref()).is_some_and(is_known) {
            self.violate(ANSWERS, format!("command {command} is remembered and its caller was told nothing"));
        }
    }

    /// What was refused must not have happened. Whoever removes an execution removes its memory of what happened too.
    pub(super) fn refused(&mut self, command: CommandId, id: ExecutionId, happened: bool) {
        if self.calls.refused(command) && happened && !self.executions.is_removed(id) {
            self.violate(ANSWERS, format!("command {command} happened and its caller was told that it did not"));
        }
    }

    /// A claim was answered.
    pub(crate) fn claimed(&mut self, wants: &Wants, answer: &Result<Vec<Claimed>, Error>) {
        let claimed = match answer {
            Ok(claimed) => claimed,
            Err(Error::Refused(rejection)) => return self.unjustified("a claim", rejection, &wants.worker),
            Err(error) => return self.failure("a claim", error),
        };
        if claimed.len() > wants.max {
            self.violate(ANSWERS, format!("{} executions were given to {}", claimed.len(), wants.worker));
        }
        for work in claimed {
            self.handed_over(&wants.worker, work);
        }
    }

    /// Whether the holder of a lease was told of it.
    pub(crate) fn is_told(&self, lease: LeaseId) -> bool {
        self.calls.is_told(lease)
    }

    fn handed_over(&mut self, worker: &WorkerName, work: &Claimed) {
        let id = work.fence.execution;
        self.calls.tell(work.fence.lease);
        if self.executions.is_void(id) || (self.rollbacks > 0 && self.execution(id).is_none()) {
            return;
        }
        if self.executions.is_removed(id) && self.execution(id).is_none() {
            return;
        }
        // Where the next lease was given out within one commit, no version has the epoch of this one.
        let shows = |x: &Execution| x.epoch == work.fence.epoch;
        let passed = self.executions.was_told(&work.fence, worker) && !self.past.any(id, shows);
        if !passed && self.executions.leased(work.fence.lease) != Some(id) {
            return self.violate(ANSWERS, format!("{worker} was given a lease on {id} that nobody committed"));
        }
        // A claim that is tried again long after its first lease was lost may get the same lease id under a new epoch.
        let held = |x: &Execution| matches!(&x.state, State::Active(active) if active.lease.id == work.fence.lease);
        // Where no version shows the lease it was given, taken away and followed by another in one commit.
        let ended = self.executions.was_given(&work.fence, worker) && !self.past.any(id, held);
        if !ended && !passed && !self.past.any(id, |execution| is_given(execution, worker, work)) {
            return self.violate(ANSWERS, format!("the lease on {id} is not what was committed for {worker}"));
        }
        self.claimed_woken(work);
        // What is removed by now takes its payloads along, so the store cannot tell.
        if self.calls.input(id) != Some(&work.input) {
            self.violate(ANSWERS, format!("the input of {id} is not what was submitted"));
        }
    }

    /// A renewal was answered.
    pub(crate) fn renewed(&mut self, since: Since, now: Millis, fence: Fence, answer: &Result<Renewed, Error>) {
        match answer {
            Ok(renewed) => {
                let until = renewed.expires_at;
                let written = self.ever_held(since, fence, |holding| holding.lease == Some((fence.lease, until)));
                if !written && !self.ended_since(since, fence) && !self.executions.is_void(fence.execution) {
                    self.violate(ANSWERS, format!("a lease on {} was not extended to {until}", fence.execution));
                }
                self.told_to_stop(since, fence, renewed);
            }
            Err(error) => self.fenced_off("a renewal", since, now, fence, error),
        }
    }

    /// A completion was answered whose id the engine chose, so that the call could not be sent twice.
    pub(crate) fn completed(
        &mut self,
        since: Since,
        now: Millis,
        fence: Fence,
        result: &Payload,
        answer: &Result<(), Error>,
    ) {
        match answer {
            Ok(()) => {
                let command = self.calls.ender(fence).unwrap_or(UNKNOWN);
                self.ended(command, fence, |end| *end == AttemptEnd::Succeeded);
                self.resulted(fence, result);
            }
            Err(error) => self.fenced_off("complete", since, now, fence, error),
        }
    }

    /// An execution holds the result that its worker sent, until it begins a new life or is removed.
    pub(super) fn resulted(&mut self, fence: Fence, result: &Payload) {
        let ended = self.execution(fence.execution).filter(|execution| {
            let is_last = execution.last.as_ref().is_some_and(|last| last.lease == fence.lease);
            // A new life that ended before its first attempt has no result, and the attempt is still the last one.
            is_last && matches!(Stage::of(execution), Stage::Finished(Outcome::Success))
        });
        let Some(execution) = ended else { return };
        let kept = self.payload(execution, PayloadSlot::Result);
        if kept.as_ref() != Some(result) && !self.executions.is_void(fence.execution) {
            self.violate(ANSWERS, format!("the result of {} is not what was sent", fence.execution));
        }
    }

    /// Whether an execution was held under a worker's lease, and in this way, at some moment since the call began.
    pub(super) fn ever_held(&self, since: Since, fence: Fence, right: impl Fn(&Holding) -> bool) -> bool {
        let stages = self.executions.stages(fence.execution, since.seq);
        stages.iter().any(|stage| stage.held_under(fence.lease).is_some_and(&right))
    }

    /// An attempt was acknowledged as ended by this very call, in this way.
    pub(super) fn ended(&mut self, command: CommandId, fence: Fence, right: impl Fn(&AttemptEnd) -> bool) {
        // The id of a call whose end the store went back behind is not known.
        if command != UNKNOWN {
            self.acknowledged.ended(command, fence.execution, fence.attempt);
        }
        if self.executions.is_void(fence.execution) {
            return;
        }
        let stored = self.calls.ended(command).is_some_and(|(id, attempt)| {
            (*id, attempt.lease, attempt.number) == (fence.execution, fence.lease, fence.attempt) && right(&attempt.end)
        });
        if !stored {
            let what = format!("attempt {} of {} was acknowledged as ended and is not", fence.attempt, fence.execution);
            self.violate(ANSWERS, what);
        }
    }

    /// A worker's call failed. If the worker was told that it does not own the execution, that was true at some moment
    /// since the call began.
    pub(super) fn fenced_off(&mut self, call: &str, since: Since, now: Millis, fence: Fence, error: &Error) {
        let Error::Refused(rejection) = error else { return self.failure(call, error) };
        if self.executions.is_void(fence.execution) {
            return;
        }
        let mut stages = self.executions.stages(fence.execution, since.seq).into_iter();
        let is_right = match rejection {
            Rejection::ExecutionNotFound(_) => stages.any(|stage| *stage == Stage::Absent),
            Rejection::Purged(_) => stages.any(|stage| matches!(stage, Stage::Purging(_))),
            Rejection::NotActive { state, .. } => stages.any(|stage| match stage {
                Stage::Active(_) => false,
                // By the clock of its writer, which may be behind, a time has yet to come that its events tell as past.
                Stage::Ready(_) => [PublicState::Waiting, PublicState::Delayed].contains(state),
                stage => stage.public() == Some(*state),
            }),
            Rejection::StaleLease { current, given } => {
                *given == fence.epoch
                    && stages.any(|stage| {
                        matches!(stage, Stage::Active(holding) if holding.epoch == *current
                            && holding.lease.is_none_or(|(id, _)| id != fence.lease))
                    })
            }
            Rejection::AttemptTimedOut { timed_out_at: over } => {
                *over <= now && self.ever_held(since, fence, |holding| holding.times_out_at == Some(*over))
            }
            Rejection::DeadlinePassed { deadline: over } => {
                *over <= now && self.ever_held(since, fence, |holding| holding.deadline == Some(*over))
            }
            _ => false,
        };
        if !is_right {
            self.unjustified(call, rejection, &fence.execution);
        }
    }
}

/// Whether an execution was given to a worker just so.
fn is_given(execution: &Execution, worker: &WorkerName, work: &Claimed) -> bool {
    let State::Active(active) = &execution.state else {
        // Taken away in the commit that gave it out.
        if let State::Waiting(Waiting { next: Next::Resume(paused), .. }) = &execution.state
            && (paused.lease, paused.attempt.number, &paused.worker) == (work.fence.lease, work.fence.attempt, worker)
        {
            return true;
        }
        return execution.last.as_ref().is_some_and(|last| {
            (last.lease, last.number, &last.worker) == (work.fence.lease, work.fence.attempt, worker)
        });
    };
    let (lease, attempt, fence) = (&active.lease, &active.attempt, &work.fence);
    (lease.id, lease.epoch, &lease.worker, lease.expires_at) == (fence.lease, fence.epoch, worker, work.expires_at)
        && (attempt.number, attempt.kind) == (fence.attempt, work.attempt_kind)
        && (&execution.namespace, &execution.lane, &execution.kind) == (&work.namespace, &work.lane, &work.kind)
        && (execution.tags == work.tags || is_tagged_since(execution))
        && (execution.retries, execution.created_at, execution.trace) == (work.retries, work.created_at, work.trace)
        && (execution.deadline, attempt.resumed) == (work.deadline, work.resumed)
}

/// Whether an operator changed the tags after the lease was given out, perhaps in the same commit.
fn is_tagged_since(execution: &Execution) -> bool {
    let since = execution.history.iter().rev().take_while(|line| line.what.name() != "claimed");
    since.map(|line| line.what.name()).any(|name| name == "tags_changed")
}
