//! Answers to workers that pause, report on or give up their work are true.

use super::answers::ANSWERS;
use super::calls::Since;
use super::{Checker, Stage};
use onward_core::record::{Attempt, AttemptEnd, EndedAttempt, Execution, Pause, Record, State};
use onward_core::{CommandId, Fence, Key, Millis, Reason, Renewed};
use onward_engine::Error;

impl Checker {
    /// A worker that goes on later was answered.
    pub(crate) fn delayed(
        &mut self,
        since: Since,
        now: Millis,
        (command, fence): (CommandId, Fence),
        answer: &Result<Millis, Error>,
    ) {
        let until = match answer {
            Ok(until) => *until,
            Err(error) => {
                let happened = self.was_paused(fence, command, |_| true);
                self.report_refused(command, fence, happened, error);
                return self.fenced_off("a delay", since, now, fence, error);
            }
        };
        let right = |pause| pause == Pause::Delayed { until };
        if !self.was_paused(fence, command, right) && !self.executions.is_void(fence.execution) {
            self.violate(ANSWERS, format!("{} was acknowledged as delayed until {until} and is not", fence.execution));
        }
    }

    /// Whether a call ever paused an attempt so, as its execution or the attempt itself remembers. One commit may pause an
    /// attempt, end it and begin another.
    fn was_paused(&self, fence: Fence, command: CommandId, so: impl Fn(Pause) -> bool) -> bool {
        let followed = match self.record(&Key::Attempt(fence.execution, fence.attempt)) {
            Some(Record::Attempt(ended)) => ended.pauses.iter().find(|(by, _)| *by == command).map(|(_, pause)| *pause),
            _ => None,
        };
        followed.is_some_and(&so) || self.history.any(fence.execution, |x| paused(x, fence, command).is_some_and(&so))
    }

    /// A worker says how far it is.
    pub(crate) fn says(&mut self, fence: Fence, percent: u8) {
        self.calls.says(fence.lease, percent);
    }

    /// A worker that said how far it is was answered.
    pub(crate) fn progressed(
        &mut self,
        since: Since,
        now: Millis,
        fence: Fence,
        (percent, message): (u8, &Reason),
        answer: &Result<Renewed, Error>,
    ) {
        match answer {
            Ok(renewed) => {
                let said = |x: &Execution| {
                    let progress = x.progress.as_ref();
                    let right = progress.is_some_and(|said| (said.percent, &said.message) == (Some(percent), message));
                    let stop = match &x.state {
                        State::Active(active) if active.lease.id == fence.lease => active.stop.clone(),
                        _ => return false,
                    };
                    // One commit may hold both what was said and, behind it, a wish that it stop, or stop sooner.
                    right
                        && match (&stop, &renewed.stop) {
                            (_, None) => true,
                            (Some(stop), Some(told)) => stop == told || stop.until < told.until,
                            (None, Some(_)) => false,
                        }
                };
                let seen = self.history.any(fence.execution, said)
                    || self.ended_since(since, fence)
                    || self.overtaken(since, fence, percent);
                if !seen && !self.executions.is_void(fence.execution) {
                    self.violate(ANSWERS, format!("what was said about {} is not remembered", fence.execution));
                }
                self.told_to_stop(since, fence, renewed);
            }
            Err(error) => self.fenced_off("a report", since, now, fence, error),
        }
    }

    /// Whether another report about how far an attempt is was committed during the call, perhaps in the same commit behind
    /// it, so that no record shows the first.
    fn overtaken(&self, since: Since, fence: Fence, percent: u8) -> bool {
        self.history.changed_since(fence.execution, since.seq, |before, after| {
            let other = after.progress.as_ref().and_then(|said| said.percent).filter(|other| *other != percent);
            before.progress != after.progress && other.is_some_and(|other| self.calls.said(fence.lease, other))
        })
    }

    /// Whether a lease ended while its holder's call was under way. What the call did may have been overtaken within
    /// one commit, and then no record shows it.
    pub(super) fn ended_since(&self, since: Since, fence: Fence) -> bool {
        let stages = self.executions.stages(fence.execution, since.seq);
        let held = |stage: &&Stage| stage.held_under(fence.lease).is_some();
        stages.iter().any(held) && !stages.last().is_some_and(held)
    }

    /// A worker learns that it was asked to stop, and only then.
    pub(super) fn told_to_stop(&mut self, since: Since, fence: Fence, renewed: &Renewed) {
        let told = renewed.stop.as_ref().map(|stop| stop.until);
        let right = self.ever_held(since, fence, |holding| holding.stop == told);
        if !right && !self.executions.is_void(fence.execution) {
            self.violate(ANSWERS, format!("the holder of {} was told to stop: {told:?}", fence.execution));
        }
    }

    /// A worker that wants its work no more was answered.
    pub(crate) fn given_up(
        &mut self,
        since: Since,
        now: Millis,
        (command, fence): (CommandId, Fence),
        answer: &Result<(), Error>,
    ) {
        match answer {
            Ok(()) => self.ended(command, fence, |end| *end == AttemptEnd::Cancelled),
            Err(error) => self.not_ended("a cancellation", since, now, (command, fence), error),
        }
    }
}

/// What a call that paused an attempt was answered, as the execution remembers it.
fn paused(execution: &Execution, fence: Fence, command: CommandId) -> Option<Pause> {
    let running = match &execution.state {
        State::Active(active) => Some(&active.attempt),
        State::Waiting(waiting) => waiting.next.paused().map(|paused| &paused.attempt),
        State::Finished(_) => None,
    };
    let running = running.filter(|attempt| attempt.index == fence.attempt).map(|Attempt { pauses, .. }| pauses);
    let last = execution.last.as_ref().filter(|last| last.index == fence.attempt);
    let pauses = running.or(last.map(|EndedAttempt { pauses, .. }| pauses))?;
    pauses.iter().find(|(by, _)| *by == command).map(|(_, pause)| *pause)
}
