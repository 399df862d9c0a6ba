//! What the engine would write for a command, made by the same rules without an engine.

use super::Error;
use onward_core::record::Record;
use onward_core::{Command, Key, Millis, PartitionId, Stop, View, Want, apply, codec, index};
use onward_engine::clock::Chance;
use onward_store::{Batch, Entry, IndexName, Partition, Version, Window};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The records of one partition that later commands read, as the store will have them.
#[derive(Debug)]
pub(crate) struct Rows {
    partition: PartitionId,
    partitions: u16,
    known: BTreeMap<Key, (Version, Arc<Record>)>,
    /// Whether executions are read again by later batches, or only what is registered once.
    keep_executions: bool,
}

impl Rows {
    pub(crate) fn new(partition: PartitionId, partitions: u16, keep_executions: bool) -> Self {
        Self { partition, partitions, known: BTreeMap::new(), keep_executions }
    }

    /// The batch that these commands make, each at its own time.
    pub(crate) fn batch(&mut self, chance: &Chance, commands: &[(Command, Millis)]) -> Result<Batch, Error> {
        let mut view = View::new(self.partition, self.partitions);
        for (command, now) in commands {
            self.run(&mut view, command, *now)?;
        }
        let mut batch = Batch::new(Partition(self.partition.0), Version(chance.id()));
        batch.expect = view.reads().map(|key| (name(key), self.known.get(key).map(|known| known.0))).collect();
        for (key, record) in view.writes() {
            match record {
                Some(record) => {
                    batch.put.push(row(key, record, batch.id));
                    if self.keep_executions || matches!(key, Key::Queues(..)) {
                        self.known.insert(key.clone(), (batch.id, record.clone()));
                    }
                }
                None => batch.delete.push(name(key)),
            }
        }
        batch.events = codec::encode_events(view.events()).into_iter().collect();
        let window = view.window();
        batch.window =
            Window { not_before: window.not_before.map(|time| time.0), not_after: window.not_after.map(|time| time.0) };
        Ok(batch)
    }

    fn run(&self, view: &mut View<'_>, command: &Command, now: Millis) -> Result<(), Error> {
        for _ in 0..=onward_core::limits::NEED_ROUNDS_MAX {
            match apply(view, command, now) {
                Err(Stop::Need(wanted)) => {
                    for want in wanted {
                        // No verb that is measured asks for pages.
                        let Want::Key(key) = want else { continue };
                        let record = self.known.get(&key).map(|known| known.1.clone());
                        view.supply(key, record);
                    }
                }
                result => return result.map(|_| ()).map_err(Error::from),
            }
        }
        Err(Error::Broken("a rule kept asking for records".to_owned()))
    }
}

fn name(key: &Key) -> onward_store::Key {
    onward_store::Key::new(key.to_string())
}

fn row(key: &Key, record: &Record, version: Version) -> onward_store::Record {
    let entry = |entry: index::Entry| Entry { name: IndexName::new(entry.name), rank: entry.rank };
    onward_store::Record {
        key: name(key),
        version,
        body: codec::encode(record),
        entries: index::entries(key, record).into_iter().map(entry).collect(),
        due: index::due_rank(record),
    }
}
