//! How batches become the arrays of one call, and the rows of its answer become their outcomes.

use super::value::{self, clamp, named, places_to_text, version_to_sql};
use crate::check::{self, Plan};
use crate::cost::Cost;
use crate::{Outcome, Result, Trim};
use std::collections::BTreeMap;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

/// How many parameters a commit has.
const PARAMETERS: usize = 35;

/// One array for each column of the batches' parts, in the order of the function's parameters.
#[derive(Default)]
pub(super) struct Arrays<'a> {
    store: i32,
    partitions: Vec<i32>,
    batches: (Vec<i32>, Vec<Uuid>, Vec<i64>, Vec<i64>),
    expect: (Vec<i32>, Vec<&'a str>, Vec<Option<Uuid>>),
    delete: (Vec<i32>, Vec<&'a str>),
    insert: (Vec<i32>, Vec<&'a str>, Vec<String>, Vec<&'a [u8]>),
    update: (Vec<i32>, Vec<&'a str>, Vec<String>, Vec<&'a [u8]>),
    append: (Vec<i32>, Vec<&'a str>, Vec<i64>, Vec<&'a [u8]>),
    events: (Vec<i32>, Vec<&'a [u8]>, i64),
    trim: (Vec<i32>, Vec<&'a str>, Vec<i64>, Option<i64>),
    mend: (Vec<i32>, Vec<&'a str>, Vec<&'a str>, Vec<i64>, Vec<bool>),
}

impl<'a> Arrays<'a> {
    pub(super) fn of(store: i32, plans: impl Iterator<Item = &'a Plan>) -> Self {
        let mut arrays = Self { store, ..Self::default() };
        for (number, plan) in (1..).zip(plans) {
            arrays.add(number, plan);
        }
        arrays.partitions = arrays.batches.0.clone();
        arrays.partitions.sort_unstable();
        arrays.partitions.dedup();
        arrays
    }

    fn add(&mut self, number: i32, plan: &'a Plan) {
        let batch = &plan.batch;
        self.batches.0.push(i32::from(batch.partition.0));
        self.batches.1.push(version_to_sql(batch.id));
        self.batches.2.push(batch.window.not_before.map_or(i64::MIN, clamp));
        self.batches.3.push(batch.window.not_after.map_or(i64::MAX, clamp));
        for (key, version) in &batch.expect {
            self.expect.0.push(number);
            self.expect.1.push(key.as_str());
            self.expect.2.push(version.map(version_to_sql));
        }
        for (key, at) in batch.delete.iter().zip(&plan.delete_at) {
            if batch.expect[*at].1.is_some() {
                self.delete.0.push(number);
                self.delete.1.push(key.as_str());
            }
        }
        for (record, at) in batch.put.iter().zip(&plan.put_at) {
            let is_there = batch.expect[*at].1.is_some();
            let put = if is_there { &mut self.update } else { &mut self.insert };
            put.0.push(number);
            put.1.push(record.key.as_str());
            put.2.push(places_to_text(&record.entries, record.due));
            put.3.push(&record.body);
        }
        for event in &batch.events {
            self.events.0.push(number);
            self.events.1.push(event);
            // Never so high that the next positions would not fit.
            self.events.2 = self.events.2.max(clamp(batch.feed_above).min(i64::MAX / 2));
        }
        self.add_beside(number, plan);
    }

    /// Log entries, trims and mends. Of two that mean the same row, the later one counts.
    fn add_beside(&mut self, number: i32, plan: &'a Plan) {
        let batch = &plan.batch;
        let entries = batch.append.iter().map(|append| ((append.log.as_str(), append.seq), &append.body[..]));
        for ((log, seq), body) in entries.collect::<BTreeMap<_, _>>() {
            self.append.0.push(number);
            self.append.1.push(log);
            self.append.2.push(clamp(seq));
            self.append.3.push(body);
        }
        for trim in &batch.trim {
            match trim {
                Trim::Log { log, through } => {
                    self.trim.0.push(number);
                    self.trim.1.push(log.as_str());
                    self.trim.2.push(clamp(*through));
                }
                Trim::Feed { through } => self.trim.3 = self.trim.3.max(Some(clamp(*through))),
            }
        }
        let places = batch.mend.iter().map(|mend| ((mend.key.as_str(), named(&mend.place)), mend.listed));
        for ((key, (name, rank)), listed) in places.collect::<BTreeMap<_, _>>() {
            self.mend.0.push(number);
            self.mend.1.push(key);
            self.mend.2.push(name);
            self.mend.3.push(rank);
            self.mend.4.push(listed);
        }
    }

    pub(super) fn values(&self) -> [&(dyn ToSql + Sync); PARAMETERS] {
        let Self {
            batches: b, expect: e, delete: d, insert: i, update: u, append: a, events: f, trim: t, mend: m, ..
        } = self;
        [
            &self.store,
            &self.partitions,
            &b.0,
            &b.1,
            &b.2,
            &b.3,
            &e.0,
            &e.1,
            &e.2,
            &d.0,
            &d.1,
            &i.0,
            &i.1,
            &i.2,
            &i.3,
            &u.0,
            &u.1,
            &u.2,
            &u.3,
            &a.0,
            &a.1,
            &a.2,
            &a.3,
            &f.0,
            &f.1,
            &f.2,
            &t.0,
            &t.1,
            &t.2,
            &t.3,
            &m.0,
            &m.1,
            &m.2,
            &m.3,
            &m.4,
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
