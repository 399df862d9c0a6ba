//! What a group's writes change in the table of entries, worked out before the call so that the server need not.

use super::PostgresState;
use super::link::Link;
use super::statement::Ask;
use super::value::{self, column};
use crate::check::Plan;
use crate::place_cache::{self, VersionPlaces};
use crate::{Key, Mend, Result, Version};
use foldhash::fast::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use uuid::Uuid;

/// What one batch changes.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Rows to remove and to add; each is named once.
    pub(super) mends: Vec<Mend>,
    /// Which expectations are of a version that is not what is stored: their batch must be refused.
    pub(super) unknown: BTreeSet<usize>,
}

/// Where the records that a group replaces are listed.
type Before<'a> = HashMap<&'a str, Arc<VersionPlaces>, RandomState>;

/// The changes of each batch. What this process has neither read nor written lately is read first.
pub(super) async fn of(plans: &[&Plan], link: &Link, state: &PostgresState) -> Result<Vec<Changes>> {
    let (mut before, mut unknown) = (Before::default(), Vec::new());
    {
        let mut place_cache = state.place_cache.lock();
        for (key, version) in plans.iter().flat_map(|plan| replaced(plan)) {
            match place_cache.find(key, version) {
                Some(places) => drop(before.insert(key.as_str(), places)),
                None => unknown.push(key.as_str()),
            }
        }
    }
    let rows = if unknown.is_empty() { Vec::new() } else { link.read(Ask::Places, &[&unknown]).await? };
    for row in &rows {
        let version: Uuid = column(row, 1)?;
        let (entries, due) = value::places_from_text(column(row, 2)?)?;
        before.insert(column(row, 0)?, Arc::new(VersionPlaces { version: Version(version.as_u128()), entries, due }));
    }
    Ok(plans.iter().map(|plan| change(plan, &before)).collect())
}

/// The records that a batch replaces or removes, in the version that it expects.
fn replaced(plan: &Plan) -> impl Iterator<Item = (&Key, Version)> {
    let written = plan.put_at.iter().chain(&plan.delete_at);
    written.filter_map(|at| {
        let (key, version) = &plan.batch.expect[*at];
        Some((key, (*version)?))
    })
}

fn change(plan: &Plan, before: &Before<'_>) -> Changes {
    let batch = &plan.batch;
    let mut changes = Changes::default();
    let puts = batch.put.iter().map(Some).zip(&plan.put_at);
    for (new, at) in puts.chain(plan.delete_at.iter().map(|at| (None, at))) {
        let (key, version) = &batch.expect[*at];
        let was = before.get(key.as_str()).map(|was| &**was).filter(|was| Some(was.version) == *version);
        if version.is_some() && was.is_none() {
            changes.unknown.insert(*at);
        }
        changes.mends.extend(place_cache::changes(key, was, new));
    }
    if !batch.mend.is_empty() {
        // Mends come behind everything else: what they say of a row is what counts.
        let all = changes.mends.drain(..).chain(batch.mend.iter().cloned());
        let last: BTreeMap<_, _> = all.map(|mend| ((mend.key, mend.place), mend.listed)).collect();
        changes.mends = last.into_iter().map(|((key, place), listed)| Mend { key, place, listed }).collect();
    }
    changes
}
