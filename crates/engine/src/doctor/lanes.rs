//! Finds and repairs copies of a lane's settings that differ from the master.

use super::report::Notes;
use crate::api::query;
use crate::{Engine, Error};
use onward_core::record::{LaneMaster, Record};
use onward_core::{Key, LaneChange, PartitionId};

/// Compares the copies of each lane with its master. After a restore every lane is sent again regardless of the copies,
/// because messages about it may have been lost.
pub(super) async fn examine(engine: &Engine, notes: &mut Notes, masters: &[Key], restored: bool) -> Result<(), Error> {
    for key in masters {
        let Key::LaneMaster(namespace, lane) = key else { continue };
        let Some(master) = engine.lane(namespace, lane).await? else { continue };
        let behind = behind(engine, &master).await?;
        if (notes.repair && !behind.is_empty()) || restored {
            // A change that sets nothing is sent to every partition like any other.
            engine.set_lane(namespace, lane, LaneChange::default()).await?;
            notes.report.lanes_told += 1;
        }
        for partition in behind {
            let detail = format!("partition {partition} does not have what was decided last");
            notes.note("lane_copy_differs", key.to_string(), detail, notes.repair || restored);
        }
    }
    Ok(())
}

/// The partitions that confirmed a change and do not have it; a change still in flight is no fault.
async fn behind(engine: &Engine, master: &LaneMaster) -> Result<Vec<PartitionId>, Error> {
    let mut behind = Vec::new();
    for partition in (0..engine.shared.partitions).map(PartitionId).filter(|id| !master.owed.contains(id)) {
        let key = Key::LaneCopy(master.namespace.clone(), master.lane.clone(), partition);
        let there = match query::record(&engine.shared, partition, &key).await? {
            Some(Record::LaneCopy(copy)) => copy.revision >= master.revision,
            // What cannot be read was written by a newer version and is reported as such.
            Some(_) => true,
            None => false,
        };
        if !there {
            behind.push(partition);
        }
    }
    Ok(behind)
}
