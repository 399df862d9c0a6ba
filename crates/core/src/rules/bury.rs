//! Moving a message that cannot be delivered out of the queue, bytes and all.

use crate::record::{DeadLetter, Record};
use crate::{Key, Millis, PartitionId, Stop, Urgency, Verb, View};
use bytes::Bytes;

/// Sets a message aside that cannot be delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bury {
    /// The receiver.
    pub to: PartitionId,
    /// Which message.
    pub seq: u64,
    /// Its bytes, kept for a person to look at.
    pub body: Bytes,
}

impl Verb for Bury {
    const URGENCY: Urgency = Urgency::Background;
    type Reply = ();

    fn keys(&self, partition: PartitionId) -> Vec<Key> {
        vec![Key::Message(partition, self.to, self.seq)]
    }

    fn run(&self, view: &mut View, _: Millis) -> Result<(), Stop> {
        let from = view.partition();
        let key = Key::Message(from, self.to, self.seq);
        if view.get(&key)?.is_none() {
            return Ok(());
        }
        view.put(Key::Dead(from, self.to, self.seq), Record::Dead(DeadLetter(self.body.clone())))?;
        view.delete(key)
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
        Row::new("bury", |_, _| Bury { to: HOME, seq: 0, body: Bytes::from_static(b"x") }.into(), &[
            ("=", "*"),
        ]),
    ];
}
