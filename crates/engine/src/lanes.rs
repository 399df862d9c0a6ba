//! Lanes as operators see them: decide, and wait until every partition knows.

use crate::{Engine, Error, query};
use onward_core::record::{LaneMaster, Record};
use onward_core::{Command, Key, Lane, LaneChange, Namespace, PartitionId, Rejection, Reply, SetLane, Span};

impl Engine {
    /// Changes a lane's settings; answers when every partition has the decision.
    ///
    /// # Errors
    /// A failure of the store, or `contended` when the partitions did not all answer in time.
    pub async fn set_lane(&self, namespace: &Namespace, lane: &Lane, change: LaneChange) -> Result<u64, Error> {
        let home = PartitionId::of_gates(namespace, self.shared.partitions);
        let command = self.command_id();
        let set = SetLane { command, namespace: namespace.clone(), lane: lane.clone(), change };
        let Reply::LaneSet { revision } = self.call(home, Command::SetLane(set)).await? else {
            return Err(Error::Internal("a lane change was answered by something else".into()));
        };
        let deadline = self.shared.deadline();
        loop {
            let delivered = self.shared.delivered.notified();
            let master = self.lane(namespace, lane).await?;
            // A later decision may say the same, so being overtaken is no reason to answer before that one is everywhere.
            if master.is_some_and(|master| master.revision >= revision && master.owed.is_empty()) {
                return Ok(revision);
            }
            if self.shared.clock.now() >= deadline {
                return Err(Error::Contended);
            }
            let look_again = self.shared.clock.sleep(Span(250));
            tokio::select! { biased; () = delivered => {}, () = look_again => {} }
        }
    }

    /// A lane's settings; nothing when nobody ever changed it.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn lane(&self, namespace: &Namespace, lane: &Lane) -> Result<Option<LaneMaster>, Error> {
        let home = PartitionId::of_gates(namespace, self.shared.partitions);
        let key = Key::LaneMaster(namespace.clone(), lane.clone());
        match query::record(&self.shared, home, &key).await? {
            None => Ok(None),
            Some(Record::LaneMaster(master)) => Ok(Some(master)),
            Some(_) => Err(Rejection::RecordUnreadable { key: key.to_string() }.into()),
        }
    }
}
