//! Lanes as operators see them: decide, and wait until every partition knows.

use crate::{Engine, Error, query};
use onward_core::record::{LaneMaster, LaneSettings, Record};
use onward_core::{
    Command, Key, Lane, LaneChange, Namespace, PartitionId, Rejection, Reply, SetLane, Share, Span, index,
};
use onward_store::{IndexName, Partitions};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most ready entries that are counted for one lane.
const READY_COUNT_MAX: u64 = 10_000;

/// A lane that is used or was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneListing {
    /// Its name.
    pub lane: Lane,
    /// What holds for it.
    pub settings: LaneSettings,
    /// How much work is ready in it.
    pub ready: u64,
    /// Whether counting stopped there, so that more may be ready.
    pub ready_capped: bool,
}

impl Engine {
    /// The lanes of a namespace that have been used or changed, by name.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn lanes(&self, namespace: &Namespace) -> Result<Vec<LaneListing>, Error> {
        let mut queues: BTreeMap<Lane, Vec<Arc<str>>> = BTreeMap::new();
        for (lane, class) in query::classes(&self.shared, namespace).await? {
            queues.entry(lane).or_default().push(class);
        }
        for key in query::keys(&self.shared, &IndexName::new(index::lanes(namespace))).await? {
            if let Key::LaneMaster(_, lane) = key {
                queues.entry(lane).or_default();
            }
        }
        let mut lanes = Vec::with_capacity(queues.len());
        for (lane, classes) in queues {
            let settings = self.lane(namespace, &lane).await?.map(|master| master.settings).unwrap_or_default();
            let (mut ready, mut ready_capped) = (0, false);
            for class in classes {
                let index = IndexName::new(index::ready(namespace, &lane, &class, &Share::default()));
                let count = self.shared.store.count(&index, &Partitions::All, READY_COUNT_MAX).await?;
                ready += count.n;
                ready_capped |= count.capped;
            }
            lanes.push(LaneListing { lane, settings, ready, ready_capped });
        }
        Ok(lanes)
    }

    /// Changes a lane's settings; answers when every partition has the decision.
    ///
    /// # Errors
    /// A failure of the store, or `contended` when the partitions did not all answer in time.
    pub async fn set_lane(&self, namespace: &Namespace, lane: &Lane, change: LaneChange) -> Result<u64, Error> {
        let (command, namespace, lane) = (self.command_id(), namespace.clone(), lane.clone());
        self.set_lane_with(SetLane { command, namespace, lane, by: None, change }).await
    }

    /// Changes a lane's settings under an id drawn before, so that the call can be repeated, and in a name.
    ///
    /// # Errors
    /// As [`Engine::set_lane`].
    pub async fn set_lane_with(&self, set: SetLane) -> Result<u64, Error> {
        let (namespace, lane) = (set.namespace.clone(), set.lane.clone());
        let home = PartitionId::of_gates(&namespace, self.shared.partitions);
        let Reply::LaneSet { revision } = self.call(home, Command::SetLane(set)).await? else {
            return Err(Error::Internal("a lane change was answered by something else".into()));
        };
        let deadline = self.shared.deadline();
        loop {
            let delivered = self.shared.delivered.notified();
            let master = self.lane(&namespace, &lane).await?;
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
