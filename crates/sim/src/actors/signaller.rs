//! Sends signals to executions before, while and after they wait: by name and by ordinal, under keys, by people and with proofs.

use super::{Caller, Submitter, new_signal, signal_name};
use crate::checker::{Stage, named};
use crate::clock::sleep;
use futures_util::future::join_all;
use onward_core::record::{Execution, Readiness, State, Suspension, WaitId, WaitRef, Waiting};
use onward_core::{
    Actor, CommandId, Condition, ExecutionId, Millis, Name, NewExecution, Payload, Proof, Rejection, Signal, Signalled,
    Span, WaitName,
};
use onward_engine::Error;
use std::collections::VecDeque;

/// Signals that a sender remembers, to repeat them long after.
const PAST_MAX: usize = 24;
/// The longest time for which a sender waits for a timeout.
const LONGEST: Span = Span::seconds(5);
/// People who send signals.
const PEOPLE: [&str; 4] = ["ada", "bob", "cyd", "dee"];

/// Somebody who sends signals.
#[derive(Debug)]
pub(crate) struct Signaller {
    caller: Caller,
    past: VecDeque<(Signal, Option<Signalled>)>,
}

impl Signaller {
    pub(crate) fn new(caller: Caller) -> Self {
        Self { caller, past: VecDeque::new() }
    }

    /// Sends signals until it is calm.
    pub(crate) async fn run(mut self, pause: Span) {
        while self.caller.pauses(0, pause.0).await {
            match self.caller.dice.below(100) {
                0..=11 => self.repeat_old().await,
                12..=24 => self.volley().await,
                25..=36 => self.at_timeout().await,
                _ => self.once().await,
            }
        }
    }

    /// One signal to somebody's execution, mostly one that waits.
    async fn once(&mut self) {
        let Some(execution) = self.found() else { return };
        let signal = self.signal_for(&execution);
        self.send(signal, 4).await;
    }

    /// Several at the same moment, through several processes.
    async fn volley(&mut self) {
        let Some(execution) = self.found() else { return };
        let mut all: Vec<Self> = (0..3).map(|_| Self::new(self.caller.split())).collect();
        join_all(all.iter_mut().map(|one| async {
            let signal = one.signal_for(&execution);
            one.send(signal, 2).await;
        }))
        .await;
        self.past.extend(all.into_iter().flat_map(|one| one.past));
        self.forget();
    }

    /// Signals an execution at the moment in which its time is over, perhaps along with a submit for its unique key.
    async fn at_timeout(&mut self) {
        let Some(execution) = self.found() else { return };
        let Some(suspension) = suspension(&execution) else { return };
        let own = suspension.condition.waits();
        let Some(at) = suspension.timeout.map(|timeout| timeout.at) else { return };
        let now = self.caller.world.hub.now();
        if own.is_empty() || at > now + LONGEST {
            return;
        }
        sleep(at - now).await;
        let signal = self.signal_for(&execution);
        if execution.unique_key.is_none() || self.caller.dice.percent(30) {
            return self.send(signal, 1).await;
        }
        let new = NewExecution {
            namespace: execution.namespace.clone(),
            lane: execution.lane.clone(),
            unique_key: execution.unique_key.clone(),
            signal: Some(signal.signal),
            ..NewExecution::new(execution.kind.clone(), Payload::null())
        };
        Submitter(self.caller.split()).submit_one(&new).await;
    }

    /// Gives a suspended execution what it waits for, as far as a signal can.
    pub(super) async fn answer(&mut self, execution: &Execution) {
        let signal = self.signal_for(execution);
        self.send(signal, 1).await;
    }

    fn found(&mut self) -> Option<Execution> {
        let (draw, kind) = (self.caller.dice.word(), self.caller.dice.below(100));
        self.caller.world.hub.check(|checker| {
            let found = checker.pick(draw, |stage| match kind {
                0..=59 => matches!(stage.beneath(), Stage::Suspended(_)),
                60..=89 => stage.is_unfinished(),
                _ => *stage != Stage::Absent,
            });
            found.cloned()
        })
    }

    /// A signal that an execution may wait for, or not.
    fn signal_for(&mut self, execution: &Execution) -> Signal {
        let condition = condition(execution);
        let dice = &mut self.caller.dice;
        let waited: Vec<WaitRef> = condition.map(named).unwrap_or_default().into_iter().collect();
        let wait = if dice.percent(80) { dice.pick(&waited).cloned() } else { None };
        let mut new = new_signal(dice, wait.clone());
        if new.name.is_none() && dice.percent(30) {
            new.name = signal_name(dice);
        }
        let by = if dice.percent(55) { person(dice) } else { None };
        let now = self.caller.world.hub.now();
        let proof = if self.caller.dice.percent(25) { self.proof(execution, &new.wait.name, wait, now) } else { None };
        let command = CommandId(self.caller.dice.wide());
        let namespace = execution.namespace.clone();
        Signal { command, namespace, execution: execution.id, by, proof, signal: Box::new(new) }
    }

    /// What a token says: mostly of the right wait, and often about to expire.
    fn proof(&mut self, execution: &Execution, name: &WaitName, wait: Option<WaitRef>, now: Millis) -> Option<Proof> {
        let dice = &mut self.caller.dice;
        let n = match wait {
            Some(wait) if dice.percent(85) => wait.n,
            _ => dice.between(1, 3) as u32,
        };
        let life = if dice.percent(92) { execution.life } else { dice.below(3) as u32 };
        let not_after = match dice.below(10) {
            0 => now - dice.span(0, 2_000),
            1..=6 => now + dice.span(0, 3_000),
            _ => now + Span::hours(1),
        };
        let names = if dice.percent(70) { Vec::new() } else { signal_name(dice).into_iter().collect() };
        let wait = WaitId { life, wait: WaitRef::new(name.clone(), n) };
        Some(Proof { wait, actor: person(dice)?, names, not_after, minted_by: None })
    }

    /// Repeats an old signal, perhaps long after everything is over.
    async fn repeat_old(&mut self) {
        let any = self.caller.dice.below(self.past.len() as u64) as usize;
        let Some((signal, first)) = self.past.get(any).cloned() else { return };
        let Some(process) = self.caller.world.any(&mut self.caller.dice) else { return };
        self.caller.world.hub.check(|checker| checker.note("signal repeated late"));
        let answer = self.caller.run(&process, &signal).await;
        self.compare(&signal, first.as_ref(), answer.as_ref());
    }

    /// Sends a signal until there is an answer, and sometimes once more.
    async fn send(&mut self, signal: Signal, tries: u32) {
        let mut first = None;
        for _ in 0..tries {
            let Some(process) = self.caller.world.any(&mut self.caller.dice) else {
                sleep(Span(200)).await;
                continue;
            };
            let answer = self.caller.run(&process, &signal).await;
            self.compare(&signal, first.as_ref(), answer.as_ref());
            match answer {
                Some(Ok(signalled)) => {
                    first = Some(signalled);
                    if !self.caller.errs(25) {
                        break;
                    }
                }
                Some(Err(error)) if !error.is_temporary() => break,
                _ => sleep(self.caller.dice.span(10, 1_200)).await,
            }
        }
        self.past.push_back((signal, first));
        self.forget();
    }

    fn forget(&mut self) {
        while self.past.len() > PAST_MAX {
            self.past.pop_front();
        }
    }

    /// A repeat gets the first answer for as long as the execution exists.
    fn compare(&self, signal: &Signal, first: Option<&Signalled>, again: Option<&Result<Signalled, Error>>) {
        let (Some(first), Some(again)) = (first, again) else { return };
        let (world, id) = (&self.caller.world, signal.execution);
        if world.settings.is_forgetful() || world.hub.check(|checker| is_gone(checker, id)) {
            return;
        }
        let differs = match again {
            Ok(again) => again != first,
            Err(Error::Refused(rejection)) => !matches!(rejection, Rejection::Purged(_)),
            Err(_) => false,
        };
        if differs {
            let what = format!("signal {} to {id} was answered {first:?}, then {again:?}", signal.signal_id());
            world.hub.violate("repeats", what);
        }
    }
}

/// Whether an execution was ever removed, and its signals with it.
fn is_gone(checker: &crate::checker::Checker, id: ExecutionId) -> bool {
    checker.is_removed(id) || checker.execution(id).is_none_or(Execution::is_purging)
}

fn person(dice: &mut crate::dice::Dice) -> Option<Actor> {
    Actor::parse(dice.pick(&PEOPLE)?).ok()
}

/// What an execution waits for, if it is suspended.
pub(super) fn condition(execution: &Execution) -> Option<&Condition> {
    suspension(execution).map(|suspension| &suspension.condition)
}

fn suspension(execution: &Execution) -> Option<&Suspension> {
    match &execution.state {
        State::Waiting(Waiting { readiness: Readiness::Suspended(suspension), .. }) => Some(suspension),
        _ => None,
    }
}
