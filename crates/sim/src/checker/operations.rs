//! Answers to operators are true: what was acknowledged was done and is remembered, and a refusal was right at some
//! moment during the call.

use super::calls::Since;
use super::{Checker, Stage};
use crate::checker::answers::ANSWERS;
use onward_core::record::Execution;
use onward_core::{ActOutcome, ExecutionId, Lane, Namespace, Operate, Rejection};
use onward_engine::{Error, Report};

impl Checker {
    /// An operator's call goes out.
    pub(crate) fn operates(&mut self, operate: &Operate) {
        self.calls.operates(operate);
    }

    /// Somebody looks for an execution to do something with.
    pub(crate) fn pick(&self, draw: u64, fits: impl Fn(&Stage) -> bool) -> Option<&Execution> {
        self.executions.pick(draw, fits).and_then(|id| self.execution(id))
    }

    /// Whether an execution was ever removed.
    pub(crate) fn is_removed(&self, id: ExecutionId) -> bool {
        self.executions.is_removed(id)
    }

    /// An operator's call was answered.
    pub(crate) fn operated(&mut self, since: Since, operate: &Operate, answer: &Result<ActOutcome, Error>) {
        let (command, id, act) = (operate.command, operate.execution, &operate.act);
        // What is absent counts as purged, and remembers nothing.
        if answer.as_ref().is_ok_and(|outcome| *outcome != ActOutcome::Purged) {
            self.acknowledged.operated(command, id);
        }
        match answer {
            Ok(ActOutcome::Purged) => {
                let gone = |stage: &&Stage| matches!(stage, Stage::Purging(_) | Stage::Absent);
                let stages = self.executions.stages(id, since.seq);
                if !stages.iter().any(gone) && !self.executions.is_void(id) {
                    self.violate(ANSWERS, format!("{id} was acknowledged as removed and is still there"));
                }
            }
            Ok(outcome) => {
                let done = |x: &Execution| x.operated.iter().any(|done| done.by == command && done.outcome == *outcome);
                if !self.past.any(id, done) && !self.executions.is_void(id) {
                    self.violate(ANSWERS, format!("{} of {id} was acknowledged and never happened", act.name()));
                }
            }
            Err(Error::Refused(rejection)) => {
                let happened = self.past.any(id, |x| x.operated.iter().any(|done| done.by == command));
                self.refused(command, id, happened);
                let is_right = self.rightly_refused(since, id, rejection);
                let is_right = is_right || self.wait_act_rightly_refused(since, id, act, rejection);
                if !is_right && since.rollbacks == self.rollbacks && !self.executions.is_void(id) {
                    self.unjustified(act.name(), rejection, &id);
                }
            }
            Err(error) => self.failure(act.name(), error),
        }
    }

    fn rightly_refused(&self, since: Since, id: ExecutionId, rejection: &Rejection) -> bool {
        let stages = self.executions.stages(id, since.seq);
        let any = |right: &dyn Fn(&Stage) -> bool| stages.iter().any(|stage| right(stage));
        match rejection {
            Rejection::ExecutionNotFound(_) => any(&|stage| *stage == Stage::Absent),
            Rejection::Purged(_) => any(&|stage| matches!(stage, Stage::Purging(_))),
            Rejection::Finished { state, .. } => {
                any(&|stage| matches!(stage, Stage::Finished(outcome) if outcome.public() == *state))
            }
            Rejection::NotFinished { state, .. } => {
                any(&|stage| stage.is_unfinished() && stage.public() == Some(*state))
            }
            Rejection::NotWaiting { state, .. } => {
                let waits = |stage: &Stage| matches!(stage.beneath(), Stage::Ready(_) | Stage::Delayed { .. });
                any(&|stage| !waits(stage) && stage.public() == Some(*state))
            }
            Rejection::NotActive { state, .. } => {
                any(&|stage| !matches!(stage, Stage::Active(_)) && stage.public() == Some(*state))
            }
            Rejection::StaleLease { current, .. } => {
                any(&|stage| matches!(stage, Stage::Active(holding) if holding.epoch == *current))
            }
            Rejection::ReplaysExhausted { replays, .. } => {
                self.past.any(id, |x| x.replays == *replays && x.replays >= x.policy.max_replays())
            }
            Rejection::UniqueKeyTaken { existing } => {
                let key = |id| self.past.first(id).and_then(|first| first.unique_key.clone());
                let unfinished = self.executions.stages(*existing, since.seq).into_iter().any(Stage::is_unfinished);
                *existing != id && key(id) == key(*existing) && unfinished
            }
            _ => false,
        }
    }

    /// A lane change was answered. What was decided before the store lost commits may be lost with them.
    pub(crate) fn lane_set(&mut self, since: Since, namespace: &Namespace, lane: &Lane, answer: &Result<u64, Error>) {
        if let Ok(revision) = answer {
            self.acknowledged.decided(namespace, lane, *revision);
        }
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

    /// The store was examined. Nothing here damages it, so whatever is found is imagined, and its repair would do harm;
    /// only a partition that lost commits may not have what was decided about a lane.
    pub(crate) fn examined(&mut self, answer: &Result<Report, Error>) {
        match answer {
            Ok(report) => {
                let lost = |code| code == "lane_copy_differs" && self.rollbacks > 0;
                if let Some(ailment) = report.ailments.iter().find(|ailment| !lost(ailment.code)) {
                    self.violate("doctor", format!("{ailment:?} in a healthy store"));
                }
            }
            Err(error) => self.failure("an examination", error),
        }
    }
}
