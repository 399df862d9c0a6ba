//! A damaged message, put into the store behind the engines' backs.

use onward_core::record::{Format, Outbox, Record};
use onward_core::{Key, Namespace, PartitionId, codec};
use onward_engine::clock::Chance;
use onward_store::{Batch, Outcome, Partition, Store, Version};
use std::io;

/// How often planting is tried again when an engine was faster.
const TRIES: usize = 1_000;

/// Plants a message from the partition of lane decisions to another one, and answers its key once it is set aside.
pub(crate) async fn plant(store: &dyn Store, chance: &Chance) -> io::Result<String> {
    let partitions = store.meta().partitions;
    let from = PartitionId::of_gates(&Namespace::default(), partitions);
    let to = PartitionId((from.0 + 1) % partitions);
    let outbox = Key::Outbox(from, to);
    for _ in 0..TRIES {
        let stored = store.load(Partition(from.0), &[key(&outbox)]).await.map_err(io::Error::other)?.pop().flatten();
        let (first, seq) = match stored.as_ref().map(|row| codec::decode(&outbox, &row.body)) {
            None => (0, 0),
            Some(Record::Outbox(outbox)) => (outbox.first, outbox.next),
            Some(other) => return Err(io::Error::other(format!("{outbox} holds something else: {other:?}"))),
        };
        let poison = Key::Message(from, to, seq);
        let id = Version(chance.id());
        let next = codec::encode(&Record::Outbox(Outbox { format: Format, first, next: seq + 1 }));
        let mut batch = Batch::new(Partition(from.0), id);
        batch.expect = vec![(key(&outbox), stored.map(|row| row.version)), (key(&poison), None)];
        let row =
            |of: &Key, body, due| onward_store::Record { key: key(of), version: id, body, entries: Vec::new(), due };
        batch.put = vec![row(&outbox, next, None), row(&poison, "damaged".into(), Some(1))];
        let outcome = store.commit(vec![batch]).await.map_err(io::Error::other)?;
        if matches!(outcome[..], [Outcome::Committed { .. }]) {
            return Ok(Key::Dead(from, to, seq).to_string());
        }
    }
    Err(io::Error::other("a message could not be planted: engines were always faster"))
}

fn key(key: &Key) -> onward_store::Key {
    onward_store::Key::new(key.to_string())
}
