//! Checks the store for inconsistencies and repairs them, while work goes on.
//!
//! Commits keep records, indexes and related records consistent; an examination finds damage from outside. Every repair
//! is a batch on the condition that nothing it was judged by has changed, so it cannot undo concurrent work.

mod lanes;
mod places;
mod records;
mod report;

pub use report::{Ailment, Report, Tally};

use crate::shared::Shared;
use crate::timers::due;
use crate::work::claims;
use crate::{Engine, Error, binding};
use onward_core::{Event, Millis};
use onward_store::{Batch, Outcome, Partition, Version};
use report::Notes;
use std::collections::BTreeMap;

/// Records or index rows in one page.
const PAGE: usize = 500;
/// Tries of a repair that other commits overtake; then its record is left for the next examination.
const TRIES: usize = 8;
/// Positions per millisecond of the clock when feeds are raised, in bits: more events than any store writes in it.
const POSITIONS_PER_MILLI_BITS: u32 = 20;

/// What an examination does besides checking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Examination {
    /// Whether to repair what can be repaired.
    pub repair: bool,
    /// Whether the store was restored from a copy: event readers are notified, positions are raised above those of the
    /// time that was lost, and lane settings are sent to every partition again.
    pub restored: bool,
}

impl Engine {
    /// Checks every record and every index row, and repairs what can be if asked to. Work may go on meanwhile.
    ///
    /// `progress` gets the report as it grows, page by page.
    ///
    /// # Errors
    /// A failure of the store. What was repaired until then stays repaired.
    pub async fn examine(
        &self,
        examination: Examination,
        mut progress: impl FnMut(&Report) + Send,
    ) -> Result<Report, Error> {
        let shared = &*self.shared;
        let mut notes = Notes::new(examination.repair);
        if examination.restored {
            raise_feeds(shared).await?;
            notes.report.feeds_raised = u64::from(shared.partitions);
        }
        let (mut registries, mut masters) = (BTreeMap::new(), Vec::new());
        let mut from = None;
        loop {
            let page = shared.store.audit(from.as_deref(), PAGE).await?;
            notes.report.records += page.records.len() as u64;
            notes.report.rows += page.rows;
            places::examine(shared, &mut notes, &page.faults).await?;
            records::examine(shared, &mut notes, &page.records, &mut registries, &mut masters).await?;
            progress(&notes.report);
            from = page.next;
            if from.is_none() || shared.is_stopping() {
                break;
            }
        }
        if shared.is_stopping() {
            return Err(Error::ShuttingDown);
        }
        lanes::examine(self, &mut notes, &masters, examination.restored).await?;
        if notes.report.repaired() > 0 {
            // No hint has announced the repaired entries yet.
            due::read_near(shared).await;
            claims::look_again(shared, true).await;
        }
        progress(&notes.report);
        Ok(notes.report)
    }
}

/// Raises every feed above any position that it can have had before.
async fn raise_feeds(shared: &Shared) -> Result<(), Error> {
    let mut now = shared.time.now();
    let raising = |partition: u16, now: Millis| {
        let mut batch = Batch::new(Partition(partition), Version(shared.chance.id()));
        batch.events = binding::events(&[Event::restored(now)]);
        batch.feed_above = now.0 << POSITIONS_PER_MILLI_BITS;
        batch
    };
    for partition in 0..shared.partitions {
        let outcomes = shared.store.commit(vec![raising(partition, now)]).await?;
        now = outcomes.first().map_or(now, binding::outcome_time).max(now);
    }
    shared.event_reads.tell();
    Ok(())
}

/// Commits a batch; `false` when another commit was faster.
async fn commit(shared: &Shared, batch: Batch) -> Result<bool, Error> {
    let outcomes = shared.store.commit(vec![batch]).await?;
    Ok(matches!(outcomes.first(), Some(Outcome::Committed { .. })))
}
