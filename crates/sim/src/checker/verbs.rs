//! Answers to workers about the ends of their leases and about their progress are true.

use super::answers::ANSWERS;
use super::calls::Since;
use super::{Checker, Stage};
use onward_core::record::{Attempt, AttemptEnd, EndedAttempt, Execution, Pause, Record, State};
use onward_core::{CommandId, End, Fence, Key, Millis, Progress, Renewed, Report, Reported};
use onward_engine::Error;

impl Checker {
    /// A worker's report goes out.
    pub(crate) fn reports(&mut self, report: &Report) {
        self.calls.sent(report.command, Some(report.fence));
    }

    /// A worker's report was answered.
    pub(crate) fn reported(&mut self, since: Since, now: Millis, report: &Report, answer: &Result<Reported, Error>) {
        let Report { command, fence, end } = report;
        let (command, fence) = (*command, *fence);
        let reported = match answer {
            Ok(reported) => *reported,
            Err(error) => {
                let happened = self.calls.ended(command).is_some() || self.was_paused(fence, command, |_| true);
                self.report_refused(command, fence, happened, error);
                return self.fenced_off(end.name(), since, now, fence, error);
            }
        };
        let follows = |again_at: Option<Millis>, ended| reported == Reported { again_at, ended };
        match end {
            End::Complete(complete) => {
                self.ended(command, fence, |end| *end == AttemptEnd::Succeeded && follows(None, true));
                self.resulted(fence, &complete.result);
            }
            End::Fail(_) => self.ended(command, fence, |end| match end {
                AttemptEnd::Failed { retry_at, held, .. } => follows(*retry_at, retry_at.is_none() && !held),
                _ => false,
            }),
            End::Cancel(_) => self.ended(command, fence, |end| *end == AttemptEnd::Cancelled && follows(None, true)),
            End::Delay(_) => {
                let right = |pause: Pause| matches!(pause, Pause::Delayed { until } if follows(Some(until), false));
                if !self.was_paused(fence, command, right) && !self.executions.is_void(fence.execution) {
                    let what = format!("a delay of {} was acknowledged as {reported:?} and is not", fence.execution);
                    self.violate(ANSWERS, what);
                }
            }
            // An attempt that had a pause before goes on after this one too.
            End::Unclaim(_) if self.was_paused(fence, command, |pause| pause == Pause::Returned) => {
                if !follows(None, false) {
                    self.violate(ANSWERS, format!("{} was given back and answered {reported:?}", fence.execution));
                }
            }
            End::Unclaim(_) => {
                self.ended(command, fence, |end| *end == AttemptEnd::Returned && follows(None, false));
            }
        }
    }

    /// Whether a call ever paused an attempt so, as its execution or the attempt itself remembers. One commit may pause an
    /// attempt, end it and begin another.
    pub(super) fn was_paused(&self, fence: Fence, command: CommandId, so: impl Fn(Pause) -> bool) -> bool {
        let followed = match self.record(&Key::Attempt(fence.execution, fence.attempt)) {
            Some(Record::Attempt(ended)) => ended.pauses.iter().find(|(by, _)| *by == command).map(|(_, pause)| *pause),
            _ => None,
        };
        followed.is_some_and(&so) || self.past.any(fence.execution, |x| paused(x, fence, command).is_some_and(&so))
    }

    /// A worker says how far it is.
    pub(crate) fn says(&mut self, progress: &Progress) {
        if let Some(percent) = progress.percent {
            self.calls.says(progress.fence.lease, percent);
        }
    }

    /// A worker that said how far it is was answered.
    pub(crate) fn progressed(
        &mut self,
        since: Since,
        now: Millis,
        progress: &Progress,
        answer: &Result<Renewed, Error>,
    ) {
        let Progress { fence, percent, message } = progress;
        let fence = *fence;
        match answer {
            Ok(renewed) => {
                let said = |x: &Execution| {
                    let kept = x.progress.as_ref().map(|said| (said.percent, Some(&said.message)));
                    let right = kept == Some((*percent, message.as_ref()));
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
                let seen = self.past.any(fence.execution, said)
                    || self.ended_since(since, fence)
                    || self.overtaken(since, fence, *percent);
                if !seen && !self.executions.is_void(fence.execution) {
                    self.violate(ANSWERS, format!("what was said about {} is not remembered", fence.execution));
                }
                self.told_to_stop(since, fence, renewed);
            }
            Err(error) => self.fenced_off("progress", since, now, fence, error),
        }
    }

    /// Whether another report about how far an attempt is was committed during the call, perhaps in the same commit behind
    /// it, so that no record shows the first.
    fn overtaken(&self, since: Since, fence: Fence, percent: Option<u8>) -> bool {
        self.past.changed_since(fence.execution, since.seq, |before, after| {
            let other = after.progress.as_ref().and_then(|said| said.percent).filter(|other| Some(*other) != percent);
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
}

/// What a call that paused an attempt was answered, as the execution remembers it.
fn paused(execution: &Execution, fence: Fence, command: CommandId) -> Option<Pause> {
    let running = match &execution.state {
        State::Active(active) => Some(&active.attempt),
        State::Waiting(waiting) => waiting.next.paused().map(|paused| &paused.attempt),
        State::Finished(_) => None,
    };
    let running = running.filter(|attempt| attempt.number == fence.attempt).map(|Attempt { pauses, .. }| pauses);
    let last = execution.last.as_ref().filter(|last| last.number == fence.attempt);
    let pauses = running.or(last.map(|EndedAttempt { pauses, .. }| pauses))?;
    pauses.iter().find(|(by, _)| *by == command).map(|(_, pause)| *pause)
}
