//! What was told of an execution in one commit, step by step: what each step found, and what it must leave.

use super::condition::{Come, Use, closing, gains, holds, named, times};
use super::scene::{Scene, suspension};
use super::{Waits, scene};
use onward_core::record::{
    Attempt, Execution, HowOver, Next, OnTimeout, Over, SignalEffect, State, Suspension, Taken, WaitEnd, WaitId,
    WaitRef, Waiting, Woke,
};
use onward_core::{ActOutcome, Event, Millis, SignalId, What};
use std::collections::{BTreeMap, BTreeSet};

/// A suspension as the walk knows it.
struct Model<'a> {
    now: &'a Suspension,
    life: u32,
    come: Come,
    ends: BTreeMap<WaitRef, Over>,
    /// Waits that their times end in this commit; a step before that does not know it.
    due: BTreeSet<WaitRef>,
    escalated: bool,
}

/// Where the walk stands.
enum Place<'a> {
    /// Nothing is suspended.
    Elsewhere,
    Suspended(Box<Model<'a>>),
    /// A suspension that began in this commit; the record shows only what it came to.
    Unseen,
}

/// What a walk explains.
#[derive(Default)]
pub(super) struct Walked {
    /// Waits that ended with a suspension.
    pub(super) explained: BTreeSet<WaitId>,
    /// A suspension began and ended within the commit, and no record shows what it waited for.
    pub(super) hides: bool,
}

impl<'a> Scene<'a> {
    /// Follows the events of the commit.
    pub(super) fn walk(&self, waits: &Waits) -> Result<Walked, String> {
        self.signals_are_told(waits)?;
        let mut walked = Walked::default();
        let mut place = match self.before.and_then(suspension) {
            Some(now) => Place::Suspended(Box::new(self.model(now))),
            None => Place::Elsewhere,
        };
        for (at, event) in self.events.iter().enumerate() {
            place = match &event.what {
                What::Suspended { .. } => Place::Unseen,
                What::Signalled { signal, effect, .. } => {
                    let next = self.events.get(at + 1).map(|event| &event.what);
                    self.signalled(*signal, *effect, place, next)?
                }
                What::Resumed { attempt: Some(_), .. } => {
                    match place {
                        Place::Elsewhere => return Err("it went on and was not suspended".to_owned()),
                        Place::Unseen => walked.hides = true,
                        Place::Suspended(model) => self.resumed(*model, event, at, &mut walked)?,
                    }
                    Place::Elsewhere
                }
                What::SuspensionTimedOut { then, .. } => self.timed_out(place, *then)?,
                What::WaitClosed { wait } => closed(place, wait, event.at)?,
                What::Cancelled { .. } | What::Expired { .. } => Place::Elsewhere,
                _ => place,
            };
        }
        walked.hides |= matches!(place, Place::Elsewhere) && self.begins_and_ends();
        self.life_follows(&walked)?;
        Ok(walked)
    }

    /// Whether a suspension began in this commit although none stands.
    fn begins_and_ends(&self) -> bool {
        let began = self.events.iter().any(|event| matches!(event.what, What::Suspended { .. }));
        began && suspension(self.after).is_none()
    }

    /// A new life begins with a replay alone.
    fn life_follows(&self, _: &Walked) -> Result<(), String> {
        let Some(before) = self.before else { return Ok(()) };
        let replays = self.events.iter().filter(|event| matches!(event.what, What::Replayed { .. })).count() as u32;
        if (before.life..=before.life + replays).contains(&self.after.life) {
            return Ok(());
        }
        Err(format!("life {} followed life {} after {replays} replays", self.after.life, before.life))
    }

    /// What is known of a suspension that stood before the commit, with the waits that its times end now.
    fn model(&self, now: &'a Suspension) -> Model<'a> {
        let life = self.before.map_or(0, |before| before.life);
        let mut ends: BTreeMap<WaitRef, Over> = now.over.clone();
        let mut due = BTreeSet::new();
        let standing = suspension(self.after).filter(|after| after.since == now.since);
        let last = now.timeout.filter(|_| !now.escalated).map(|timeout| timeout.at);
        for (wait, until) in times(&now.condition) {
            let recorded = self.over(life, &wait).filter(|_| self.is_new(life, &wait));
            let shown = standing
                .and_then(|after| after.over.get(&wait).copied())
                .or_else(|| recorded.map(|record| Over { how: record.how, at: record.at, recorded: false }));
            let is_due = until <= self.now && last.is_none_or(|last| until < last) && !now.escalated;
            if let Some(over) = shown.filter(|over| over.how == HowOver::Timeout && is_due) {
                if !ends.contains_key(&wait) {
                    due.insert(wait.clone());
                    ends.insert(wait, over);
                }
            }
        }
        let come = Come { taken: now.taken.clone(), over: ends.keys().cloned().collect() };
        Model { now, life, come, ends, due, escalated: now.escalated }
    }

    /// Every new signal was told once, as its record says, and somebody sent it.
    fn signals_are_told(&self, waits: &Waits) -> Result<(), String> {
        let mut told = BTreeSet::new();
        for event in &self.events {
            let What::Signalled { signal, wait, name, effect } = &event.what else { continue };
            let record = self.signals.get(signal).filter(|_| self.new_signals.contains(signal));
            let right = record.is_some_and(|record| {
                (&record.wait, &record.name, record.effect) == (wait, name, *effect) && told.insert(*signal)
            });
            if !right {
                return Err(format!("signal {signal} for {wait} was told as {effect:?} and stored as {record:?}"));
            }
            self.was_sent(*signal, waits)?;
        }
        match self.new_signals.iter().find(|signal| !told.contains(*signal)) {
            Some(signal) => Err(format!("signal {signal} was stored and not told")),
            None => Ok(()),
        }
    }

    /// A signal is one that somebody sent, by a proof that was good for this wait and not over by the store's clock.
    fn was_sent(&self, signal: SignalId, waits: &Waits) -> Result<(), String> {
        let Some(record) = self.signals.get(&signal) else { return Ok(()) };
        let sent = waits.sent.get(&signal).map_or(&[][..], Vec::as_slice);
        let same = |sent: &&super::SentSignal| {
            (&sent.wait, &sent.name, &sent.actor) == (&record.wait, &record.name, &record.actor)
        };
        let alike: Vec<_> = sent.iter().filter(same).collect();
        if alike.is_empty() {
            return Err(format!("nobody sent {record:?}"));
        }
        let allowed = |sent: &&super::SentSignal| match &sent.proof {
            None => {
                record.only.is_none() == sent.n.is_none()
                    && sent.n.is_none_or(|n| record.only.is_some_and(|only| only.n == n))
            }
            Some(proof) => {
                let named = proof.names.is_empty() || proof.names.iter().any(|name| Some(name) == record.name.as_ref());
                let only = record.only.is_some_and(|only| (only.life, only.n) == (proof.wait.life, proof.wait.wait.n));
                named && only && proof.wait.wait.name == record.wait && self.now < proof.not_after
            }
        };
        if !alike.into_iter().any(|sent| allowed(&sent)) {
            return Err(format!("signal {signal} was accepted at {} against its proof: {sent:?}", self.now));
        }
        let Some(only) = record.only else { return Ok(()) };
        let lives = self.before.map_or(0, |before| before.life)..=self.after.life;
        if lives.contains(&only.life) {
            return Ok(());
        }
        Err(format!("signal {signal} was accepted for life {}, and it is in {lives:?}", only.life))
    }

    /// A signal came: it did what the condition says.
    fn signalled(
        &self,
        signal: SignalId,
        effect: SignalEffect,
        mut place: Place<'a>,
        next: Option<&What>,
    ) -> Result<Place<'a>, String> {
        let goes_on = matches!(next, Some(What::Resumed { attempt: Some(_), resumed_by: HowOver::Signals, .. }));
        if (effect == SignalEffect::Resumed) != goes_on {
            return Err(format!("signal {signal} was {effect:?}, and then came {next:?}"));
        }
        let Place::Suspended(model) = &mut place else {
            let right = matches!(place, Place::Unseen) || effect == SignalEffect::Buffered;
            return if right { Ok(place) } else { Err(format!("signal {signal} was {effect:?} and nothing waited")) };
        };
        self.in_time(model, signal, effect)?;
        let open = named(&model.now.condition).into_iter().filter(|wait| {
            !model.come.over.contains(wait) && self.is_meant_for(signal, model.life, wait) && !model.escalated
        });
        let taken: Vec<Taken> = open.filter_map(|wait| self.as_taken(signal, &wait)).collect();
        let uses: Vec<Use> = taken.iter().map(|one| gains(&model.now.condition, &model.come, one)).collect();
        let best = uses.iter().copied().max().unwrap_or(Use::None);
        let right = match effect {
            SignalEffect::Buffered => best == Use::None,
            SignalEffect::Ignored => best == Use::Again,
            SignalEffect::Counted | SignalEffect::Resumed => best == Use::Counts,
        };
        if !right {
            return Err(format!("signal {signal} was {effect:?} and is good for {best:?} in {:?}", model.now));
        }
        if best == Use::Counts {
            let first = uses.iter().position(|one| *one == Use::Counts).unwrap_or(0);
            model.come.taken.push(self.placed(signal).unwrap_or_else(|| taken[first].clone()));
            let met = holds(&model.now.condition, &model.come);
            if met != (effect == SignalEffect::Resumed) {
                return Err(format!("signal {signal} was {effect:?}, and the condition holds: {met}"));
            }
        }
        Ok(place)
    }

    /// Where a signal of this commit went.
    fn placed(&self, signal: SignalId) -> Option<Taken> {
        let open = suspension(self.after).into_iter().flat_map(|now| &now.taken);
        let over = self.waits.values().flat_map(|over| &over.signals);
        open.chain(over).find(|taken| taken.signal == signal).cloned()
    }

    /// No signal counts at or after the time of what it counts for.
    fn in_time(&self, model: &Model<'_>, signal: SignalId, effect: SignalEffect) -> Result<(), String> {
        if !matches!(effect, SignalEffect::Counted | SignalEffect::Resumed) {
            return Ok(());
        }
        let whole = model.now.timeout.map(|timeout| timeout.at);
        if whole.is_some_and(|at| at <= self.now) {
            return Err(format!("signal {signal} was {effect:?} at {}, after the timeout at {whole:?}", self.now));
        }
        let taken = self.placed(signal);
        let own = times(&model.now.condition);
        let own = own.iter().filter(|(wait, _)| taken.as_ref().is_some_and(|taken| taken.wait == *wait));
        match own.map(|(_, until)| *until).min().filter(|until| *until <= self.now) {
            Some(until) => Err(format!("signal {signal} was {effect:?} at {}, after its wait at {until}", self.now)),
            None => Ok(()),
        }
    }

    /// A suspension ended: for a reason that holds, with a record for each wait that ends with it.
    fn resumed(&self, mut model: Model<'a>, event: &Event, at: usize, walked: &mut Walked) -> Result<(), String> {
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

    /// A suspension timed out in a way that does not let the attempt go on.
    fn timed_out(&self, place: Place<'a>, then: OnTimeout) -> Result<Place<'a>, String> {
        let mut model = match place {
            Place::Suspended(model) => model,
            Place::Unseen => return Ok(if then == OnTimeout::Escalate { place } else { Place::Elsewhere }),
            Place::Elsewhere => return Err("it timed out and was not suspended".to_owned()),
        };
        let due = model.now.timeout.is_some_and(|timeout| timeout.at <= self.now && timeout.then == then);
        if !due || model.escalated {
            return Err(format!("it timed out at {} to {then:?}: {:?}", self.now, model.now));
        }
        if then != OnTimeout::Escalate {
            return Ok(Place::Elsewhere);
        }
        model.escalated = true;
        Ok(Place::Suspended(model))
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

/// An operator ended a wait, and more is needed.
fn closed<'a>(mut place: Place<'a>, wait: &WaitRef, at: Millis) -> Result<Place<'a>, String> {
    if let Place::Suspended(model) = &mut place {
        let ends = scene::open_in(model.now, wait) && model.come.over.insert(wait.clone());
        if !ends {
            return Err(format!("wait {wait} was ended and was not open"));
        }
        model.ends.insert(wait.clone(), Over { how: HowOver::Operator, at, recorded: false });
        let mut come = model.come.clone();
        come.over.retain(|wait| !model.due.contains(wait));
        if holds(&model.now.condition, &come) && !model.escalated {
            return Err(format!("all had come with the end of {wait}, and it went on waiting"));
        }
    }
    Ok(place)
}

/// The attempt that is running or goes on.
fn attempt(execution: &Execution) -> Option<&Attempt> {
    match &execution.state {
        State::Active(active) => Some(&active.attempt),
        State::Waiting(Waiting { next: Next::Resume(paused), .. }) => Some(&paused.attempt),
        _ => None,
    }
}
