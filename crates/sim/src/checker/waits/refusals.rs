//! Refusals about waits were right at some moment during the call.

use super::condition::{Come, closing, holds, named, times};
use super::scene::{mail, suspension};
use crate::checker::{Checker, Since, Stage};
use onward_core::record::{Execution, OnTimeout, PublicState, WaitRef};
use onward_core::{Act, CommandId, ExecutionId, Key, Millis, NewExecution, Rejection, Signal, limits};

impl Checker {
    pub(super) fn signal_rightly_refused(
        &self,
        since: Since,
        now: Millis,
        signal: &Signal,
        rejection: &Rejection,
    ) -> bool {
        let id = signal.execution;
        let stages = self.executions.stages(id, since.seq);
        let any = |right: &dyn Fn(&Stage) -> bool| stages.iter().any(|stage| right(stage));
        match rejection {
            Rejection::ExecutionNotFound(_) => any(&|stage| *stage == Stage::Absent),
            Rejection::Purged(_) => any(&|stage| matches!(stage, Stage::Purging(_))),
            Rejection::Finished { state, .. } => {
                let ended = |stage: &Stage| matches!(stage, Stage::Finished(outcome) if outcome.public() == *state);
                // What time has ended is over before anybody wrote it down.
                let late = |x: &Execution| {
                    *state == PublicState::Expired && x.deadline.is_some_and(|deadline| deadline <= now)
                };
                any(&ended) || self.past.since(id, since.seq).any(|x| ends_by_time(x, now) == Some(*state) || late(x))
            }
            Rejection::WaitpointClosed { wait } => self.is_closed(since, now, signal, wait),
            Rejection::MailboxFull(_) => {
                self.past.since(id, since.seq).any(|x| mail(x).len() + BATCHED >= limits::MAILBOX_MAX)
            }
            Rejection::TokenExpired { at } => {
                *at <= now && signal.proof.as_ref().is_some_and(|proof| proof.not_after == *at)
            }
            Rejection::InvalidArgument { field: "name", .. } => signal.proof.as_ref().is_some_and(|proof| {
                !proof.names.is_empty() && signal.signal.name.as_ref().is_none_or(|name| !proof.names.contains(name))
            }),
            _ => false,
        }
    }

    /// Whether the signal of a submit was rightly refused by who had its unique key.
    pub(in crate::checker) fn signal_along_refused(
        &self,
        (since, now): (Since, Millis),
        (command, _): (CommandId, ExecutionId),
        new: &NewExecution,
        rejection: &Rejection,
    ) -> bool {
        let (Some(signal), Some(key)) = (&new.signal, &new.unique_key) else { return false };
        if !matches!(rejection, Rejection::WaitpointClosed { .. } | Rejection::MailboxFull(_)) {
            return false;
        }
        self.past.with_unique_key(&new.namespace, key).into_iter().any(|execution| {
            let (namespace, signal) = (new.namespace.clone(), signal.clone());
            let signal = Signal { command, namespace, execution, by: None, proof: None, signal };
            self.signal_rightly_refused(since, now, &signal, rejection)
        })
    }

    /// Whether the wait that a signal was for was over, or belongs to another life.
    fn is_closed(&self, since: Since, now: Millis, signal: &Signal, wait: &WaitRef) -> bool {
        let id = signal.execution;
        let life = signal.proof.as_ref().map(|proof| proof.wait.life);
        let recorded = self.parts(id, "w").any(|(key, _)| matches!(key, Key::Wait(_, other) if other.wait == *wait));
        let closed = |x: &Execution| {
            let other_life = life.is_some_and(|life| life != x.life);
            other_life
                || suspension(x).is_some_and(|suspended| {
                    let whole = suspended.timeout.is_some_and(|timeout| timeout.at <= now);
                    let own = times(&suspended.condition).iter().any(|(of, until)| of == wait && *until <= now);
                    let due =
                        times(&suspended.condition).into_iter().filter(|(_, until)| *until <= now).map(|(of, _)| of);
                    let over = suspended.over.keys().cloned().chain(due).collect();
                    let come = Come { taken: suspended.taken.clone(), over };
                    let met = holds(&suspended.condition, &come) && closing(&suspended.condition, &come).contains(wait);
                    suspended.over.contains_key(wait)
                        || own
                        || met
                        || (whole && named(&suspended.condition).contains(wait))
                })
        };
        recorded || self.past.since(id, since.seq).any(closed)
    }

    /// Whether what an operator wanted with a wait or a hold was rightly refused.
    pub(in crate::checker) fn wait_act_rightly_refused(
        &self,
        since: Since,
        id: ExecutionId,
        act: &Act,
        rejection: &Rejection,
    ) -> bool {
        let stages = self.executions.stages(id, since.seq);
        let any = |right: &dyn Fn(&Stage) -> bool| stages.iter().any(|stage| right(stage));
        match (act, rejection) {
            (Act::Pause(_), Rejection::Stopping(_)) => {
                any(&|stage| matches!(stage, Stage::Active(holding) if holding.is_asked_to_stop()))
            }
            (Act::Resume(_), Rejection::NotSuspended { state, .. }) => any(&|stage| {
                let neither = !matches!(stage, Stage::Suspended(_) | Stage::Held { .. });
                neither && (stage.public() == Some(*state) || is_due_to_be(stage, *state))
            }),
            // A hold does not change whether there is a wait to end.
            (Act::CloseWait(_), Rejection::NotSuspended { state, .. }) => any(&|stage| {
                let not = !matches!(stage.beneath(), Stage::Suspended(_));
                not && (stage.public() == Some(*state) || is_due_to_be(stage, *state))
            }),
            (Act::Resume(resume), Rejection::InvalidArgument { field: "delay", .. }) => {
                resume.delay.is_some() && any(&|stage| matches!(stage, Stage::Held { .. }))
            }
            (Act::CloseWait(close), Rejection::WaitpointClosed { .. }) => self.past.since(id, since.seq).any(|x| {
                suspension(x).is_some_and(|suspended| {
                    let open = |wait: &WaitRef| close.wait.reaches(wait) && !suspended.over.contains_key(wait);
                    !named(&suspended.condition).iter().any(open)
                })
            }),
            _ => false,
        }
    }
}

/// Signals that one commit may add behind those that a sender found.
const BATCHED: usize = 16;

/// By the clock of its writer, which may be behind, ready work may still be delayed.
fn is_due_to_be(stage: &Stage, state: PublicState) -> bool {
    matches!(stage, Stage::Ready(_)) && state == PublicState::Delayed
}

/// How time ends a suspended execution, if its time is over.
fn ends_by_time(execution: &Execution, now: Millis) -> Option<PublicState> {
    let timeout = suspension(execution)?.timeout.filter(|timeout| timeout.at <= now)?;
    match timeout.then {
        OnTimeout::Fail => Some(PublicState::Failed),
        OnTimeout::Cancel => Some(PublicState::Cancelled),
        OnTimeout::Expire => Some(PublicState::Expired),
        OnTimeout::Resume | OnTimeout::Escalate => None,
    }
}
