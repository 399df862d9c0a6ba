//! Lanes: the master decides, every partition keeps a copy, and its rules read the copy in their own commit.

use crate::record::{Format, LaneCopy, LaneMaster, LaneSettings, MessageBody, Record};
use crate::rules::message;
use crate::view::unreadable;
use crate::{
    CommandId, Event, Key, Lane, LaneChange, MessageId, Millis, Namespace, PartitionId, Rejection, Reply, SetLane,
    Stop, View, What, limits,
};
use std::collections::{BTreeSet, VecDeque};

/// The settings in force in this partition; a lane that nobody changed is open.
pub(crate) fn copy(view: &mut View, namespace: &Namespace, lane: &Lane) -> Result<LaneSettings, Stop> {
    let key = Key::LaneCopy(namespace.clone(), lane.clone(), view.partition());
    match view.get(&key)?.as_deref() {
        None => Ok(LaneSettings::default()),
        Some(Record::LaneCopy(copy)) => Ok(copy.settings.clone()),
        Some(_) => Err(unreadable(&key)),
    }
}

pub(crate) fn set(view: &mut View, set: &SetLane, now: Millis) -> Result<Reply, Stop> {
    let known = master(view, &set.namespace, &set.lane)?;
    if let Some(revision) = known.as_ref().and_then(|known| revision_of(known, set.command)) {
        return Ok(Reply::LaneSet { revision });
    }
    let now = known.as_ref().map_or(now, |known| now.max(known.changed_at));
    // The time in it keeps revisions growing even after a store lost its last second and with it a decision.
    let revision = known.as_ref().map_or(0, |known| known.revision + 1).max(now.0);
    let settings = decide(known.as_ref().map(|known| known.settings.clone()).unwrap_or_default(), &set.change)?;
    let everyone: BTreeSet<PartitionId> = (0..view.partitions()).map(PartitionId).collect();
    view.for_each(&everyone, |view, &to| {
        let body = MessageBody::LaneChanged {
            namespace: set.namespace.clone(),
            lane: set.lane.clone(),
            settings: settings.clone(),
            revision,
        };
        message::send(view, to, MessageId(set.command.0), body, now)
    })?;
    let state = settings.state;
    let master = LaneMaster {
        format: Format,
        namespace: set.namespace.clone(),
        lane: set.lane.clone(),
        settings,
        revision,
        owed: everyone,
        earlier: known.map(earlier).unwrap_or_default(),
        changed_by: set.command,
        changed_at: now,
    };
    view.put(Key::LaneMaster(set.namespace.clone(), set.lane.clone()), Record::LaneMaster(master))?;
    view.event(Event {
        format: Format,
        at: now,
        namespace: set.namespace.clone(),
        lane: set.lane.clone(),
        execution: None,
        by: None,
        what: What::LaneChanged { state, revision },
    });
    Ok(Reply::LaneSet { revision })
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

fn master(view: &mut View, namespace: &Namespace, lane: &Lane) -> Result<Option<LaneMaster>, Stop> {
    let key = Key::LaneMaster(namespace.clone(), lane.clone());
    match view.get(&key)?.as_deref() {
        None => Ok(None),
        Some(Record::LaneMaster(master)) => Ok(Some(master.clone())),
        Some(_) => Err(unreadable(&key)),
    }
}

/// The master told this partition: take the decision over unless a later one is here, and answer.
pub(crate) fn changed(
    view: &mut View,
    from: PartitionId,
    cause: MessageId,
    (namespace, lane): (&Namespace, &Lane),
    (settings, revision): (&LaneSettings, u64),
    now: Millis,
) -> Result<(), Stop> {
    let partition = view.partition();
    let key = Key::LaneCopy(namespace.clone(), lane.clone(), partition);
    let newer = match view.get(&key)?.as_deref() {
        None => true,
        Some(Record::LaneCopy(copy)) => copy.revision < revision,
        Some(_) => return Err(unreadable(&key)),
    };
    if newer {
        view.put(key, Record::LaneCopy(LaneCopy { format: Format, settings: settings.clone(), revision }))?;
    }
    let body = MessageBody::LaneCopied { namespace: namespace.clone(), lane: lane.clone(), revision, by: partition };
    message::send(view, from, cause, body, now)
}

/// A partition told the master that it has a decision.
pub(crate) fn copied(
    view: &mut View,
    (namespace, lane): (&Namespace, &Lane),
    revision: u64,
    by: PartitionId,
) -> Result<(), Stop> {
    let Some(mut master) = master(view, namespace, lane)? else { return Ok(()) };
    if master.revision == revision && master.owed.remove(&by) {
        view.put(Key::LaneMaster(namespace.clone(), lane.clone()), Record::LaneMaster(master))?;
    }
    Ok(())
}
