//! How workers suspend their attempts: on conditions of every kind, twice when unsure, and on waits that are over already.

use super::{Caller, any_wait, signal_name};
use crate::checker;
use crate::clock::sleep;
use crate::dice::Dice;
use crate::settings::WaitingOdds;
use onward_core::record::{OnTimeout, WaitRef};
use onward_core::{
    CommandId, Condition, Distinct, Fence, Json, Millis, NewSuspension, Payload, Reason, Rejection, SignalName, Span,
    Suspend, Suspended, WaitResult,
};
use onward_engine::Error;
use std::collections::VecDeque;

/// Suspensions that a worker remembers.
const PAST_MAX: usize = 6;
/// Suspensions of one attempt in a row that had come already.
const IN_A_ROW_MAX: u32 = 4;

/// What came of a wish to be suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suspending {
    /// The lease is over, or nobody knows.
    Gone,
    /// The worker goes on.
    GoesOn,
}

/// What a worker remembers of its suspensions, to repeat them late.
#[derive(Debug, Default)]
pub(super) struct Suspender {
    past: VecDeque<(Suspend, Option<Suspended>)>,
}

impl Suspender {
    /// Suspends an attempt, perhaps several times in a row; `known` is a wait that was over when the work was claimed.
    pub(super) async fn suspend(
        &mut self,
        caller: &mut Caller,
        odds: WaitingOdds,
        fence: Fence,
        known: Option<&WaitResult>,
    ) -> Suspending {
        let mut known = known.cloned();
        for _ in 0..IN_A_ROW_MAX {
            let over = caller.world.hub.check(|checker| checker.waits_over(fence.execution));
            let now = caller.world.hub.now();
            let first = known.take();
            let new = match &first {
                Some(first) => NewSuspension::new(Condition::wait(first.wait.clone())),
                None => suspension(&mut caller.fresh, odds, &over, now),
            };
            let suspend = Suspend { command: CommandId(caller.fresh.wide()), fence, new: Box::new(new) };
            let answer = self.send(caller, suspend).await;
            let Some(Suspended { met: Some(woken) }) = answer else {
                if answer.is_some() && caller.fresh.percent(12) {
                    self.behind(caller, odds, fence, now).await;
                }
                // Refused because of the condition, the lease lives on; otherwise the report is refused too.
                return if answer.is_some() { Suspending::Gone } else { Suspending::GoesOn };
            };
            if let Some(first) = first {
                caller.world.hub.check(|checker| checker.note("asked again for a wait that is over"));
                let same = woken.waits.iter().any(|told| checker::is_same(&first, told));
                if !same {
                    let what = format!("{} was told {first:?}, then {:?}", fence.execution, woken.waits);
                    caller.world.hub.violate("waits", what);
                }
            }
            if caller.fresh.percent(40) {
                break;
            }
        }
        Suspending::GoesOn
    }

    /// Acts under a lease that a suspension has ended.
    async fn behind(&mut self, caller: &mut Caller, odds: WaitingOdds, fence: Fence, now: Millis) {
        sleep(caller.fresh.span(0, 500)).await;
        let new = Box::new(suspension(&mut caller.fresh, odds, &[], now));
        let suspend = Suspend { command: CommandId(caller.fresh.wide()), fence, new };
        let Some(process) = caller.world.any(&mut caller.fresh) else { return };
        drop(caller.run(&process, &suspend).await);
    }

    /// Repeats an old suspension.
    pub(super) async fn repeat_old(&mut self, caller: &mut Caller) {
        let any = caller.fresh.below(self.past.len() as u64) as usize;
        let Some((suspend, first)) = self.past.get(any).cloned() else { return };
        let Some(process) = caller.world.any(&mut caller.fresh) else { return };
        caller.world.hub.check(|checker| checker.note("suspend repeated late"));
        let answer = caller.run(&process, &suspend).await;
        // What had come already is told with what came since.
        let first = first.filter(|first| first.met.is_none());
        compare(caller, &suspend, first.as_ref(), answer.as_ref());
    }

    /// Sends one call until there is an answer, and sometimes once more. `None` when it was refused or nobody knows.
    async fn send(&mut self, caller: &mut Caller, suspend: Suspend) -> Option<Suspended> {
        let mut first = None;
        for _ in 0..5 {
            let Some(process) = caller.world.any(&mut caller.fresh) else {
                sleep(Span(200)).await;
                continue;
            };
            let answer = caller.run(&process, &suspend).await;
            compare(caller, &suspend, first.as_ref(), answer.as_ref());
            match answer {
                Some(Ok(suspended)) => {
                    first = Some(suspended);
                    let errs = !caller.world.is_calm() && caller.fresh.percent(25);
                    if !errs {
                        break;
                    }
                }
                Some(Err(error)) if !error.is_temporary() => break,
                _ => sleep(caller.fresh.span(10, 1_000)).await,
            }
        }
        if self.past.len() >= PAST_MAX {
            self.past.pop_front();
        }
        self.past.push_back((suspend, first.clone()));
        first
    }
}

/// A repeat gets the first answer; what has come already is told again only under the same lease.
fn compare(caller: &Caller, suspend: &Suspend, first: Option<&Suspended>, again: Option<&Result<Suspended, Error>>) {
    let (Some(first), Some(again)) = (first, again) else { return };
    let id = suspend.fence.execution;
    let hub = &caller.world.hub;
    if caller.world.settings.is_forgetful() || hub.check(|checker| checker.is_removed(id)) {
        return;
    }
    let differs = match (first, again) {
        (Suspended { met: None }, Ok(again)) => again.met.is_some(),
        (Suspended { met: None }, Err(Error::Refused(rejection))) => !matches!(rejection, Rejection::Purged(_)),
        (Suspended { met: Some(first) }, Ok(Suspended { met })) => met.as_ref() != Some(first),
        _ => false,
    };
    if differs {
        let what = format!("suspend {} of {id} was answered {first:?}, then {again:?}", suspend.command);
        hub.violate("repeats", what);
    }
}

/// What an attempt may wait for.
fn suspension(dice: &mut Dice, odds: WaitingOdds, over: &[WaitRef], now: Millis) -> NewSuspension {
    let mut new = NewSuspension::new(match dice.below(100) {
        0..=4 => Condition::Operator,
        5..=9 => Condition::Timeout,
        10..=11 => impossible(dice),
        _ => condition(dice, odds, over, now, 3),
    });
    let is_timed = new.condition == Condition::Timeout && dice.percent(95);
    if is_timed || dice.percent(60) {
        match dice.below(12) {
            0 => new.timeout_at = Some(now - dice.span(0, 2_000)),
            1..=3 => new.timeout_at = Some(now + dice.span(0, odds.patience.0)),
            _ => new.timeout = Some(dice.span(1, odds.patience.0)),
        }
        let every = [OnTimeout::Resume, OnTimeout::Fail, OnTimeout::Cancel, OnTimeout::Expire, OnTimeout::Escalate];
        new.on_timeout = if dice.percent(40) { OnTimeout::Resume } else { *dice.pick(&every).unwrap_or(&every[0]) };
    }
    new.resume_delay = dice.percent(20).then(|| dice.span(0, 4_000));
    if dice.percent(30) {
        new.continuation = json(dice.below(1_000));
    }
    new.reason = Reason::new("it needs the world");
    new
}

fn condition(dice: &mut Dice, odds: WaitingOdds, over: &[WaitRef], now: Millis, depth: u32) -> Condition {
    let parts = |dice: &mut Dice| -> Vec<Condition> {
        (0..dice.between(1, 3)).map(|_| condition(dice, odds, over, now, depth - 1)).collect()
    };
    match dice.below(10) {
        0..=1 if depth > 0 => Condition::All { of: parts(dice) },
        2..=3 if depth > 0 => Condition::Any { of: parts(dice) },
        4..=6 => count(dice, odds, over, now),
        _ => {
            let (timeout, until) = times(dice, odds, now);
            Condition::Wait { wait: some_wait(dice, over), names: names(dice), timeout, until }
        }
    }
}

fn count(dice: &mut Dice, odds: WaitingOdds, over: &[WaitRef], now: Millis) -> Condition {
    let mut waits: Vec<WaitRef> = (0..dice.between(1, 3)).map(|_| some_wait(dice, over)).collect();
    waits.sort();
    waits.dedup();
    let distinct = *dice.pick(&[Distinct::Waits, Distinct::Signals, Distinct::Actors]).unwrap_or(&Distinct::Waits);
    let most = if distinct == Distinct::Waits { waits.len() as u64 } else { 3 };
    let (timeout, until) = times(dice, odds, now);
    Condition::Count { n: dice.between(1, most) as u32, distinct, waits, names: names(dice), timeout, until }
}

/// A wait that is over comes up again now and then, as in a handler that starts again.
fn some_wait(dice: &mut Dice, over: &[WaitRef]) -> WaitRef {
    let again = if dice.percent(25) { dice.pick(over).cloned() } else { None };
    again.unwrap_or_else(|| any_wait(dice))
}

fn names(dice: &mut Dice) -> Vec<SignalName> {
    if dice.percent(70) { Vec::new() } else { signal_name(dice).into_iter().collect() }
}

/// The time of a single wait, which most have not.
fn times(dice: &mut Dice, odds: WaitingOdds, now: Millis) -> (Option<Span>, Option<Millis>) {
    match dice.below(12) {
        0..=1 => (Some(dice.span(1, odds.patience.0)), None),
        2 => (None, Some(now + dice.span(0, odds.patience.0))),
        3 => (None, Some(now - dice.span(0, 1_000))),
        _ => (None, None),
    }
}

/// What could never come.
fn impossible(dice: &mut Dice) -> Condition {
    match dice.below(3) {
        0 => Condition::All { of: Vec::new() },
        1 => Condition::count(0, Distinct::Signals, vec![any_wait(dice)]),
        _ => Condition::Any { of: vec![Condition::wait(any_wait(dice)), Condition::Operator] },
    }
}

fn json(number: u64) -> Option<Json> {
    match Payload::of(&number).ok()? {
        Payload::Json(json) => Some(json),
        Payload::Bytes(_) => None,
    }
}
