//! Converts records to store rows and back: the only file that knows both sides.

use onward_core::record::Record;
use onward_core::{Candidate, Event, Key, LogChange, Millis, PageOf, PartitionId, Window, codec, index};
use onward_store as store;
use std::sync::Arc;

/// A decoded record with the version under which the store has it.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    /// The commit that wrote it; `None` when there is no record.
    pub(crate) version: Option<store::Version>,
    /// The decoded record; `None` when there is none.
    pub(crate) record: Option<Arc<Record>>,
    /// Approximate size in memory, in bytes.
    pub(crate) bytes: usize,
}

impl Loaded {
    pub(crate) const ABSENT: Self = Self { version: None, record: None, bytes: 256 };
}

pub(crate) fn store_key(key: &Key) -> store::Key {
    store::Key::new(key.name())
}

pub(crate) fn partition(partition: PartitionId) -> store::Partition {
    store::Partition(partition.0)
}

pub(crate) fn load(key: &Key, row: Option<&store::Record>) -> Loaded {
    row.map_or(Loaded::ABSENT, |row| Loaded {
        version: Some(row.version),
        record: Some(Arc::new(codec::decode(key, &row.body))),
        bytes: row.body.len() + 512,
    })
}

/// The row of a record; `name` is its key as the store knows it.
pub(crate) fn row(name: store::Key, key: &Key, record: &Record, version: store::Version) -> store::Record {
    store::Record {
        key: name,
        version,
        body: codec::encode(record),
        entries: index::entries(key, record)
            .into_iter()
            .map(|entry| store::Entry { name: store::IndexName::new(entry.name), rank: entry.rank })
            .collect(),
        due: index::due_rank(record),
    }
}

/// Where a page of candidates is read.
pub(crate) fn page(page: &PageOf) -> (store::IndexName, store::Range) {
    let after = page.after.as_ref().map(|last| (last.rank, store::Key::new(last.key.clone())));
    (store::IndexName::new(page.index.clone()), store::Range { after, ..store::Range::default() })
}

/// What was found there.
pub(crate) fn candidates(page: store::Page) -> Arc<[Candidate]> {
    let candidate = |found: store::Found| Candidate { rank: found.rank, key: found.key.as_str().into() };
    page.items.into_iter().map(candidate).collect()
}

/// What a rule does to logs.
pub(crate) fn logs<'a>(batch: &mut store::Batch, changes: impl Iterator<Item = (&'a Key, &'a LogChange)>) {
    for (key, change) in changes {
        let log = store_key(key);
        match change {
            LogChange::Append { seq, body } => batch.append.push(store::Append { log, seq: *seq, body: body.clone() }),
            LogChange::Trim { through } => batch.trim.push(store::Trim::Log { log, through: *through }),
        }
    }
}

pub(crate) fn window(window: Window) -> store::Window {
    store::Window { not_before: window.not_before.map(|time| time.0), not_after: window.not_after.map(|time| time.0) }
}

pub(crate) fn events(events: &[Event]) -> Vec<bytes::Bytes> {
    codec::encode_events(events).into_iter().collect()
}

pub(crate) fn outcome_time(outcome: &store::Outcome) -> Millis {
    match outcome {
        store::Outcome::Committed { now } | store::Outcome::Conflict { now, .. } | store::Outcome::Outside { now } => {
            Millis(*now)
        }
    }
}
