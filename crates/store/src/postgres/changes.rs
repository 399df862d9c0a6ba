//! What a group's writes change in the table of entries, worked out before the call so that the server need not.

use super::Shared;
use super::link::Link;
use super::statement::Ask;
use super::value::{self, column};
use crate::check::Plan;
use crate::known::{self, Places};
use crate::{Key, Mend, Result, Version};
use std::collections::BTreeMap;

/// What one batch changes.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Rows to remove and to add; each is named once.
    pub(super) mends: Vec<Mend>,
    /// Which expectations are of a version that is not what is stored: their batch must be refused.
    pub(super) unknown: Vec<usize>,
}

/// The changes of each batch. What this process has neither read nor written lately is read first.
pub(super) async fn of(plans: &[&Plan], link: &Link, shared: &Shared) -> Result<Vec<Changes>> {
    let unknown: Vec<&str> = {
        let mut places = shared.places();
        let replaced = plans.iter().flat_map(|plan| replaced(plan));
        replaced.filter(|(key, version)| !places.has(key, *version)).map(|(key, _)| key.as_str()).collect()
    };
    if !unknown.is_empty() {
        let rows = link.read(Ask::Load, &[&unknown]).await?;
        let mut places = shared.places();
        for row in &rows {
            places.learn(&value::record(row, 2, Key::new(column::<&str>(row, 0)?))?);
        }
    }
    let places = shared.places();
    Ok(plans.iter().map(|plan| change(plan, &places)).collect())
}

/// The records that a batch replaces or removes, in the version that it expects.
fn replaced(plan: &Plan) -> impl Iterator<Item = (&Key, Version)> {
    let written = plan.put_at.iter().chain(&plan.delete_at);
    written.filter_map(|at| {
        let (key, version) = &plan.batch.expect[*at];
        Some((key, (*version)?))
    })
}

fn change(plan: &Plan, places: &Places) -> Changes {
    let batch = &plan.batch;
    let mut changes = Changes::default();
    let puts = batch.put.iter().map(Some).zip(&plan.put_at);
    for (new, at) in puts.chain(plan.delete_at.iter().map(|at| (None, at))) {
        let (key, version) = &batch.expect[*at];
        match version.map(|version| places.changes(key, version, new)) {
            None => changes.mends.extend(known::changes(key, (&[], None), new)),
            Some(Some(changed)) => changes.mends.extend(changed),
            Some(None) => changes.unknown.push(*at),
        }
    }
    if !batch.mend.is_empty() {
        // Mends come behind everything else: what they say of a row is what counts.
        let all = changes.mends.drain(..).chain(batch.mend.iter().cloned());
        let last: BTreeMap<_, _> = all.map(|mend| ((mend.key, mend.place), mend.listed)).collect();
        changes.mends = last.into_iter().map(|((key, place), listed)| Mend { key, place, listed }).collect();
    }
    changes
}
