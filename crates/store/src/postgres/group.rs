//! How batches become the arrays of one call.

use super::changes::Changes;
use super::value::{places_to_text, version_to_sql};
use crate::check::Plan;
use crate::sql::{clamp, named};
use crate::{Mend, Millis, Trim};
use std::collections::BTreeMap;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// How many parameters a commit has.
pub(super) const PARAMETERS: usize = 42;

/// The batches' parts, one array for each column: what the function's parameters take.
#[derive(Default)]
pub(super) struct Arrays<'a> {
    store: i32,
    /// Each once, in ascending order.
    partitions: Vec<i32>,
    /// The time to judge by, when it is not the server's.
    held: Option<i64>,
    batches: Batches,
    expect: Expected<'a>,
    delete: Deleted<'a>,
    insert: Put<'a>,
    update: Put<'a>,
    append: Appended<'a>,
    events: Events<'a>,
    trim: Trimmed<'a>,
    unlist: Placed<'a>,
    list: Placed<'a>,
}

#[derive(Default)]
struct Batches {
    partition: Vec<i32>,
    id: Vec<Uuid>,
    from: Vec<i64>,
    until: Vec<i64>,
    /// The time that no batch is too early or too late for lies between these two.
    latest: i64,
    earliest: i64,
}

#[derive(Default)]
struct Expected<'a> {
    batch: Vec<i32>,
    key: Vec<&'a str>,
    version: Vec<Option<Uuid>>,
}

#[derive(Default)]
struct Deleted<'a> {
    batch: Vec<i32>,
    key: Vec<&'a str>,
}

#[derive(Default)]
struct Put<'a> {
    batch: Vec<i32>,
    key: Vec<&'a str>,
    places: Vec<String>,
    body: Vec<&'a [u8]>,
}

#[derive(Default)]
struct Appended<'a> {
    batch: Vec<i32>,
    key: Vec<&'a str>,
    seq: Vec<i64>,
    body: Vec<&'a [u8]>,
}

#[derive(Default)]
struct Events<'a> {
    batch: Vec<i32>,
    body: Vec<&'a [u8]>,
    above: i64,
}

#[derive(Default)]
struct Trimmed<'a> {
    batch: Vec<i32>,
    key: Vec<&'a str>,
    through: Vec<i64>,
    feed: Option<i64>,
}

#[derive(Default)]
struct Placed<'a> {
    batch: Vec<i32>,
    key: Vec<&'a str>,
    name: Vec<&'a str>,
    rank: Vec<i64>,
}

impl<'a> Arrays<'a> {
    pub(super) fn of(store: i32, held: Option<Millis>, plans: &[&'a Plan], changes: &'a [Changes]) -> Self {
        let mut arrays = Self { store, held: held.map(clamp), ..Self::default() };
        for ((number, plan), changes) in (1..).zip(plans).zip(changes) {
            arrays.add(number, plan, changes);
            arrays.add_beside(number, plan);
            changes.mends.iter().for_each(|mend| arrays.place(number, mend));
        }
        arrays.partitions.clone_from(&arrays.batches.partition);
        arrays.partitions.sort_unstable();
        arrays.partitions.dedup();
        arrays.batches.latest = arrays.batches.from.iter().copied().max().unwrap_or(i64::MIN);
        arrays.batches.earliest = arrays.batches.until.iter().copied().min().unwrap_or(i64::MAX);
        arrays
    }

    fn add(&mut self, number: i32, plan: &'a Plan, changes: &Changes) {
        let batch = &plan.batch;
        self.batches.partition.push(i32::from(batch.partition.0));
        self.batches.id.push(version_to_sql(batch.id));
        self.batches.from.push(batch.window.not_before.map_or(i64::MIN, clamp));
        self.batches.until.push(batch.window.not_after.map_or(i64::MAX, clamp));
        for (at, (key, version)) in batch.expect.iter().enumerate() {
            self.expect.batch.push(number);
            self.expect.key.push(key.as_str());
            // No commit has this version, so that what would be written without knowing what it replaces is refused.
            let never = changes.unknown.contains(&at).then_some(Uuid::nil());
            self.expect.version.push(never.or(version.map(version_to_sql)));
        }
        for (key, at) in batch.delete.iter().zip(&plan.delete_at) {
            if batch.expect[*at].1.is_some() {
                self.delete.batch.push(number);
                self.delete.key.push(key.as_str());
            }
        }
        for (record, at) in batch.put.iter().zip(&plan.put_at) {
            let is_there = batch.expect[*at].1.is_some();
            let put = if is_there { &mut self.update } else { &mut self.insert };
            put.batch.push(number);
            put.key.push(record.key.as_str());
            put.places.push(places_to_text(&record.entries, record.due));
            put.body.push(&record.body);
        }
    }

    fn place(&mut self, number: i32, mend: &'a Mend) {
        let placed = if mend.listed { &mut self.list } else { &mut self.unlist };
        let (name, rank) = named(&mend.place);
        placed.batch.push(number);
        placed.key.push(mend.key.as_str());
        placed.name.push(name);
        placed.rank.push(rank);
    }

    /// Log entries, events and trims. Of two that mean the same row, the later one counts.
    fn add_beside(&mut self, number: i32, plan: &'a Plan) {
        let batch = &plan.batch;
        let entries = batch.append.iter().map(|append| ((append.log.as_str(), append.seq), &append.body[..]));
        for ((log, seq), body) in entries.collect::<BTreeMap<_, _>>() {
            self.append.batch.push(number);
            self.append.key.push(log);
            self.append.seq.push(clamp(seq));
            self.append.body.push(body);
        }
        for event in &batch.events {
            self.events.batch.push(number);
            self.events.body.push(event);
            // Never so high that the next positions would not fit.
            self.events.above = self.events.above.max(clamp(batch.feed_above).min(i64::MAX / 2));
        }
        for trim in &batch.trim {
            match trim {
                Trim::Log { log, through } => {
                    self.trim.batch.push(number);
                    self.trim.key.push(log.as_str());
                    self.trim.through.push(clamp(*through));
                }
                Trim::Feed { through } => self.trim.feed = self.trim.feed.max(Some(clamp(*through))),
            }
        }
    }

    /// In the order of the function's parameters.
    #[rustfmt::skip]
    pub(super) fn values<'b>(&'b self, careful: &'b bool) -> [&'b (dyn ToSql + Sync); PARAMETERS] {
        let Self { batches, expect, delete, insert, update, unlist, list, append, events, trim, .. } = self;
        [
            &self.store, &self.partitions, &self.held, careful,
            &batches.partition, &batches.id, &batches.from, &batches.until, &batches.latest, &batches.earliest,
            &expect.batch, &expect.key, &expect.version,
            &delete.batch, &delete.key,
            &insert.batch, &insert.key, &insert.places, &insert.body,
            &update.batch, &update.key, &update.places, &update.body,
            &unlist.batch, &unlist.key, &unlist.name, &unlist.rank,
            &list.batch, &list.key, &list.name, &list.rank,
            &append.batch, &append.key, &append.seq, &append.body,
            &events.batch, &events.body, &events.above,
            &trim.batch, &trim.key, &trim.through, &trim.feed,
        ]
    }
}
