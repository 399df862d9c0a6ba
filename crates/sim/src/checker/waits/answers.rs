//! Answers about waits are true: a signal did what its sender was told, and an attempt was suspended, or told what its waits took.

use super::condition::{Come, holds};
use crate::checker::answers::ANSWERS;
use crate::checker::{Checker, Since, Stage};
use onward_core::record::{Execution, Pause, Record, Taken, WaitId, WaitOver, WaitRef};
use onward_core::{
    Claimed, Condition, ExecutionId, Fence, Key, Millis, NewSuspension, PayloadSlot, Rejection, Signal, Signalled,
    Suspend, Suspended, TakenSignal, WaitResult, Woken,
};
use onward_engine::Error;

/// The checker of waits, by name.
pub(super) const WAITS: &str = "waits";

impl Checker {
    /// A signal was answered.
    pub(crate) fn signalled(&mut self, since: Since, now: Millis, signal: &Signal, answer: &Result<Signalled, Error>) {
        let (id, own) = (signal.execution, signal.signal_id());
        match answer {
            Ok(told) => {
                self.acknowledged.signalled(id, own);
                let known = self.waits.effects.get(&(id, own)).copied();
                let is_right = told.signal == own && known == Some(told.effect);
                if !is_right && !self.executions.is_void(id) && !self.executions.is_removed(id) {
                    self.violate(ANSWERS, format!("signal {own} of {id} was answered {told:?} and is {known:?}"));
                }
                self.named_as_told(id, told);
            }
            Err(Error::Refused(rejection)) => {
                let happened = self.waits.effects.contains_key(&(id, own));
                // A signal with a key or a proof may have happened by another call, and what is being removed denies nothing.
                let denied = !matches!(rejection, Rejection::Purged(_));
                if denied && signal.signal.idempotency_key.is_none() && signal.proof.is_none() {
                    self.refused(signal.command, id, happened);
                }
                let is_right = self.signal_rightly_refused(since, now, signal, rejection);
                self.waits.tally.note(refusal(rejection));
                if !is_right && since.rollbacks == self.rollbacks && !self.executions.is_void(id) {
                    self.unjustified("a signal", rejection, &id);
                }
            }
            Err(error) => self.failure("a signal", error),
        }
    }

    /// The name that stands is that of the record.
    fn named_as_told(&mut self, id: ExecutionId, told: &Signalled) {
        if let Some(Record::Signal(record)) = self.record(&Key::Signal(id, told.signal))
            && record.name != told.name
        {
            self.violate(ANSWERS, format!("signal {} of {id} was answered with another name: {told:?}", told.signal));
        }
    }

    /// A worker's wish to be suspended was answered.
    pub(crate) fn suspended(
        &mut self,
        since: Since,
        now: Millis,
        suspend: &Suspend,
        answer: &Result<Suspended, Error>,
    ) {
        let Suspend { command, fence, new } = suspend;
        let (command, fence, id) = (*command, *fence, suspend.fence.execution);
        let impossible = is_impossible(new);
        match answer {
            Ok(Suspended { met }) => {
                if impossible {
                    return self.violate(WAITS, format!("{id} waits for what can never come: {:?}", new.condition));
                }
                match met {
                    None => {
                        let suspended = self.was_paused(fence, command, |pause| pause == Pause::Suspended);
                        if !suspended && !self.executions.is_void(id) {
                            self.violate(ANSWERS, format!("{id} was acknowledged as suspended and never was"));
                        }
                    }
                    Some(woken) => {
                        self.waits.tally.note("met at once");
                        self.met(since, fence, new, woken);
                    }
                }
            }
            Err(Error::Refused(Rejection::ConditionUnsatisfiable { .. } | Rejection::InvalidArgument { .. }))
                if impossible =>
            {
                self.waits.tally.note("suspend refused: impossible");
            }
            Err(error) => {
                let happened = self.was_paused(fence, command, |_| true);
                self.report_refused(command, fence, happened, error);
                self.fenced_off("suspend", since, now, fence, error);
            }
        }
    }

    /// All had come already: the condition holds with what was told, and the lease lives on.
    fn met(&mut self, since: Since, fence: Fence, asked: &NewSuspension, woken: &Woken) {
        let id = fence.execution;
        if self.executions.is_void(id) || self.executions.is_removed(id) {
            return;
        }
        if !self.ever_held(since, fence, |_| true) {
            return self.violate(ANSWERS, format!("{id} was told to go on under a lease that had ended"));
        }
        let taken = |one: &WaitResult| {
            let wait = one.wait.clone();
            let signals = one.signals.iter().cloned();
            signals
                .map(move |TakenSignal { id, name, actor, .. }| Taken {
                    signal: id,
                    wait: wait.clone(),
                    name,
                    actor,
                    beside: false,
                })
                .collect::<Vec<_>>()
        };
        let come = Come {
            taken: woken.waits.iter().flat_map(taken).collect(),
            over: woken.waits.iter().map(|one| one.wait.clone()).collect(),
        };
        if !holds(&asked.condition, &come) || woken.continuation != asked.continuation {
            self.violate(WAITS, format!("{id} was told {woken:?} although it waits for {:?}", asked.condition));
        }
        self.woken(fence, woken);
    }

    /// A worker got work that goes on after a suspension.
    pub(in crate::checker) fn claimed_woken(&mut self, work: &Claimed) {
        let Some(woken) = &work.woke else { return };
        self.waits.tally.note("claimed with what woke it");
        self.woken(work.fence, woken);
    }

    /// Every wait that a worker is told of is told as it is recorded, and as it was told first in this life.
    fn woken(&mut self, fence: Fence, woken: &Woken) {
        let id = fence.execution;
        let Some(life) = self.past.life_under(id, fence.lease) else { return };
        if self.executions.is_void(id) || self.executions.is_removed(id) {
            return;
        }
        for told in &woken.waits {
            if let Err(what) = self.told_as_recorded(id, life, told) {
                return self.violate(WAITS, format!("{id}: {what}"));
            }
            let key = (id, life, told.wait.clone());
            let first = self.waits.told.entry(key).or_insert_with(|| told.clone());
            if !is_same(first, told) {
                let what = format!("{id}: wait {} was told as {first:?}, then as {told:?}", told.wait);
                return self.violate(WAITS, what);
            }
        }
    }

    fn told_as_recorded(&self, id: ExecutionId, life: u32, told: &WaitResult) -> Result<(), String> {
        let key = Key::Wait(id, WaitId { life, wait: told.wait.clone() });
        let Some(Record::Wait(WaitOver { how, at, signals, .. })) = self.record(&key) else {
            // What is being removed by now takes its parts along.
            let gone = self.execution(id).is_none_or(Execution::is_purging);
            return if gone { Ok(()) } else { Err(format!("wait {} was told and has no record", told.wait)) };
        };
        let ids = |one: &TakenSignal| (one.id, one.name.clone(), one.actor.clone());
        let found: Vec<_> = told.signals.iter().map(ids).collect();
        let stored: Vec<_> = signals.iter().map(|one| (one.signal, one.name.clone(), one.actor.clone())).collect();
        if (told.how, told.at, &found) != (*how, *at, &stored) {
            return Err(format!("{told:?} was told, and {how:?} at {at} with {signals:?} is recorded"));
        }
        told.signals.iter().try_for_each(|one| self.carries(id, one))
    }

    /// A signal carries what its sender gave it.
    fn carries(&self, id: ExecutionId, told: &TakenSignal) -> Result<(), String> {
        let (Some(carried), Some(execution)) = (told.carried(), self.execution(id)) else { return Ok(()) };
        let stored = self.payload(execution, PayloadSlot::Signal(told.id));
        if stored.as_ref() != Some(&carried) && !execution.is_purging() {
            return Err(format!("signal {} carries {stored:?} and was told to carry {carried:?}", told.id));
        }
        let sent = self.waits.sent.get(&told.id).map_or(&[][..], Vec::as_slice);
        if sent.iter().any(|sent| sent.payload.as_ref() == Some(&carried)) {
            return Ok(());
        }
        Err(format!("signal {} carries what nobody sent", told.id))
    }

    /// The waits of the life in which an execution is that are over, for workers that come to them again.
    pub(crate) fn waits_over(&self, id: ExecutionId) -> Vec<WaitRef> {
        let Some(life) = self.execution(id).map(|execution| execution.life) else { return Vec::new() };
        let own = self.parts(id, "w").filter_map(|(key, _)| match key {
            Key::Wait(_, wait) if wait.life == life => Some(wait.wait.clone()),
            _ => None,
        });
        own.collect()
    }

    /// Every execution that is suspended or held, as it is now.
    pub(crate) fn all_waiting(&self) -> Vec<Execution> {
        let waits = |stage: &Stage| matches!(stage, Stage::Suspended(_) | Stage::Held { .. });
        let all = self.still_open().filter_map(|seen| match &*seen.record {
            Record::Execution(execution) => Some(&**execution),
            _ => None,
        });
        all.filter(|execution| waits(&Stage::of(execution))).cloned().collect()
    }

    /// How often a thing happened.
    pub(crate) fn note(&mut self, what: &'static str) {
        self.waits.tally.note(what);
    }
}

/// Whether a wait was told in the same way; payloads are left out of long answers.
pub(crate) fn is_same(first: &WaitResult, told: &WaitResult) -> bool {
    let ids = |one: &WaitResult| one.signals.iter().map(|signal| signal.id).collect::<Vec<_>>();
    (&first.wait, first.how, first.at, ids(first)) == (&told.wait, told.how, told.at, ids(told))
}

fn refusal(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::TokenExpired { .. } => "signal refused: proof is over",
        Rejection::WaitpointClosed { .. } => "signal refused: wait is over",
        Rejection::Finished { .. } => "signal refused: ended",
        Rejection::MailboxFull(_) => "signal refused: mailbox is full",
        Rejection::InvalidArgument { .. } => "signal refused: name not allowed",
        _ => "signal refused: other",
    }
}

/// Whether no signal, time or operator could ever end this.
fn is_impossible(asked: &NewSuspension) -> bool {
    let is_timed = asked.timeout.is_some() || asked.timeout_at.is_some();
    match &asked.condition {
        Condition::Operator => false,
        Condition::Timeout => !is_timed,
        condition => has_impossible_part(condition),
    }
}

fn has_impossible_part(condition: &Condition) -> bool {
    match condition {
        Condition::All { of } | Condition::Any { of } => of.is_empty() || of.iter().any(has_impossible_part),
        Condition::Count { n, .. } => *n == 0,
        Condition::Wait { .. } => false,
        Condition::Operator | Condition::Timeout => true,
    }
}
