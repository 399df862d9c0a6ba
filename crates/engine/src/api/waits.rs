//! What an execution waits for, what it waited for, and the signals that were sent to it.

use crate::api::query;
use crate::shared::Shared;
use crate::{Engine, Error, binding};
use onward_core::record::{Execution, Record, SignalRecord, WaitOver, WaitRef};
use onward_core::{Key, Rejection, SignalId, index};
use onward_store::{Direction, IndexName, Partitions, Range};

/// Waits that are over, and signals, that one listing shows: the newest.
const LISTED: usize = 100;

/// The waits and signals of an execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaitList {
    /// Waits that are over, newest first.
    pub over: Vec<(WaitRef, WaitOver)>,
    /// Signals, newest first.
    pub signals: Vec<(SignalId, SignalRecord)>,
}

impl Engine {
    /// Reads the newest waits that are over and the newest signals of an execution.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn waits(&self, execution: &Execution) -> Result<WaitList, Error> {
        let mut list = WaitList::default();
        if execution.waits.is_none() {
            return Ok(list);
        }
        let parts = IndexName::new(index::parts(execution.id));
        let [signals, waits] = index::WAITING_PARTS
            .map(|(from, until)| Range { direction: Direction::Descending, ..Range::between(from, until) });
        let here = Partitions::Some(vec![binding::partition(execution.id.partition())]);
        let wanted = [(parts.clone(), signals), (parts, waits)];
        let pages = self.shared.store.scan_many(&wanted, &here, LISTED).await?;
        let found = pages.iter().flat_map(|page| &page.items);
        let keys: Vec<Key> = found.filter_map(|found| found.key.as_str().parse().ok()).collect();
        let records = query::records(&self.shared, execution.id.partition(), &keys).await?;
        for (key, record) in keys.into_iter().zip(records) {
            match (key, record) {
                (Key::Wait(_, id), Some(Record::Wait(over))) => list.over.push((id.wait, over)),
                (Key::Signal(_, id), Some(Record::Signal(signal))) => list.signals.push((id, signal)),
                _ => {}
            }
        }
        Ok(list)
    }
}

/// Reads a signal of an execution; `None` if there is none.
pub(crate) async fn signal(
    shared: &Shared,
    execution: &Execution,
    id: SignalId,
) -> Result<Option<SignalRecord>, Error> {
    let key = Key::Signal(execution.id, id);
    match query::record(shared, execution.id.partition(), &key).await? {
        None => Ok(None),
        Some(Record::Signal(signal)) => Ok(Some(signal)),
        Some(_) => Err(Rejection::RecordUnreadable { key: key.to_string() }.into()),
    }
}
