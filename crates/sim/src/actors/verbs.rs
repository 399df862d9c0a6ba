//! The verbs that callers send: how each is shown, and what the checkers learn of it and of its answer.

use crate::checker::{Checker, Since};
use onward_core::{Addressed, Millis, NewSignal, Operate, Progress, Report, Signal, SignalName, Submit, Suspend};
use onward_engine::Error;

/// A verb whose answers are checked.
pub(crate) trait WatchedVerb: Addressed + Clone {
    /// What a trace says about it.
    fn shown(&self) -> String;

    /// Somebody sends it, perhaps again.
    fn goes_out(&self, checker: &mut Checker);

    /// Its answer came.
    fn answered(&self, checker: &mut Checker, since: Since, now: Millis, answer: &Result<Self::Reply, Error>);
}

impl WatchedVerb for Submit {
    fn shown(&self) -> String {
        let new = &*self.new;
        let key = new.idempotency_key.as_ref().map_or("-", |key| key.as_str());
        let when = new.when().unwrap_or_default();
        format!("submit {} key {key} to {} {when:?}", self.id, new.lane)
    }

    fn goes_out(&self, checker: &mut Checker) {
        checker.submits(self);
    }

    fn answered(&self, checker: &mut Checker, since: Since, now: Millis, answer: &Result<Self::Reply, Error>) {
        checker.submitted(since, now, self, answer);
    }
}

impl WatchedVerb for Report {
    fn shown(&self) -> String {
        let Self { command, fence, end } = self;
        format!("{} {} epoch {} by {command}", end.name(), fence.execution, fence.epoch)
    }

    fn goes_out(&self, checker: &mut Checker) {
        checker.reports(self);
    }

    fn answered(&self, checker: &mut Checker, since: Since, now: Millis, answer: &Result<Self::Reply, Error>) {
        checker.reported(since, now, self, answer);
    }
}

impl WatchedVerb for Progress {
    fn shown(&self) -> String {
        format!("progress {} epoch {} {:?}", self.fence.execution, self.fence.epoch, self.percent)
    }

    fn goes_out(&self, checker: &mut Checker) {
        checker.says(self);
    }

    fn answered(&self, checker: &mut Checker, since: Since, now: Millis, answer: &Result<Self::Reply, Error>) {
        checker.progressed(since, now, self, answer);
    }
}

impl WatchedVerb for Operate {
    fn shown(&self) -> String {
        format!("{} {} by {} {:?}", self.act.name(), self.execution, self.command, self.act)
    }

    fn goes_out(&self, checker: &mut Checker) {
        checker.operates(self);
    }

    fn answered(&self, checker: &mut Checker, since: Since, _: Millis, answer: &Result<Self::Reply, Error>) {
        checker.operated(since, self, answer);
    }
}

impl WatchedVerb for Suspend {
    fn shown(&self) -> String {
        let Self { command, fence, new } = self;
        format!("suspend {} epoch {} by {command} on {new:?}", fence.execution, fence.epoch)
    }

    fn goes_out(&self, checker: &mut Checker) {
        checker.suspends(self);
    }

    fn answered(&self, checker: &mut Checker, since: Since, now: Millis, answer: &Result<Self::Reply, Error>) {
        checker.suspended(since, now, self, answer);
    }
}

impl WatchedVerb for Signal {
    fn shown(&self) -> String {
        let NewSignal { wait, name, idempotency_key, .. } = &*self.signal;
        let (name, key) = (name.as_ref().map(SignalName::as_str), idempotency_key.as_ref().map(|key| key.as_str()));
        let (own, by, proof) = (self.signal_id(), &self.by, &self.proof);
        format!("signal {own} to {} {wait} name {name:?} key {key:?} by {by:?} proof {proof:?}", self.execution)
    }

    fn goes_out(&self, checker: &mut Checker) {
        checker.signals(self);
    }

    fn answered(&self, checker: &mut Checker, since: Since, now: Millis, answer: &Result<Self::Reply, Error>) {
        checker.signalled(since, now, self, answer);
    }
}
