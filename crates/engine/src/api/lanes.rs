//! Lanes: lists them, changes their settings, and waits until every partition has the change.

use crate::api::query;
use crate::work::board::QueueKey;
use crate::work::registry;
use crate::{Engine, Error};
use onward_core::record::{Execution, LaneMaster, LaneSettings, Record};
use onward_core::{Addressed, Key, Lane, LaneChange, Millis, Namespace, PartitionId, Rejection, SetLane, Span, index};
use onward_store::{Direction, IndexName, Partitions, Range};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum ready entries counted for one class of a lane.
const READY_COUNT_MAX: u64 = 10_000;

/// Priorities whose first entry is read to find the oldest; more of them in one lane are rare.
const PRIORITIES_LOOKED_AT: usize = 16;

/// The first pause before a caller reads how far its change has got, where other processes deliver a part of it; it
/// doubles up to the longest.
const PAUSE_FIRST: Span = Span(20);
const PAUSE_MAX: Span = Span(250);

/// A lane that was used or changed, and its backlog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaneListing {
    /// Name of the lane.
    pub lane: Lane,
    /// Settings of the lane; the defaults if it was never changed.
    pub settings: LaneSettings,
    /// Number of ready executions.
    pub ready: u64,
    /// Whether counting stopped at its limit, so that more may be ready.
    pub ready_capped: bool,
    /// When the oldest ready execution became ready.
    pub oldest: Option<Millis>,
}

impl Engine {
    /// The lanes of a namespace that have been used or changed, by name.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn lanes(&self, namespace: &Namespace) -> Result<Vec<LaneListing>, Error> {
        registry::read(&self.shared).await?;
        let mut queues: BTreeMap<Lane, Vec<QueueKey>> = BTreeMap::new();
        for queue in self.shared.board.queues_of(namespace, None) {
            queues.entry(queue.lane.clone()).or_default().push(queue);
        }
        for key in query::keys(&self.shared, &IndexName::new(index::lanes(namespace))).await? {
            if let Key::LaneMaster(_, lane) = key {
                queues.entry(lane).or_default();
            }
        }
        let mut lanes = Vec::with_capacity(queues.len());
        for (lane, queues) in queues {
            lanes.push(self.list_lane(namespace, lane, queues).await?);
        }
        Ok(lanes)
    }

    /// Reads one lane; one that was never used or changed is open and empty.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn lane_listing(&self, namespace: &Namespace, lane: Lane) -> Result<LaneListing, Error> {
        registry::read(&self.shared).await?;
        let queues = self.shared.board.queues_of(namespace, Some(&lane));
        self.list_lane(namespace, lane, queues).await
    }

    /// The namespaces whose lanes have been used.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn namespaces(&self) -> Result<BTreeSet<Namespace>, Error> {
        registry::read(&self.shared).await?;
        Ok(self.shared.board.namespaces())
    }

    async fn list_lane(&self, namespace: &Namespace, lane: Lane, queues: Vec<QueueKey>) -> Result<LaneListing, Error> {
        let settings = self.lane(namespace, &lane).await?.map(|master| master.settings).unwrap_or_default();
        let mut listing = LaneListing { lane, settings, ready: 0, ready_capped: false, oldest: None };
        for index in queues.iter().map(QueueKey::index) {
            let count = self.shared.store.count(&index, &Partitions::All, READY_COUNT_MAX).await?;
            listing.ready += count.n;
            listing.ready_capped |= count.capped;
            if count.n > 0 {
                let oldest = self.oldest(&index).await?;
                listing.oldest = [listing.oldest, oldest].into_iter().flatten().min();
            }
        }
        Ok(listing)
    }

    /// When the oldest entry of a queue became ready. The first entry of each priority is its oldest, so one read per
    /// priority finds it; of very many priorities the most urgent ones and the least urgent one are read.
    async fn oldest(&self, index: &IndexName) -> Result<Option<Millis>, Error> {
        let (mut oldest, mut from) = (None, None);
        for _ in 0..PRIORITIES_LOOKED_AT {
            let range = Range { from, ..Range::default() };
            let page = self.shared.store.scan(index, &Partitions::All, range, 1).await?;
            let Some(first) = page.items.first() else { break };
            let since = Execution::ready_since(first.rank);
            oldest = Some(oldest.map_or(since, |oldest: Millis| oldest.min(since)));
            from = Some((Execution::ready_urgency(first.rank) + 1) << Execution::URGENCY_SHIFT);
        }
        // The least urgent work may have waited longest.
        let last = Range { direction: Direction::Descending, ..Range::default() };
        let last = self.shared.store.scan(index, &Partitions::All, last, 1).await?;
        if let Some(last) = last.items.first().filter(|last| from.is_some_and(|from| last.rank >= from)) {
            let from = Some(Execution::ready_urgency(last.rank) << Execution::URGENCY_SHIFT);
            let page = self.shared.store.scan(index, &Partitions::All, Range { from, ..Range::default() }, 1).await?;
            let since = page.items.first().map(|first| Execution::ready_since(first.rank));
            oldest = [oldest, since].into_iter().flatten().min();
        }
        Ok(oldest)
    }

    /// Changes a lane's settings; returns the revision once every partition has it.
    ///
    /// # Errors
    /// A failure of the store, or `contended` when not all partitions had it in time.
    pub async fn set_lane(&self, namespace: &Namespace, lane: &Lane, change: LaneChange) -> Result<u64, Error> {
        let (command, namespace, lane) = (self.command_id(), namespace.clone(), lane.clone());
        self.set_lane_with(SetLane { command, namespace, lane, by: None, change }).await
    }

    /// Changes a lane's settings under an id drawn before, so that the call can be retried, and in an actor's name.
    ///
    /// # Errors
    /// As [`Engine::set_lane`].
    pub async fn set_lane_with(&self, set: SetLane) -> Result<u64, Error> {
        let (namespace, lane) = (set.namespace.clone(), set.lane.clone());
        let copied = self.shared.copies.enter(&namespace, &lane);
        self.shared.delivery.remove_along(set.home(self.shared.partitions));
        let revision = self.run(set).await?;
        let deadline = self.shared.deadline();
        // Nothing is told of a change that was made before, or by another process.
        let mut pause = if copied.has_seen(revision) { PAUSE_FIRST } else { Span(0) };
        loop {
            let look_again = self.shared.clock.sleep(pause);
            tokio::select! {
                biased;
                () = copied.everywhere(revision) => return Ok(revision),
                () = look_again => {}
                () = self.shared.stopped() => return Err(Error::ShuttingDown),
            }
            pause = Span((pause.0 * 2).clamp(PAUSE_FIRST.0, PAUSE_MAX.0));
            let master = self.lane(&namespace, &lane).await;
            let is_late = self.shared.clock.now() >= deadline;
            match master {
                // A later change may set the same, so being overtaken is no reason to return before it is everywhere.
                Ok(Some(master)) if master.revision >= revision && master.owed.is_empty() => return Ok(revision),
                Ok(_) if is_late => return Err(Error::Contended),
                // The change is committed; a store that is unavailable for a moment only hides how far it got.
                Err(error) if is_late || !error.is_temporary() => return Err(error),
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Reads a lane's settings; `None` if they were never changed.
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
