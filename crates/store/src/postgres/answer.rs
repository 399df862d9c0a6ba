//! How the answer to a call becomes the outcomes of its batches.

use super::changes::Changes;
use super::fault::corrupt;
use super::value::{self, column};
use crate::check::{self, Plan};
use crate::cost::Cost;
use crate::{Key, Outcome, Partition, Record, Result};
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use tokio_postgres::Row;
use uuid::Uuid;

/// What came of a group.
pub(super) struct Answer {
    /// For each batch its outcome, or the refusal when it named a key of another partition.
    pub(super) results: Vec<Result<Outcome>>,
    pub(super) cost: Cost,
}

/// A record that an expectation met: where it is, and what it is.
type Met = Option<(Partition, Record)>;

/// Reads the answer to a commit of these plans.
pub(super) fn read(plans: &[&Plan], changes: &[Changes], row: &Row) -> Result<Answer> {
    let (now, removed): (i64, i64) = (column(row, 0)?, column(row, 1)?);
    let now = now.unsigned_abs();
    let late: BTreeSet<i32> = column::<Option<Vec<i32>>>(row, 2)?.unwrap_or_default().into_iter().collect();
    let mut failed = failures(plans, row)?;
    let mut cost = Cost::default();
    cost.trimmed(removed.unsigned_abs());
    let mut results = Vec::with_capacity(plans.len());
    for ((number, plan), changes) in (1..).zip(plans).zip(changes) {
        results.push(if late.contains(&number) {
            Ok(Outcome::Outside { now })
        } else if let Some(failed) = failed.remove(&number) {
            conflict(plan, failed, now)
        } else {
            cost.written(plan);
            changes.mends.iter().for_each(|mend| cost.mended(mend));
            Ok(Outcome::Committed { now })
        });
    }
    Ok(Answer { results, cost })
}

/// For each refused batch the expectations that failed, by their place in it, and what they met.
fn failures(plans: &[&Plan], row: &Row) -> Result<BTreeMap<i32, Vec<(usize, Met)>>> {
    let mut failures: BTreeMap<i32, Vec<(usize, Met)>> = BTreeMap::new();
    let Some(batches) = column::<Option<Vec<i32>>>(row, 3)? else { return Ok(failures) };
    let places: Vec<i32> = column(row, 4)?;
    let (partitions, versions): (Vec<Option<i32>>, Vec<Option<Uuid>>) = (column(row, 5)?, column(row, 6)?);
    let (lines, bodies): (Vec<Option<&str>>, Vec<Option<&[u8]>>) = (column(row, 7)?, column(row, 8)?);
    let mut first = vec![1];
    first.extend(plans.iter().scan(1, |sum, plan| {
        *sum += plan.batch.expect.len();
        Some(*sum)
    }));
    let unknown = || corrupt("a commit was answered for a key it does not name");
    for (at, batch) in batches.into_iter().enumerate() {
        let number = usize::try_from(batch - 1).map_err(|_| unknown())?;
        let place = places.get(at).and_then(|place| usize::try_from(*place).ok()).ok_or_else(unknown)?;
        let place = first.get(number).and_then(|first| place.checked_sub(*first)).ok_or_else(unknown)?;
        let (key, _) = plans.get(number).and_then(|plan| plan.batch.expect.get(place)).ok_or_else(unknown)?;
        let parts = (partitions.get(at), versions.get(at), lines.get(at), bodies.get(at));
        let met = match parts {
            (Some(Some(partition)), Some(Some(version)), Some(Some(lines)), Some(Some(body))) => {
                let record = value::assemble(key.clone(), *version, lines, Bytes::copy_from_slice(body))?;
                Some((value::partition_of(*partition)?, record))
            }
            _ => None,
        };
        failures.entry(batch).or_default().push((place, met));
    }
    Ok(failures)
}

/// The keys whose expectation failed, as they are now.
fn conflict(plan: &Plan, mut failed: Vec<(usize, Met)>, now: u64) -> Result<Outcome> {
    failed.sort_by_key(|(at, _)| *at);
    let mut current: Vec<(Key, Option<Record>)> = Vec::with_capacity(failed.len());
    for (at, met) in failed {
        let key = &plan.batch.expect[at].0;
        if let Some((found, _)) = met.as_ref().filter(|(found, _)| *found != plan.batch.partition) {
            return Err(check::elsewhere(key, plan.batch.partition, *found));
        }
        current.push((key.clone(), met.map(|(_, record)| record)));
    }
    Ok(Outcome::Conflict { current, now })
}
