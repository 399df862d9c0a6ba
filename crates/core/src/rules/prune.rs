//! Forgetting the queues of a lane that have been empty for a day.

use crate::record::Record;
use crate::view::unreadable;
use crate::{Class, Key, Kind, Lane, Millis, Namespace, PartitionId, Stop, Urgency, Verb, View};

/// Forgets queues of a lane in this partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prune {
    /// Whose lane.
    pub namespace: Namespace,
    /// The lane.
    pub lane: Lane,
    /// The queues that were found empty.
    pub empty: Vec<(Kind, Class)>,
}

impl Verb for Prune {
    const URGENCY: Urgency = Urgency::Background;
    type Reply = ();

    fn keys(&self, partition: PartitionId) -> Vec<Key> {
        vec![Key::Queues(self.namespace.clone(), self.lane.clone(), partition)]
    }

    /// Work that became ready after the queue was found empty has noted its use, so that the queue is not stale any more.
    /// One that is stale and was not found empty is in use.
    fn run(&self, view: &mut View, now: Millis) -> Result<(), Stop> {
        let key = Key::Queues(self.namespace.clone(), self.lane.clone(), view.partition());
        let mut registry = match view.get(&key)?.as_deref() {
            None => return Ok(()),
            Some(Record::Queues(registry)) => registry.clone(),
            Some(_) => return Err(unreadable(&key)),
        };
        let stale: Vec<_> = registry.queues.iter().filter(|seen| seen.stale_at() <= now).cloned().collect();
        let Some(last) = stale.iter().map(|seen| seen.stale_at()).max() else { return Ok(()) };
        view.not_before(last);
        for seen in stale {
            if !self.empty.iter().any(|(kind, class)| (kind, class) == (&seen.kind, &seen.class)) {
                registry.note(&seen.kind, &seen.class, now);
            }
        }
        registry.queues.retain(|seen| seen.stale_at() > now);
        if registry.queues.is_empty() { view.delete(key) } else { view.put(key, Record::Queues(registry)) }
    }
}

#[cfg(test)]
pub(crate) mod rows {
    use super::*;
    use crate::rules::table::Row;

    /// Rows of the (state × command) table.
    #[rustfmt::skip]
    pub(crate) const ROWS: &[Row] = &[
        Row::new("prune", |_, _| Prune { namespace: Namespace::default(), lane: Lane::default(), empty: Vec::new() }.into(), &[
            ("=", "*"),
        ]),
    ];
}
