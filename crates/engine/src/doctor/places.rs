//! Repairs index rows that do not match their records, as the store's own audit found them.

use super::report::Notes;
use super::{TRIES, commit};
use crate::Error;
use crate::shared::Shared;
use onward_store::{Batch, Fault, FaultKind, IndexPlace, Version};

/// Notes every fault, and repairs it if asked to.
pub(super) async fn examine(shared: &Shared, notes: &mut Notes, faults: &[Fault]) -> Result<(), Error> {
    for fault in faults {
        let repaired = notes.repair && mend(shared, fault).await?;
        let (code, detail) = told(fault);
        notes.note(code, fault.key.to_string(), detail, repaired);
    }
    Ok(())
}

fn told(fault: &Fault) -> (&'static str, String) {
    let place = match &fault.place {
        IndexPlace::Entry(entry) => format!("in index {} at rank {}", entry.name, entry.rank),
        IndexPlace::Due(due) => format!("among the due times at {due}"),
    };
    match fault.kind {
        FaultKind::Missing => ("index_missing", format!("it is not listed {place}")),
        FaultKind::Stray if fault.version.is_some() => ("index_stray", format!("it is wrongly listed {place}")),
        FaultKind::Stray => ("index_stray", format!("it is listed {place} and does not exist")),
    }
}

/// Repairs a fault. A concurrent write of the record leaves the row as it is, so the record is read again.
async fn mend(shared: &Shared, fault: &Fault) -> Result<bool, Error> {
    let mut version = fault.version;
    for _ in 0..TRIES {
        let mut batch = Batch::new(fault.partition, Version(shared.chance.id()));
        batch.expect.push((fault.key.clone(), version));
        batch.mend.push(fault.mend());
        if commit(shared, batch).await? {
            return Ok(true);
        }
        let record = shared.store.load(fault.partition, std::slice::from_ref(&fault.key)).await?.remove(0);
        if record.as_ref().is_some_and(|record| record.claims(&fault.place)) != (fault.kind == FaultKind::Missing) {
            // The record changed, and the row is right now.
            return Ok(true);
        }
        version = record.map(|record| record.version);
    }
    Ok(false)
}
