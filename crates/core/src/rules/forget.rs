//! Removing messages that were delivered.

use crate::record::Record;
use crate::rules::outbox;
use crate::{Key, MessageId, Millis, PartitionId, Stop, Urgency, Verb, View, limits};

/// Removes messages that were delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forget {
    /// The receiver.
    pub to: PartitionId,
    /// The last sequence that was delivered.
    pub through: u64,
    /// What was delivered. A store that lost its last second may hold another message under the same sequence by now,
    /// and that one is still to be delivered.
    pub ids: Vec<MessageId>,
}

impl Verb for Forget {
    const URGENCY: Urgency = Urgency::Background;
    type Reply = ();

    fn keys(&self, partition: PartitionId) -> Vec<Key> {
        vec![Key::Outbox(partition, self.to)]
    }

    /// Removes at most as many as one delivery holds. Whatever else stands under their sequences stays.
    fn run(&self, view: &mut View, _: Millis) -> Result<(), Stop> {
        let from = view.partition();
        let mut outbox = outbox::of(view, self.to)?;
        let end = self.through.saturating_add(1).min(outbox.next).min(outbox.first + limits::MESSAGES_MAX as u64);
        view.for_each(outbox.first..end, |view, seq| {
            let key = Key::Message(from, self.to, seq);
            match view.get(&key)?.as_deref() {
                Some(Record::Message(message)) if self.ids.contains(&message.id) => view.delete(key),
                _ => Ok(()),
            }
        })?;
        let first = outbox.first;
        while outbox.first < end && view.get(&Key::Message(from, self.to, outbox.first))?.is_none() {
            outbox.first += 1;
        }
        if first < outbox.first {
            view.put(Key::Outbox(from, self.to), Record::Outbox(outbox))?;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use super::*;
    use crate::rules::table::Row;
    use crate::rules::world::make::HOME;

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("forget", |_, _| Forget { to: HOME, through: 3, ids: Vec::new() }.into(), &[
            ("=", "*"),
        ]),
    ];
}
