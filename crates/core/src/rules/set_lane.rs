//! Changing the settings of a lane, and telling every partition.

use crate::record::{Format, LaneMaster, LaneSettings, LaneState, MessageBody, Record};
use crate::rules::lane;
use crate::rules::outbox::{self, Cause};
use crate::{
    Actor, Addressed, CommandId, Event, Key, Lane, MessageId, Millis, Namespace, PartitionId, Policy, Rejection, Stop,
    Subject, Urgency, Verb, View, What, limits,
};
use std::collections::{BTreeSet, VecDeque};

/// Changes the settings of a lane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetLane {
    /// This call.
    pub command: CommandId,
    /// Whose lane.
    pub namespace: Namespace,
    /// Its name.
    pub lane: Lane,
    /// Who wants it, when the caller is known by name.
    pub by: Option<Actor>,
    /// What to decide.
    pub change: LaneChange,
}

/// What to change about a lane; what is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaneChange {
    /// What it lets through.
    pub state: Option<LaneState>,
    /// What holds for submissions that do not say otherwise.
    pub defaults: Option<Policy>,
}

impl Addressed for SetLane {
    fn home(&self, partitions: u16) -> PartitionId {
        PartitionId::of_gates(&self.namespace, partitions)
    }
}

impl Verb for SetLane {
    const URGENCY: Urgency = Urgency::Sheddable;
    /// Which decision it became; grows with every decision about the lane.
    type Reply = u64;

    fn keys(&self, _: PartitionId) -> Vec<Key> {
        vec![Key::LaneMaster(self.namespace.clone(), self.lane.clone())]
    }

    fn actor(&self) -> Option<&Actor> {
        self.by.as_ref()
    }

    fn run(&self, view: &mut View, now: Millis) -> Result<u64, Stop> {
        let known = lane::master(view, &self.namespace, &self.lane)?;
        if let Some(revision) = known.as_ref().and_then(|known| revision_of(known, self.command)) {
            return Ok(revision);
        }
        let now = known.as_ref().map_or(now, |known| now.max(known.changed_at));
        // The time in it keeps revisions growing even after a store lost its last second and with it a decision.
        let revision = known.as_ref().map_or(0, |known| known.revision + 1).max(now.0);
        let settings = decide(known.as_ref().map(|known| known.settings.clone()).unwrap_or_default(), &self.change)?;
        let everyone: BTreeSet<PartitionId> = (0..view.partitions()).map(PartitionId).collect();
        view.for_each(&everyone, |view, &to| {
            let body = MessageBody::LaneChanged {
                namespace: self.namespace.clone(),
                lane: self.lane.clone(),
                settings: settings.clone(),
                revision,
            };
            outbox::send(view, to, Cause::only(MessageId(self.command.0)), body, now)
        })?;
        let state = settings.state;
        let master = LaneMaster {
            format: Format,
            namespace: self.namespace.clone(),
            lane: self.lane.clone(),
            settings,
            revision,
            owed: everyone,
            earlier: known.map(earlier).unwrap_or_default(),
            changed_by: self.command,
            changed_at: now,
        };
        view.put(Key::LaneMaster(self.namespace.clone(), self.lane.clone()), Record::LaneMaster(master))?;
        let subject = Subject::Lane { namespace: self.namespace.clone(), lane: self.lane.clone() };
        view.event(Event::new(now, subject, What::LaneChanged { state, revision }));
        Ok(revision)
    }
}

fn decide(mut settings: LaneSettings, change: &LaneChange) -> Result<LaneSettings, Rejection> {
    if let Some(defaults) = &change.defaults {
        defaults.check()?;
        settings.defaults = defaults.clone();
    }
    settings.state = change.state.unwrap_or(settings.state);
    Ok(settings)
}

/// Which decision a call became, if it is remembered: a repeat must not undo what was decided after it.
fn revision_of(master: &LaneMaster, command: CommandId) -> Option<u64> {
    let newest = (master.changed_by, master.revision);
    master.earlier.iter().chain([&newest]).find(|(by, _)| *by == command).map(|(_, revision)| *revision)
}

fn earlier(mut master: LaneMaster) -> VecDeque<(CommandId, u64)> {
    master.earlier.push_back((master.changed_by, master.revision));
    while master.earlier.len() >= limits::OPERATOR_COMMANDS_KEPT {
        master.earlier.pop_front();
    }
    master.earlier
}

#[cfg(test)]
pub(crate) mod rows {
    use super::*;
    use crate::rules::table::Row;
    use crate::rules::world::make;

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("set_lane", |_, _| make::set_lane(5, LaneState::Paused), &[
            ("=", "*"),
        ]),
    ];
}
