//! Answers are true: what was acknowledged is stored, and a refusal was right at some moment during the call.

use super::calls::Since;
use super::executions::Asks;
use super::{Checker, Stage};
use onward_core::record::{AttemptEnd, Execution, Held, LaneState, Record};
use onward_core::{
    AfterFailure, Claimed, CommandId, ExecutionId, Fence, Key, Lane, Millis, Namespace, Payload, Rejection, Submitted,
    When, WorkerName, limits,
};
use onward_engine::{Error, NewExecution, SubmitIds, Wants};
use onward_store::ErrorKind;

/// The checker of answers, by name.
const ANSWERS: &str = "answers";

impl Checker {
    /// A call begins.
    pub(crate) fn since(&self, now: Millis) -> Since {
        Since { seq: self.seq, at: now, rollbacks: self.rollbacks }
    }

    /// A worker says what it will ask for.
    pub(crate) fn worker(&mut self, wants: &Wants) {
        let (namespace, lanes) = (wants.namespace.clone(), wants.lanes.clone());
        let asks = Asks { namespace, lanes, capabilities: wants.capabilities.clone() };
        self.executions.worker(wants.worker.clone(), asks);
    }

    /// A command goes out under an id that its caller chose.
    pub(crate) fn sent(&mut self, command: CommandId, fence: Option<Fence>) {
        self.calls.sent(command, fence);
    }

    /// A submit goes out.
    pub(crate) fn submits(&mut self, ids: SubmitIds, new: &NewExecution) {
        self.calls.sent(ids.command, None);
        self.calls.submits(ids.execution, &new.input);
    }

    /// The execution as it is now.
    pub(crate) fn execution(&self, id: ExecutionId) -> Option<&Execution> {
        match self.record(&Key::Execution(id)) {
            Some(Record::Execution(execution)) => Some(execution),
            _ => None,
        }
    }

    /// Errors that only a defect causes; the others leave the outcome open, which is no claim that could be false.
    fn failure(&mut self, call: &str, error: &Error) {
        let defect = match error {
            Error::Internal(_) => true,
            Error::Store { kind, .. } => *kind != ErrorKind::Unavailable,
            Error::Refused(_) | Error::Overloaded { .. } | Error::Contended | Error::ShuttingDown => false,
        };
        if defect {
            self.violate(ANSWERS, format!("{call} was answered by a defect: {error}"));
        }
    }

    fn unjustified(&mut self, call: &str, rejection: &Rejection, about: &dyn std::fmt::Display) {
        self.violate(ANSWERS, format!("{call} of {about} was refused without reason: {rejection}"));
    }

    /// What was refused must not have happened.
    fn refused(&mut self, command: CommandId, happened: bool) {
        if self.calls.refused(command) && happened {
            self.violate(ANSWERS, format!("command {command} happened and its caller was told that it did not"));
        }
    }

    /// A submit was answered.
    pub(crate) fn submitted(
        &mut self,
        since: Since,
        now: Millis,
        ids: SubmitIds,
        new: &NewExecution,
        answer: &Result<Submitted, Error>,
    ) {
        match answer {
            Ok(submitted) => self.accepted(since, ids, new, *submitted),
            Err(Error::Refused(rejection)) => {
                let happened = self.executions.created_by(ids.command).is_some();
                self.refused(ids.command, happened);
                if since.rollbacks == self.rollbacks && !self.rightly_turned_away(since, now, ids, new, rejection) {
                    self.unjustified("the submit", rejection, &ids.execution);
                }
            }
            Err(error) => self.failure("a submit", error),
        }
    }

    fn accepted(&mut self, since: Since, ids: SubmitIds, new: &NewExecution, submitted: Submitted) {
        if self.rollbacks > 0 && (self.executions.is_void(submitted.id) || self.execution(submitted.id).is_none()) {
            return;
        }
        let Some(execution) = self.execution(submitted.id) else {
            return self.violate(ANSWERS, format!("{} was acknowledged and does not exist", submitted.id));
        };
        let (created_by, same) = (execution.created_by, same_arguments(execution, new));
        let own_key = execution.idempotency_key == new.idempotency_key;
        if !own_key || !same {
            return self.violate(ANSWERS, format!("{} stands for a submit with other arguments", submitted.id));
        }
        if submitted.created != (created_by == ids.command) || (submitted.created && submitted.id != ids.execution) {
            self.violate(ANSWERS, format!("a submit was told created = {} about {}", submitted.created, submitted.id));
        }
        let key = new.idempotency_key.as_ref();
        let until = key.and_then(|key| self.executions.remembered_until(&new.namespace, key));
        if !submitted.created && until.is_some_and(|until| until <= since.at) {
            self.violate(ANSWERS, format!("{} was answered for a key that is forgotten", submitted.id));
        }
    }

    fn rightly_turned_away(
        &self,
        since: Since,
        now: Millis,
        ids: SubmitIds,
        new: &NewExecution,
        rejection: &Rejection,
    ) -> bool {
        match rejection {
            Rejection::LaneDraining(lane) => {
                let name = (new.namespace.clone(), lane.clone());
                let partition = ids.execution.partition();
                *lane == new.lane && self.lanes.said(&name, partition, LaneState::Draining, since.seq)
            }
            Rejection::TimeInPast { .. } => {
                matches!(new.when, When::At(at) if at + limits::PAST_GRACE < now)
            }
            Rejection::IdempotencyMismatch { existing } => self.execution(*existing).is_some_and(|execution| {
                execution.idempotency_key == new.idempotency_key && !same_arguments(execution, new)
            }),
            _ => false,
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

    fn handed_over(&mut self, worker: &WorkerName, work: &Claimed) {
        let id = work.fence.execution;
        if self.executions.is_void(id) || (self.rollbacks > 0 && self.execution(id).is_none()) {
            return;
        }
        if self.executions.leased(work.fence.lease) != Some(id) {
            return self.violate(ANSWERS, format!("{worker} was given a lease on {id} that nobody committed"));
        }
        // A claim that is tried again long after its first lease was lost may get the same lease id under a new epoch.
        let right = self.executions.stages(id, 0).into_iter().any(|stage| {
            matches!(stage, Stage::Active(holding)
                if holding.lease.is_some_and(|(lease, _)| lease == work.fence.lease)
                    && (holding.epoch, holding.attempt, &holding.worker)
                        == (work.fence.epoch, work.fence.attempt, worker))
        });
        if !right {
            return self.violate(ANSWERS, format!("the fence on {id} is not what was committed for {worker}"));
        }
        if self.calls.input(id).is_some_and(|input| *input != work.input) {
            self.violate(ANSWERS, format!("the input of {id} is not what was submitted"));
        }
    }

    /// A renewal was answered.
    pub(crate) fn renewed(&mut self, since: Since, now: Millis, fence: Fence, answer: &Result<Millis, Error>) {
        match answer {
            Ok(until) => {
                let written = self.executions.stages(fence.execution, since.seq).into_iter().any(
                    |stage| matches!(stage, Stage::Active(holding) if holding.lease == Some((fence.lease, *until))),
                );
                if !written && !self.executions.is_void(fence.execution) {
                    self.violate(ANSWERS, format!("a lease on {} was not extended to {until}", fence.execution));
                }
            }
            Err(Error::Refused(rejection)) => self.fenced_off("a renewal", since, now, fence, rejection),
            Err(error) => self.failure("a renewal", error),
        }
    }

    /// A completion was answered.
    pub(crate) fn completed(
        &mut self,
        since: Since,
        now: Millis,
        (command, fence): (CommandId, Fence),
        result: &Payload,
        answer: &Result<(), Error>,
    ) {
        match answer {
            Ok(()) => {
                self.ended(command, fence, |end| *end == AttemptEnd::Succeeded);
                let kept = self.execution(fence.execution).and_then(|execution| execution.result.clone());
                let right = matches!((&kept, result), (Some(Held::Json(kept)), Payload::Json(sent)) if kept == sent);
                if !right && !self.executions.is_void(fence.execution) {
                    self.violate(ANSWERS, format!("the result of {} is not what was sent", fence.execution));
                }
            }
            Err(Error::Refused(rejection)) => {
                let happened = self.calls.ended(command).is_some();
                self.refused(command, happened);
                self.fenced_off("a completion", since, now, fence, rejection);
            }
            Err(error) => self.failure("a completion", error),
        }
    }

    /// A failure was answered.
    pub(crate) fn failed(
        &mut self,
        since: Since,
        now: Millis,
        (command, fence): (CommandId, Fence),
        answer: &Result<AfterFailure, Error>,
    ) {
        match answer {
            Ok(after) => {
                let told = match after {
                    AfterFailure::RetryAt(at) => Some(*at),
                    AfterFailure::Finished => None,
                };
                self.ended(
                    command,
                    fence,
                    |end| matches!(end, AttemptEnd::Failed { retry_at, .. } if *retry_at == told),
                );
            }
            Err(Error::Refused(rejection)) => {
                let happened = self.calls.ended(command).is_some();
                self.refused(command, happened);
                self.fenced_off("a failure", since, now, fence, rejection);
            }
            Err(error) => self.failure("a failure", error),
        }
    }

    /// A lease given back was answered.
    pub(crate) fn returned(&mut self, since: Since, now: Millis, fence: Fence, answer: &Result<(), Error>) {
        match answer {
            Ok(()) => {
                let held = self.executions.stages(fence.execution, since.seq).into_iter().any(|stage| {
                    matches!(stage, Stage::Active(holding) if holding.lease.is_some_and(|(id, _)| id == fence.lease))
                });
                if !held && !self.executions.is_void(fence.execution) {
                    self.violate(ANSWERS, format!("a lease on {} was given back that nobody held", fence.execution));
                }
            }
            Err(Error::Refused(rejection)) => self.fenced_off("a return", since, now, fence, rejection),
            Err(error) => self.failure("a return", error),
        }
    }

    /// An attempt was acknowledged as ended by this very call, in this way.
    fn ended(&mut self, command: CommandId, fence: Fence, right: impl Fn(&AttemptEnd) -> bool) {
        if self.executions.is_void(fence.execution) {
            return;
        }
        let stored = self.calls.ended(command).is_some_and(|(id, attempt)| {
            (*id, attempt.lease, attempt.index) == (fence.execution, fence.lease, fence.attempt) && right(&attempt.end)
        });
        if !stored {
            let what = format!("attempt {} of {} was acknowledged as ended and is not", fence.attempt, fence.execution);
            self.violate(ANSWERS, what);
        }
    }

    /// A worker was told that it does not own the execution: true at some moment since the call began.
    fn fenced_off(&mut self, call: &str, since: Since, now: Millis, fence: Fence, rejection: &Rejection) {
        if self.executions.is_void(fence.execution) {
            return;
        }
        let mut stages = self.executions.stages(fence.execution, since.seq).into_iter();
        let is_right = match rejection {
            Rejection::ExecutionNotFound(_) => stages.any(|stage| *stage == Stage::Absent),
            Rejection::NotActive { state, .. } => {
                stages.any(|stage| !matches!(stage, Stage::Active(_)) && stage.public() == Some(*state))
            }
            Rejection::StaleLease { current, given } => {
                *given == fence.epoch
                    && stages.any(|stage| {
                        matches!(stage, Stage::Active(holding) if holding.epoch == *current
                            && holding.lease.is_none_or(|(id, _)| id != fence.lease))
                    })
            }
            Rejection::LeaseExpired { expired_at } => {
                *expired_at <= now
                    && stages.any(|stage| {
                        matches!(stage, Stage::Active(holding) if holding.lease == Some((fence.lease, *expired_at)))
                    })
            }
            _ => false,
        };
        if !is_right {
            self.unjustified(call, rejection, &fence.execution);
        }
    }

    /// A lane change was answered. What was decided before the store lost commits may be lost with them.
    pub(crate) fn lane_set(&mut self, since: Since, namespace: &Namespace, lane: &Lane, answer: &Result<u64, Error>) {
        match answer {
            Ok(revision) if since.rollbacks == self.rollbacks => {
                let name = (namespace.clone(), lane.clone());
                let verdict = self.lanes.answered(&name, *revision, self.partitions);
                self.verdict("lanes", verdict);
            }
            Ok(_) => {}
            Err(Error::Refused(rejection)) => self.unjustified("a change", rejection, lane),
            Err(error) => self.failure("a lane change", error),
        }
    }

    /// Somebody looked an execution up that was acknowledged before.
    pub(crate) fn looked_up(&mut self, id: ExecutionId, answer: &Result<Option<Execution>, Error>) {
        if let Ok(None) = answer
            && self.rollbacks == 0
        {
            self.violate(ANSWERS, format!("{id} was acknowledged and cannot be found"));
        }
    }
}

/// Whether an execution was submitted with these arguments; large inputs are compared by type and size.
fn same_arguments(execution: &Execution, new: &NewExecution) -> bool {
    let input = match (&execution.input, &new.input) {
        (Held::Json(held), Payload::Json(json)) => held == json,
        (Held::Beside { content_type, bytes }, payload) => {
            **content_type == *payload.content_type() && *bytes == payload.as_bytes().len() as u64
        }
        _ => false,
    };
    let names = (&execution.lane, &execution.kind, execution.priority) == (&new.lane, &new.kind, new.priority);
    input && names && execution.requires == new.requires && execution.tags == new.tags && execution.policy == new.policy
}
