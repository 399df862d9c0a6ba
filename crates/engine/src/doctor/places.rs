//! Index rows that lost step with their records, as the store's own audit found them.

use super::report::Notes;
use super::{TRIES, commit};
use crate::Error;
use crate::shared::Shared;
use onward_store::{Batch, Fault, FaultKind, Place, Version};

/// Notes every fault, and sets it right if asked to.
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
        Place::Index(entry) => format!("in index {} at rank {}", entry.name, entry.rank),
        Place::Due(due) => format!("among the due times at {due}"),
    };
    match fault.kind {
        FaultKind::Missing => ("index_missing", format!("it is not listed {place}")),
        FaultKind::Stray if fault.version.is_some() => ("index_stray", format!("it is wrongly listed {place}")),
        FaultKind::Stray => ("index_stray", format!("it is listed {place} and does not exist")),
    }
}

/// Sets a fault right. Whoever writes the record meanwhile leaves the row as it is, so it is looked at again.
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
            // It changed so that the row is right now.
            return Ok(true);
        }
        version = record.map(|record| record.version);
    }
    Ok(false)
}
