//! What ends waits: a suspension that goes on, or a worker that asks for what has come already. Each leaves records.

use super::Waits;
use super::condition::{Come, closing, holds, named};
use super::scene::Scene;
use super::walk::{Model, Walked};
use onward_core::record::{
    Attempt, Execution, HowOver, Next, OnTimeout, State, Taken, WaitEnd, WaitId, WaitRef, Waiting, Woke,
};
use onward_core::{ActOutcome, Event, Millis, What};

impl Scene<'_> {
    /// A suspension ended: for a reason that holds, with a record for each wait that ends with it.
    pub(super) fn resumed(
        &self,
        mut model: Model<'_>,
        event: &Event,
        at: usize,
        walked: &mut Walked,
    ) -> Result<(), String> {
        let What::Resumed { resumed_by: by, delayed_until, .. } = &event.what else { return Ok(()) };
        if *by == HowOver::Operator {
            self.ended_by_operator(&mut model)?;
        }
        let met = holds(&model.now.condition, &model.come) && !model.escalated;
        let whole = model.now.timeout.filter(|timeout| timeout.at <= self.now && timeout.then == OnTimeout::Resume);
        let right = match by {
            HowOver::Signals => met && at > 0,
            HowOver::Timeout => met || (whole.is_some() && !model.escalated),
            HowOver::Operator => true,
        };
        if !right {
            return Err(format!(
                "it went on by {by:?} at {}, and the condition holds: {met}: {:?}",
                self.now, model.now
            ));
        }
        let waits = if met { closing(&model.now.condition, &model.come) } else { named(&model.now.condition) };
        let how = if met { HowOver::Signals } else { *by };
        let mut ends = Vec::new();
        for wait in waits {
            ends.push(self.wait_ended(&model, &wait, how)?);
            walked.explained.insert(WaitId { life: model.life, wait });
        }
        for wait in named(&model.now.condition) {
            let closed = ends.iter().any(|end| end.wait == wait);
            if !closed && self.is_new(model.life, &wait) && !self.begins_again(at) {
                return Err(format!("wait {wait} was not met and is over"));
            }
        }
        if *by != HowOver::Operator {
            self.delayed(&model, event.at, *delayed_until)?;
        }
        self.woke(&model, *by, &ends, at)
    }

    /// Whether more that could end waits follows in the commit.
    fn begins_again(&self, at: usize) -> bool {
        self.events[at + 1..].iter().any(|event| matches!(event.what, What::Claimed { .. }))
    }

    /// An operator resumed it, or ended the wait that was missing.
    fn ended_by_operator(&self, model: &mut Model<'_>) -> Result<(), String> {
        let known = |by| self.before.is_some_and(|before| before.operated.iter().any(|old| old.by == by));
        let new = || self.after.operated.iter().filter(|done| !known(done.by)).map(|done| done.outcome);
        if new().any(|outcome| matches!(outcome, ActOutcome::WaitClosed { resumed: true })) {
            let is_closed = |wait: &WaitRef| {
                let record = self.over(model.life, wait).filter(|_| self.is_new(model.life, wait));
                !model.come.over.contains(wait) && record.is_some_and(|record| record.how == HowOver::Operator)
            };
            let closed: Vec<WaitRef> = named(&model.now.condition).into_iter().filter(is_closed).collect();
            if let [wait] = &closed[..] {
                model.come.over.insert(wait.clone());
                if holds(&model.now.condition, &model.come) {
                    return Ok(());
                }
                model.come.over.remove(wait);
            }
        }
        if new().any(|outcome| matches!(outcome, ActOutcome::Resumed { .. })) {
            return Ok(());
        }
        Err("it went on by an operator, and none wanted that".to_owned())
    }

    /// A wait that ended with its suspension has a record: an old one, or one that says how and what it took.
    fn wait_ended(&self, model: &Model<'_>, wait: &WaitRef, how: HowOver) -> Result<WaitEnd, String> {
        let Some(record) = self.over(model.life, wait) else {
            return Err(format!("wait {wait} is over and has no record"));
        };
        let signals: Vec<&Taken> = model.come.taken.iter().filter(|taken| taken.wait == *wait).collect();
        let known = model.ends.get(wait);
        let recorded = known.is_some_and(|over| over.recorded);
        if recorded == self.is_new(model.life, wait) {
            return Err(format!("wait {wait} was over before: {recorded}, and got a record"));
        }
        // An operator that ended the missing wait is no part of what was known before.
        let by_operator = model.come.over.contains(wait) && known.is_none();
        let how = known.map_or(if by_operator { HowOver::Operator } else { how }, |over| over.how);
        if record.how != how || record.signals.iter().collect::<Vec<_>>() != signals {
            return Err(format!("wait {wait} ended by {how:?} with {signals:?} and is recorded as {record:?}"));
        }
        Ok(WaitEnd { wait: wait.clone(), how, at: record.at, signals: record.signals.clone() })
    }

    /// It goes on after the pause that was asked for.
    fn delayed(&self, model: &Model<'_>, said_at: Millis, until: Option<Millis>) -> Result<(), String> {
        let asked = model.now.delay.filter(|delay| delay.0 > 0).map(|delay| said_at + delay);
        let kept = self.before.is_some_and(|before| before.changed_at >= said_at);
        let right = until == asked || (kept && until <= asked);
        if right { Ok(()) } else { Err(format!("it goes on at {until:?} instead of {asked:?}")) }
    }

    /// The attempt is told just this when it goes on.
    fn woke(&self, model: &Model<'_>, by: HowOver, ends: &[WaitEnd], at: usize) -> Result<(), String> {
        let ended =
            |event: &&Event| !matches!(event.what, What::Claimed { .. } | What::Ready | What::Rescheduled { .. });
        if self.events[at + 1..].iter().any(ended) {
            return Ok(());
        }
        let Some(Attempt { woke: Some(woke), .. }) = attempt(self.after) else {
            return Err("it went on and its attempt is not told why".to_owned());
        };
        let Woke { by: told, waits, continuation, .. } = &**woke;
        if *told == by && waits == ends && *continuation == model.now.continuation {
            return Ok(());
        }
        Err(format!("it went on by {by:?} with {ends:?}, and its attempt is told {woke:?}"))
    }

    /// Waits that ended without a suspension ended because a worker asked for what had come already.
    pub(super) fn answered(&self, waits: &Waits, walked: &Walked) -> Result<(), String> {
        if walked.hides {
            return Ok(());
        }
        for id in self.new_waits.iter().filter(|id| !walked.explained.contains(*id)) {
            let Some(record) = self.waits.get(id) else { continue };
            let was_met = waits.asked_for(self.id).any(|asked| {
                let all = named(&asked.condition);
                let of_life = self.waits.iter().filter(|(other, _)| other.life == id.life && all.contains(&other.wait));
                let of_life: Vec<_> = of_life.collect();
                let taken = of_life.iter().flat_map(|(_, over)| over.signals.clone()).collect();
                let met = |old: &dyn Fn(&WaitId) -> bool| {
                    let over = of_life.iter().filter(|(other, _)| *other != id && old(other));
                    let come = Come { taken, over: over.map(|(other, _)| other.wait.clone()).collect() };
                    holds(&asked.condition, &come) && closing(&asked.condition, &come).contains(&id.wait)
                };
                met(&|other| !self.new_waits.contains(other))
            });
            if !was_met || record.how != HowOver::Signals {
                return Err(format!("wait {} ended and nothing met it: {record:?}", id.wait));
            }
        }
        Ok(())
    }
}

/// The attempt that is running or goes on.
fn attempt(execution: &Execution) -> Option<&Attempt> {
    match &execution.state {
        State::Active(active) => Some(&active.attempt),
        State::Waiting(Waiting { next: Next::Resume(paused), .. }) => Some(&paused.attempt),
        _ => None,
    }
}
