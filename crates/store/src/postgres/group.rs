//! How batches become the arrays of one call, and the rows of its answer become their outcomes.

use super::value::{self, places_to_text, version_to_sql};
use crate::check::{self, Plan};
use crate::cost::Cost;
use crate::sql::{clamp, named};
use crate::{Millis, Outcome, Result, Trim};
use std::collections::BTreeMap;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// How many parameters a commit has.
const PARAMETERS: usize = 36;

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
    mend: Mended<'a>,
}

#[derive(Default)]
struct Batches {
    partition: Vec<i32>,
    id: Vec<Uuid>,
    from: Vec<i64>,
    until: Vec<i64>,
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
struct Mended<'a> {
    batch: Vec<i32>,
    key: Vec<&'a str>,
    name: Vec<&'a str>,
    rank: Vec<i64>,
    listed: Vec<bool>,
}

impl<'a> Arrays<'a> {
    pub(super) fn of(store: i32, held: Option<Millis>, plans: &[&'a Plan]) -> Self {
        let mut arrays = Self { store, held: held.map(clamp), ..Self::default() };
        for (number, plan) in (1..).zip(plans) {
            arrays.add(number, plan);
            arrays.add_beside(number, plan);
        }
        arrays.partitions.clone_from(&arrays.batches.partition);
        arrays.partitions.sort_unstable();
        arrays.partitions.dedup();
        arrays
    }

    fn add(&mut self, number: i32, plan: &'a Plan) {
        let batch = &plan.batch;
        self.batches.partition.push(i32::from(batch.partition.0));
        self.batches.id.push(version_to_sql(batch.id));
        self.batches.from.push(batch.window.not_before.map_or(i64::MIN, clamp));
        self.batches.until.push(batch.window.not_after.map_or(i64::MAX, clamp));
        for (key, version) in &batch.expect {
            self.expect.batch.push(number);
            self.expect.key.push(key.as_str());
            self.expect.version.push(version.map(version_to_sql));
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

    /// Log entries, events, trims and mends. Of two that mean the same row, the later one counts.
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
        let places = batch.mend.iter().map(|mend| ((mend.key.as_str(), named(&mend.place)), mend.listed));
        for ((key, (name, rank)), listed) in places.collect::<BTreeMap<_, _>>() {
            self.mend.batch.push(number);
            self.mend.key.push(key);
            self.mend.name.push(name);
            self.mend.rank.push(rank);
            self.mend.listed.push(listed);
        }
    }

    /// In the order of the function's parameters.
    #[rustfmt::skip]
    pub(super) fn values(&self) -> [&(dyn ToSql + Sync); PARAMETERS] {
        let Self { batches, expect, delete, insert, update, append, events, trim, mend, .. } = self;
        [
            &self.store, &self.partitions, &self.held,
            &batches.partition, &batches.id, &batches.from, &batches.until,
            &expect.batch, &expect.key, &expect.version,
            &delete.batch, &delete.key,
            &insert.batch, &insert.key, &insert.places, &insert.body,
            &update.batch, &update.key, &update.places, &update.body,
            &append.batch, &append.key, &append.seq, &append.body,
            &events.batch, &events.body, &events.above,
            &trim.batch, &trim.key, &trim.through, &trim.feed,
            &mend.batch, &mend.key, &mend.name, &mend.rank, &mend.listed,
        ]
    }
}

/// What came of a group.
pub(super) struct Answer {
    /// For each batch its outcome, or the refusal when it named a key of another partition.
    pub(super) results: Vec<Result<Outcome>>,
    pub(super) cost: Cost,
}

/// Reads the rows of the answer to a commit of these plans.
pub(super) fn answer(plans: &[&Plan], mut rows: Vec<Row>) -> Result<Answer> {
    let ends = || super::fault::corrupt("a commit was answered without its time");
    let summary = rows.pop().ok_or_else(ends)?;
    let now: i64 = value::column(&summary, 6)?;
    let now = now.unsigned_abs();
    let number = |row: &Row| -> Result<(i32, Option<i32>)> { Ok((value::column(row, 0)?, value::column(row, 1)?)) };
    let mut refused: BTreeMap<usize, Vec<(usize, Row)>> = BTreeMap::new();
    for row in rows {
        let (batch, at) = number(&row)?;
        let failed = refused.entry(batch.unsigned_abs() as usize).or_default();
        if let Some(at) = at {
            failed.push((at.unsigned_abs() as usize, row));
        }
    }
    let mut cost = Cost { rows: unsigned(&summary, 7)?, bytes: unsigned(&summary, 8)? };
    let mut results = Vec::with_capacity(plans.len());
    let mut first = 1;
    for (batch, plan) in (1..).zip(plans) {
        results.push(match refused.remove(&batch) {
            None => {
                count(plan, &mut cost);
                Ok(Outcome::Committed { now })
            }
            Some(failed) if failed.is_empty() => Ok(Outcome::Outside { now }),
            Some(failed) => conflict(plan, failed, first, now),
        });
        first += plan.batch.expect.len();
    }
    Ok(Answer { results, cost })
}

/// The keys whose expectation failed, as they are now; `first` is the number of the batch's first expectation.
fn conflict(plan: &Plan, mut failed: Vec<(usize, Row)>, first: usize, now: u64) -> Result<Outcome> {
    failed.sort_by_key(|(at, _)| *at);
    let mut current = Vec::with_capacity(failed.len());
    for (at, row) in failed {
        let unknown = || super::fault::corrupt("a commit was answered for a key it does not name");
        let (key, _) = at.checked_sub(first).and_then(|at| plan.batch.expect.get(at)).ok_or_else(unknown)?;
        let found: Option<i32> = value::column(&row, 2)?;
        let record = match found {
            None => None,
            Some(_) => {
                let found = value::partition(&row, 2)?;
                if found != plan.batch.partition {
                    return Err(check::elsewhere(key, plan.batch.partition, found));
                }
                Some(value::record(&row, 3, key.clone())?)
            }
        };
        current.push((key.clone(), record));
    }
    Ok(Outcome::Conflict { current, now })
}

/// Counts what a committed batch wrote beside index rows and trims, which the server counts.
fn count(plan: &Plan, cost: &mut Cost) {
    let batch = &plan.batch;
    for record in &batch.put {
        cost.record(&record.key, &record.body);
    }
    for (key, at) in batch.delete.iter().zip(&plan.delete_at) {
        if batch.expect[*at].1.is_some() {
            cost.removed(key);
        }
    }
    for append in &batch.append {
        cost.logged(&append.log, &append.body);
    }
    for event in &batch.events {
        cost.event(event);
    }
    for mend in &batch.mend {
        cost.mended(mend);
    }
}

fn unsigned(row: &Row, at: usize) -> Result<u64> {
    let number: i64 = value::column(row, at)?;
    Ok(number.unsigned_abs())
}
