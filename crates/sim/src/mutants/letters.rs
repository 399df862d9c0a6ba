//! Messages applied wrongly: harmless as long as each comes once and in order, which no receiver may rely on.

use super::rules::counted;
use onward_core::record::{MessageBody, Record};
use onward_core::{Command, Deliver, Key, Millis, Reply, Stop, View};

/// Acknowledgements are counted instead of removed from a set.
pub(super) fn by_difference(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    let Command::Deliver(Deliver { from, messages }) = command else { return counted(view, command, now) };
    let mut messages = messages.clone();
    for message in &mut messages {
        if let MessageBody::LaneCopied { namespace, lane, revision, by } = &mut message.body
            && let Some(Record::LaneMaster(master)) =
                view.get(&Key::LaneMaster(namespace.clone(), lane.clone()))?.as_deref()
            && master.revision == *revision
            && !master.owed.contains(by)
            && let Some(other) = master.owed.first()
        {
            *by = *other;
        }
    }
    counted(view, &Command::Deliver(Deliver { from: *from, messages }), now)
}
