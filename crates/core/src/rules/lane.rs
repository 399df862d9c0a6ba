//! Lanes: the master decides, every partition keeps a copy, and its rules read the copy in their own commit.

use crate::record::{Format, LaneCopy, LaneMaster, LaneSettings, MessageBody, Record};
use crate::rules::outbox::{self, Cause};
use crate::view::unreadable;
use crate::{Key, Lane, MessageId, Millis, Namespace, PartitionId, Stop, View};

/// The settings in force in this partition; a lane that nobody changed is open.
pub(crate) fn copy(view: &mut View, namespace: &Namespace, lane: &Lane) -> Result<LaneSettings, Stop> {
    let key = Key::LaneCopy(namespace.clone(), lane.clone(), view.partition());
    match view.get(&key)?.as_deref() {
        None => Ok(LaneSettings::default()),
        Some(Record::LaneCopy(copy)) => Ok(copy.settings.clone()),
        Some(_) => Err(unreadable(&key)),
    }
}

/// What was decided about a lane; `None` when nothing ever was.
pub(crate) fn master(view: &mut View, namespace: &Namespace, lane: &Lane) -> Result<Option<LaneMaster>, Stop> {
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
    outbox::send(view, from, Cause::only(cause), body, now)
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
