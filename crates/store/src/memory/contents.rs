//! What the reference store holds and how a batch changes it.

use super::audit;
use crate::check::{self, Plan};
use crate::cost::{self, Cost};
use crate::feed::{event, feed_page, position};
use crate::{
    AuditPage, Count, Cursor, Direction, FeedPage, Found, IndexName, IndexPlace, Key, LogEntry, Mend, Millis, Outcome,
    Page, Partition, Partitions, Range, Record, Result, Trim,
};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Everything a store in memory holds, copied at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Every record with its partition, in key order.
    pub records: BTreeMap<Key, (Partition, Record)>,
    /// Every index entry as the indexes hold it: by name, rank and key.
    pub entries: BTreeMap<(IndexName, u64, Key), Partition>,
    /// Every due time as the due index holds it.
    pub due: BTreeMap<(Millis, Key), Partition>,
    /// Every log entry, by owner and sequence.
    pub logs: BTreeMap<(Key, u64), Bytes>,
    /// Every event that is not trimmed, by position.
    pub feed: BTreeMap<u64, (Partition, Bytes)>,
}

/// Everything the store holds; guarded by its one lock.
#[derive(Debug, Default)]
pub(super) struct Contents {
    held: Snapshot,
}

impl Contents {
    pub(super) fn snapshot(&self) -> Snapshot {
        self.held.clone()
    }

    pub(super) fn record(&self, partition: Partition, key: &Key) -> Result<Option<Record>> {
        match self.held.records.get(key) {
            None => Ok(None),
            Some((found, _)) if *found != partition => Err(check::elsewhere(key, partition, *found)),
            Some((_, record)) => Ok(Some(record.clone())),
        }
    }

    /// Checks a batch and, when everything holds, writes all of it.
    pub(super) fn apply(&mut self, plan: &Plan, now: Millis, cost: &mut Cost) -> Result<Outcome> {
        let batch = &plan.batch;
        if !batch.window.contains(now) {
            return Ok(Outcome::Outside { now });
        }
        let mut current = Vec::new();
        for (key, expected) in &batch.expect {
            let record = self.record(batch.partition, key)?;
            if record.as_ref().map(|record| record.version) != *expected {
                current.push((key.clone(), record));
            }
        }
        if !current.is_empty() {
            return Ok(Outcome::Conflict { current, now });
        }
        for key in &batch.delete {
            self.delete(key, cost);
        }
        for record in &batch.put {
            self.put(batch.partition, record, cost);
        }
        for append in &batch.append {
            cost.logged(&append.log, &append.body);
            self.held.logs.insert((append.log.clone(), append.seq), append.body.clone());
        }
        for event in &batch.events {
            cost.event(event);
            let position = self.newest().max(batch.feed_above) + 1;
            self.held.feed.insert(position, (batch.partition, event.clone()));
        }
        for trim in &batch.trim {
            self.trim(batch.partition, trim, cost);
        }
        for mend in &batch.mend {
            self.mend(batch.partition, mend, cost);
        }
        Ok(Outcome::Committed { now })
    }

    fn put(&mut self, partition: Partition, record: &Record, cost: &mut Cost) {
        let key = &record.key;
        let old = self.unlist(key);
        cost::index_rows(cost, key, old.as_ref(), Some(record));
        cost.record(key, &record.body);
        for entry in &record.entries {
            self.held.entries.insert((entry.name.clone(), entry.rank, key.clone()), partition);
        }
        if let Some(due) = record.due {
            self.held.due.insert((due, key.clone()), partition);
        }
        self.held.records.insert(key.clone(), (partition, record.clone()));
    }

    fn delete(&mut self, key: &Key, cost: &mut Cost) {
        let Some(old) = self.unlist(key) else { return };
        cost::index_rows(cost, key, Some(&old), None);
        cost.removed(key);
        self.trim_log(key, u64::MAX, cost);
    }

    /// Takes a record and all its places in indexes out.
    fn unlist(&mut self, key: &Key) -> Option<Record> {
        let (_, old) = self.held.records.remove(key)?;
        for entry in &old.entries {
            self.held.entries.remove(&(entry.name.clone(), entry.rank, key.clone()));
        }
        if let Some(due) = old.due {
            self.held.due.remove(&(due, key.clone()));
        }
        Some(old)
    }

    fn mend(&mut self, partition: Partition, mend: &Mend, cost: &mut Cost) {
        let key = mend.key.clone();
        match (&mend.place, mend.listed) {
            (IndexPlace::Entry(entry), true) => {
                self.held.entries.insert((entry.name.clone(), entry.rank, key), partition);
            }
            (IndexPlace::Entry(entry), false) => {
                self.held.entries.remove(&(entry.name.clone(), entry.rank, key));
            }
            (IndexPlace::Due(due), true) => {
                self.held.due.insert((*due, key), partition);
            }
            (IndexPlace::Due(due), false) => {
                self.held.due.remove(&(*due, key));
            }
        }
        cost.mended(mend);
    }

    fn trim(&mut self, partition: Partition, trim: &Trim, cost: &mut Cost) {
        match trim {
            Trim::Log { log, through } => self.trim_log(log, *through, cost),
            Trim::Feed { through } => {
                let before = self.held.feed.len();
                let newest = self.newest();
                self.held
                    .feed
                    .retain(|&position, (whose, _)| *whose != partition || position > *through || position == newest);
                cost.trimmed((before - self.held.feed.len()) as u64);
            }
        }
    }

    fn trim_log(&mut self, log: &Key, through: u64, cost: &mut Cost) {
        let range = (log.clone(), 0)..=(log.clone(), through);
        let seqs: Vec<u64> = self.held.logs.range(range).map(|((_, seq), _)| *seq).collect();
        for seq in &seqs {
            self.held.logs.remove(&(log.clone(), *seq));
        }
        cost.trimmed(seqs.len() as u64);
    }

    fn newest(&self) -> u64 {
        self.held.feed.last_key_value().map_or(0, |(position, _)| *position)
    }

    pub(super) fn scan(&self, index: &IndexName, partitions: &Partitions, range: &Range, limit: usize) -> Page {
        let places = self.held.entries.range(rank_bounds(index, range));
        let found = |((_, rank, key), partition): (&(IndexName, u64, Key), &Partition)| Found {
            rank: *rank,
            key: key.clone(),
            partition: *partition,
        };
        page(places.map(found), partitions, range, limit)
    }

    pub(super) fn count(&self, index: &IndexName, partitions: &Partitions, cap: u64) -> Count {
        let limit = usize::try_from(cap).unwrap_or(usize::MAX);
        let page = self.scan(index, partitions, &Range::default(), limit);
        Count { n: page.items.len() as u64, capped: page.more }
    }

    pub(super) fn due(&self, partitions: &Partitions, range: &Range, limit: usize) -> Page {
        let (low, high) = ranks(range);
        let above = high.checked_add(1).map_or(Bound::Unbounded, |above| Bound::Excluded((above, Key::new(""))));
        let places = if low <= high {
            self.held.due.range((Bound::Included((low, Key::new(""))), above))
        } else {
            self.held.due.range((0, Key::new(""))..(0, Key::new("")))
        };
        let found = |((due, key), partition): (&(u64, Key), &Partition)| Found {
            rank: *due,
            key: key.clone(),
            partition: *partition,
        };
        page(places.map(found), partitions, range, limit)
    }

    pub(super) fn read_log(&self, partition: Partition, log: &Key, after: u64, limit: usize) -> Result<Vec<LogEntry>> {
        self.record(partition, log)?;
        let behind = (Bound::Excluded((log.clone(), after)), Bound::Unbounded);
        let entries = self.held.logs.range(behind).take_while(|((key, _), _)| key == log).take(limit);
        Ok(entries.map(|((_, seq), body)| LogEntry { seq: *seq, body: body.clone() }).collect())
    }

    pub(super) fn audit(&self, from: Option<&str>, limit: usize) -> Result<AuditPage> {
        audit::page(&self.held, from, limit)
    }

    pub(super) fn read_feed(&self, after: &Cursor, limit: usize) -> Result<FeedPage> {
        let start = position(after)?;
        let behind = self.held.feed.range((Bound::Excluded(start), Bound::Unbounded)).take(limit);
        let events = behind.map(|(position, (partition, body))| event(*partition, *position, body.clone())).collect();
        Ok(feed_page(start, events, self.newest()))
    }
}

/// The first places of a range, in its direction.
fn page(places: impl DoubleEndedIterator<Item = Found>, partitions: &Partitions, range: &Range, limit: usize) -> Page {
    let matching = places.filter(|found| partitions.contains(found.partition) && within(range, found.rank, &found.key));
    let wanted = limit.saturating_add(1);
    let mut items: Vec<Found> = match range.direction {
        Direction::Ascending => matching.take(wanted).collect(),
        Direction::Descending => matching.rev().take(wanted).collect(),
    };
    let more = items.len() > limit;
    items.truncate(limit);
    Page { items, more }
}

/// Whether a place lies in a range, in the direction of the scan.
fn within(range: &Range, rank: u64, key: &Key) -> bool {
    let behind = range.after.as_ref().is_none_or(|(at, name)| match range.direction {
        Direction::Ascending => (rank, key) > (*at, name),
        Direction::Descending => (rank, key) < (*at, name),
    });
    behind && range.from.is_none_or(|from| from <= rank) && range.until.is_none_or(|until| rank < until)
}

/// The lowest and the highest rank that a range can touch, so that a page does not start at the front each time.
fn ranks(range: &Range) -> (u64, u64) {
    let at = range.after.as_ref().map(|(rank, _)| *rank);
    let (mut low, mut high) = (range.from.unwrap_or(0), range.until.map_or(u64::MAX, |until| until.saturating_sub(1)));
    match range.direction {
        Direction::Ascending => low = low.max(at.unwrap_or(0)),
        Direction::Descending => high = high.min(at.unwrap_or(u64::MAX)),
    }
    (low, high)
}

/// Where the places of an index that a range can touch begin and end.
fn rank_bounds(index: &IndexName, range: &Range) -> std::ops::Range<(IndexName, u64, Key)> {
    let (low, high) = ranks(range);
    let start = (index.clone(), low, Key::new(""));
    let end = match high.checked_add(1) {
        Some(above) => (index.clone(), above, Key::new("")),
        // The next possible name: nothing lies between a string and itself with a zero byte behind it.
        None => (IndexName::new(format!("{index}\0")), 0, Key::new("")),
    };
    if start < end { start..end } else { start.clone()..start }
}
