//! Inspects one execution: its attempts, its history, and why it is in its current state.

use crate::api::query;
use crate::work::board::QueueKey;
use crate::{Engine, Error};
use onward_core::record::{EndedAttempt, Execution, LaneSettings, Record, Transition};
use onward_core::{Explanation, Key, Rejection, limits, why};

impl Engine {
    /// The ended attempts of an execution, oldest first; the running one is part of the execution.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn attempts(&self, execution: &Execution) -> Result<Vec<EndedAttempt>, Error> {
        let begun = execution.attempts;
        let keys = (1..=begun).map(|number| Key::Attempt(execution.id, number));
        let mut ended = Vec::new();
        for record in self.beside(execution, keys.collect()).await? {
            if let Some(Record::Attempt(attempt)) = record {
                ended.push(attempt);
            }
        }
        // The newest one is kept in the execution until another follows; a read in between may see it in both places.
        ended.retain(|attempt| execution.last.as_ref().is_none_or(|last| last.number != attempt.number));
        ended.extend(execution.last.clone());
        Ok(ended)
    }

    /// All transitions of an execution, oldest first.
    ///
    /// # Errors
    /// A failure of the store, or a page that cannot be read.
    pub async fn history(&self, execution: &Execution) -> Result<Vec<Transition>, Error> {
        let keys: Vec<Key> = (0..execution.pages).map(|page| Key::History(execution.id, page)).collect();
        let mut all = Vec::new();
        for (key, record) in keys.iter().zip(self.beside(execution, keys.clone()).await?) {
            match record {
                Some(Record::History(page)) => all.extend(page.transitions),
                _ => return Err(Rejection::RecordUnreadable { key: key.to_string() }.into()),
            }
        }
        all.extend(execution.history.iter().cloned());
        Ok(all)
    }

    /// Explains why an execution is in its current state, and what would move it on.
    ///
    /// # Errors
    /// A failure of the store.
    pub async fn why(&self, execution: &Execution) -> Result<Explanation, Error> {
        let partition = execution.id.partition();
        let key = Key::LaneCopy(execution.namespace.clone(), execution.lane.clone(), partition);
        let lane = match query::record(&self.shared, partition, &key).await? {
            Some(Record::LaneCopy(copy)) => copy.settings,
            _ => LaneSettings::default(),
        };
        let served = self.shared.board.served(&QueueKey::of(execution));
        Ok(why(execution, &lane, served, self.now()))
    }

    /// Reads records that belong to an execution, in pages.
    async fn beside(&self, execution: &Execution, keys: Vec<Key>) -> Result<Vec<Option<Record>>, Error> {
        let mut records = Vec::with_capacity(keys.len());
        for page in keys.chunks(limits::PAGE_MAX) {
            records.extend(query::records(&self.shared, execution.id.partition(), page).await?);
        }
        Ok(records)
    }
}
