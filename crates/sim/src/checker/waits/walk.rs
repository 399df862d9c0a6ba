//! What was told of an execution in one commit, step by step: what each step found, and what it must leave.

use super::condition::{Come, holds, times};
use super::scene::{Scene, suspension};
use super::{Waits, scene};
use onward_core::record::{HowOver, OnTimeout, Over, Suspension, WaitId, WaitRef};
use onward_core::{Millis, What};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// A suspension as the walk knows it.
pub(super) struct Model<'a> {
    pub(super) now: &'a Suspension,
    pub(super) life: u32,
    pub(super) come: Come,
    pub(super) ends: BTreeMap<WaitRef, Over>,
    /// Waits that their times end in this commit; a step before that does not know it.
    pub(super) due: BTreeSet<WaitRef>,
    pub(super) escalated: bool,
}

/// Where the walk stands.
pub(super) enum Place<'a> {
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
        self.life_follows()?;
        Ok(walked)
    }

    /// Whether a suspension began in this commit although none stands.
    fn begins_and_ends(&self) -> bool {
        let began = self.events.iter().any(|event| matches!(event.what, What::Suspended { .. }));
        began && suspension(self.after).is_none()
    }

    /// A new life begins with a replay alone.
    fn life_follows(&self) -> Result<(), String> {
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
            let ends_now = shown.filter(|over| over.how == HowOver::Timeout && is_due);
            if let (Some(over), Entry::Vacant(place)) = (ends_now, ends.entry(wait.clone())) {
                place.insert(over);
                due.insert(wait);
            }
        }
        let come = Come { taken: now.taken.clone(), over: ends.keys().cloned().collect() };
        Model { now, life, come, ends, due, escalated: now.escalated }
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
