//! How much a committed batch wrote, counted the same way by every store.

use crate::{Entry, IndexPlace, Key, Mend, Millis, Record, Stats};
use bytes::Bytes;

const RANK_BYTES: usize = 8;

/// Rows written and their payload bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

impl Cost {
    /// A record written whole.
    pub(crate) fn record(&mut self, key: &Key, body: &Bytes) {
        self.rows(1, key.as_str().len() + body.len());
    }

    /// A record removed.
    pub(crate) fn removed(&mut self, key: &Key) {
        self.rows(1, key.as_str().len());
    }

    /// An index entry added or removed.
    pub(crate) fn entry(&mut self, name: &str, key: &Key) {
        self.rows(1, name.len() + RANK_BYTES + key.as_str().len());
    }

    /// A due time added or removed.
    pub(crate) fn due(&mut self, key: &Key) {
        self.rows(1, RANK_BYTES + key.as_str().len());
    }

    /// A place in an index set right.
    pub(crate) fn mended(&mut self, mend: &Mend) {
        match &mend.place {
            IndexPlace::Entry(entry) => self.entry(entry.name.as_str(), &mend.key),
            IndexPlace::Due(_) => self.due(&mend.key),
        }
    }

    /// A log entry written.
    pub(crate) fn logged(&mut self, key: &Key, body: &Bytes) {
        self.rows(1, key.as_str().len() + RANK_BYTES + body.len());
    }

    /// Log entries or events removed.
    pub(crate) fn trimmed(&mut self, rows: u64) {
        self.rows += rows;
    }

    /// An event written.
    pub(crate) fn event(&mut self, body: &Bytes) {
        self.rows(1, body.len());
    }

    /// What a committed batch wrote whatever it replaced: records, log entries and events.
    #[cfg(any(feature = "postgres", feature = "valkey"))]
    pub(crate) fn written(&mut self, plan: &crate::check::Plan) {
        let batch = &plan.batch;
        batch.put.iter().for_each(|record| self.record(&record.key, &record.body));
        let deleted = batch.delete.iter().zip(&plan.delete_at);
        deleted.filter(|(_, at)| batch.expect[**at].1.is_some()).for_each(|(key, _)| self.removed(key));
        batch.append.iter().for_each(|append| self.logged(&append.log, &append.body));
        batch.events.iter().for_each(|event| self.event(event));
    }

    /// Adds what a group wrote to a handle's counts.
    pub(crate) fn add_to(self, stats: &mut Stats) {
        stats.rows += self.rows;
        stats.bytes += self.bytes;
    }

    fn rows(&mut self, rows: u64, bytes: usize) {
        self.rows += rows;
        self.bytes += bytes as u64;
    }
}

/// The entries of `these` that `those` lacks: what a change from one to the other adds or removes.
pub(crate) fn lacking<'a>(these: &'a [Entry], those: &'a [Entry]) -> impl Iterator<Item = &'a Entry> {
    these.iter().filter(|entry| !those.contains(entry))
}

/// Counts the index rows that replacing `old` by `new` changes.
pub(crate) fn index_rows(cost: &mut Cost, key: &Key, old: Option<&Record>, new: Option<&Record>) {
    let entries = |record: Option<&Record>| record.map(|record| record.entries.clone()).unwrap_or_default();
    let (before, after) = (entries(old), entries(new));
    for entry in lacking(&before, &after).chain(lacking(&after, &before)) {
        cost.entry(entry.name.as_str(), key);
    }
    let due = |record: Option<&Record>| -> Option<Millis> { record.and_then(|record| record.due) };
    let (before, after) = (due(old), due(new));
    if before != after {
        for _ in before.iter().chain(after.iter()) {
            cost.due(key);
        }
    }
}
