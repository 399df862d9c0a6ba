//! Keeps batches of unknown outcome from being written after their commands were answered otherwise.
//!
//! A batch whose outcome was lost may still be written for as long as everything it expects is there. Its commands run
//! again, perhaps without those that shared the batch and made them possible: a replay after the completion of the same
//! execution, for example. If such a command writes something, the lost batch can never be written any more. If it
//! writes nothing, because it is refused or finds that another was faster, that alone prevents nothing, and what was
//! refused could happen later. So an answer that writes nothing rewrites a record that the lost batch expects.

use crate::partition::batch::Flight;
use crate::partition::cache::Cache;
use crate::partition::task::Task;
use onward_core::{Key, Millis, Stop, View};
use onward_store as store;
use onward_store::Version;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Maximum lost batches of one command; with more, its caller gets an error that the store is unavailable.
pub(crate) const DOUBTS_MAX: usize = 64;

/// A batch of unknown outcome: what it expects, as far as known, and how long it can be written.
#[derive(Debug)]
pub(crate) struct Doubt {
    /// First the records it writes, then those it only read.
    expects: Vec<(Key, Option<Version>)>,
    until: Millis,
}

impl Doubt {
    /// The doubt that a batch leaves; `None` when it writes nothing. `cache` may hold newer versions of what the batch
    /// only read, but none that was never committed: such a version would not prove that the batch is impossible.
    pub(crate) fn of(flight: &Flight, cache: &Cache) -> Option<Arc<Self>> {
        if flight.changes.is_empty() {
            return None;
        }
        let mut expects: Vec<_> = flight.changes.iter().map(|change| (change.key.clone(), change.version)).collect();
        let written: BTreeSet<&Key> = flight.changes.iter().map(|change| &change.key).collect();
        let read: BTreeSet<&Key> = flight.steps.iter().flat_map(|step| &step.reads).collect();
        for key in read.difference(&written) {
            expects.extend(cache.get(key).map(|loaded| ((*key).clone(), loaded.version)));
        }
        Some(Arc::new(Self { expects, until: flight.until }))
    }
}

/// The error for a command that may still take effect, although nothing shows that it did.
pub(crate) fn unknown() -> store::Error {
    store::Error::new(store::ErrorKind::Unavailable, "an earlier try of the call may still be written")
}

/// Whether a command can be answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// No lost batch of the command can be written once this one is.
    Yes,
    /// A lost batch still can, and this one cannot prevent it.
    No,
}

/// Makes the lost batches of a command impossible, if the command itself wrote nothing.
///
/// # Errors
/// [`Stop::Need`] when a record is not in memory.
pub(crate) fn settle(task: &Task, view: &mut View<'_>, cache: &Cache, now: Millis) -> Result<Settled, Stop> {
    if task.doubts.is_empty() || task.is_background() || !view.step().writes.is_empty() {
        return Ok(Settled::Yes);
    }
    let (mut settled, mut lacking) = (Settled::Yes, Vec::new());
    for doubt in &task.doubts {
        match overtake(doubt, view, cache, now) {
            Ok(true) => {}
            Ok(false) => settled = Settled::No,
            Err(Stop::Need(wanted)) => lacking.extend(wanted),
            Err(refusal) => return Err(refusal),
        }
    }
    if lacking.is_empty() { Ok(settled) } else { Err(Stop::Need(lacking)) }
}

/// Makes one lost batch impossible: its time is over, or something it expects has changed, is changed by this batch, or
/// is rewritten. The records in memory mostly decide; otherwise all others are asked for at once.
fn overtake(doubt: &Doubt, view: &mut View<'_>, cache: &Cache, now: Millis) -> Result<bool, Stop> {
    if doubt.until <= now {
        view.not_before(doubt.until);
        return Ok(true);
    }
    let (at_hand, lacking): (Vec<_>, Vec<_>) =
        doubt.expects.iter().partition(|(key, _)| view.has(key) || cache.get(key).is_some());
    for (key, version) in &at_hand {
        view.get(key)?;
        let found = cache.get(key).and_then(|loaded| loaded.version);
        if found != *version || view.is_written(key) {
            return Ok(true);
        }
    }
    for (key, _) in at_hand {
        if view.rewrite(key)? {
            return Ok(true);
        }
    }
    if lacking.is_empty() {
        Ok(false)
    } else {
        Err(Stop::Need(lacking.into_iter().map(|(key, _)| key.clone().into()).collect()))
    }
}
