//! Answers to submits are true: what was acknowledged exists as it was asked for, and who was turned away deserved it.

use super::answers::ANSWERS;
use super::calls::Since;
use super::{Checker, Stage};
use onward_core::record::LaneState;
use onward_core::{CommandId, ExecutionId, Millis, NewExecution, PartitionId, Rejection, Submit, Submitted, limits};
use onward_engine::Error;

impl Checker {
    /// A submit goes out.
    pub(crate) fn submits(&mut self, submit: &Submit) {
        self.calls.submits(submit);
        self.sends_along(submit);
    }

    /// A submit was answered.
    pub(crate) fn submitted(&mut self, since: Since, now: Millis, submit: &Submit, answer: &Result<Submitted, Error>) {
        let Submit { command, id, new, .. } = submit;
        // A caller that is told of another execution is told that its own does not exist.
        if let Err(Error::Refused(_)) | Ok(Submitted { created: false, .. }) = answer {
            let happened = self.executions.created_by(*command).is_some();
            self.refused(*command, *id, happened);
        }
        self.answered(since, now, Some((*command, *id)), new, answer);
    }

    /// Many submits in one call were answered. The engine chose their ids, and the answers come in their order.
    pub(crate) fn submitted_many(
        &mut self,
        since: Since,
        now: Millis,
        many: &[NewExecution],
        answer: &Result<Vec<Result<Submitted, Error>>, Error>,
    ) {
        let answers = match answer {
            Ok(answers) => answers,
            Err(error) => return self.violate(ANSWERS, format!("{} submits were refused: {error}", many.len())),
        };
        if answers.len() != many.len() {
            return self.violate(ANSWERS, format!("{} submits got {} answers", many.len(), answers.len()));
        }
        for (new, answer) in many.iter().zip(answers) {
            self.answered(since, now, None, new, answer);
        }
    }

    fn answered(
        &mut self,
        since: Since,
        now: Millis,
        ids: Option<(CommandId, ExecutionId)>,
        new: &NewExecution,
        answer: &Result<Submitted, Error>,
    ) {
        match answer {
            Ok(submitted) => {
                self.acknowledged.submitted(submitted.id);
                self.accepted(since, ids, new, *submitted);
            }
            Err(Error::Refused(rejection)) => {
                let partition = ids.map(|(_, id)| id.partition());
                let is_right = self.rightly_turned_away(since, now, partition, new, rejection)
                    || ids.is_some_and(|ids| self.signal_along_refused((since, now), ids, new, rejection));
                if since.rollbacks == self.rollbacks && !is_right {
                    self.unjustified("a submit", rejection, &new.lane);
                }
            }
            Err(error) => self.failure("a submit", error),
        }
    }

    fn accepted(
        &mut self,
        since: Since,
        ids: Option<(CommandId, ExecutionId)>,
        new: &NewExecution,
        submitted: Submitted,
    ) {
        let Submitted { id, created, .. } = submitted;
        // What was removed may be born again, and its key may go on standing for it.
        let lost = self.rollbacks > 0 && (self.executions.is_void(id) || self.execution(id).is_none());
        if lost || self.executions.is_removed(id) {
            return;
        }
        if !created && let Some(key) = &new.unique_key {
            let held = self.executions.stages(id, since.seq).into_iter().any(Stage::is_unfinished);
            let right = self.past.any(id, |x| (&x.namespace, x.unique_key.as_ref()) == (&new.namespace, Some(key)));
            if !held || !right {
                self.violate(ANSWERS, format!("{id} was answered for unique key {key}, which did not stand for it"));
            }
            return;
        }
        // Priority and tags may have changed since.
        let Some(execution) = self.past.first(id) else {
            return self.violate(ANSWERS, format!("{id} was acknowledged and does not exist"));
        };
        let created_by = execution.created_by;
        if !execution.is_purging() && !self.same_arguments(execution, new) {
            return self.violate(ANSWERS, format!("{id} stands for a submit with other arguments"));
        }
        let is_right = match ids {
            Some((command, own)) => created == (created_by == command) && (!created || id == own),
            None => !created || self.past.was(id, since.seq, None),
        };
        let key = new.idempotency_key.as_ref();
        if !is_right || (!created && key.is_none()) {
            return self.violate(ANSWERS, format!("a submit was told created = {created} about {id}"));
        }
        if created && let Some(what) = self.past.first(id).and_then(|born| self.differs_from(new, born)) {
            return self.violate(ANSWERS, format!("{id} {what}"));
        }
        let first = self.past.first(id).and_then(|execution| self.calls.request(execution.created_by));
        let other = FIELDS.iter().find(|field| first.is_some_and(|first| differs_in(field, first, new)));
        if let (false, Some(_), Some(other)) = (created, key, other) {
            return self.violate(ANSWERS, format!("{id} was answered to a submit with another {other}"));
        }
        let until = key.and_then(|key| self.executions.keys.remembered_until(&new.namespace, key));
        if !created && until.is_some_and(|until| until <= since.at) {
            self.violate(ANSWERS, format!("{id} was answered for a key that is forgotten"));
        }
    }

    fn rightly_turned_away(
        &self,
        since: Since,
        now: Millis,
        partition: Option<PartitionId>,
        new: &NewExecution,
        rejection: &Rejection,
    ) -> bool {
        match rejection {
            Rejection::LaneDraining(lane) => {
                let name = (new.namespace.clone(), lane.clone());
                let drains = |at| self.lanes.said(&name, at, LaneState::Draining, since.seq);
                *lane == new.lane && partition.map_or_else(|| (0..self.partitions).map(PartitionId).any(drains), drains)
            }
            Rejection::TimeInPast { .. } => new.run_at.is_some_and(|at| at + limits::PAST_GRACE < now),
            Rejection::IdempotencyMismatch { existing, field } => self.past.first(*existing).is_some_and(|execution| {
                (&execution.namespace, &execution.idempotency_key) == (&new.namespace, &new.idempotency_key)
                    && self.calls.request(execution.created_by).is_none_or(|first| differs_in(field, first, new))
            }),
            _ => false,
        }
    }
}

/// The fields that make two submits under one key different.
const FIELDS: [&str; 11] = [
    "kind",
    "lane",
    "input",
    "priority",
    "delay",
    "run_at",
    "expires_after",
    "expires_at",
    "tags",
    "requires",
    "policy",
];

fn differs_in(field: &str, one: &NewExecution, other: &NewExecution) -> bool {
    match field {
        "kind" => one.kind != other.kind,
        "lane" => one.lane != other.lane,
        "input" => one.payload() != other.payload(),
        "priority" => one.priority != other.priority,
        "delay" => one.delay != other.delay,
        "run_at" => one.run_at != other.run_at,
        "expires_after" => one.expires_after != other.expires_after,
        "expires_at" => one.expires_at != other.expires_at,
        "tags" => one.tags != other.tags,
        "requires" => one.requires != other.requires,
        "policy" => one.policy != other.policy,
        _ => false,
    }
}
