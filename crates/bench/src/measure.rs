//! Time to the microsecond, and what is made of many measurements: medians, spreads, percentiles.

use super::{Error, system};
use onward_store::{Stats, Store};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::task::JoinError;

/// Measures how long something takes, more finely than the injected clock tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    #[allow(
        clippy::disallowed_methods,
        reason = "the engine's clock ticks in milliseconds; nothing is decided by this"
    )]
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }

    /// In milliseconds, with what lies behind the point.
    pub(crate) fn millis(self) -> f64 {
        self.elapsed().as_secs_f64() * 1_000.0
    }
}

/// The wall clock that due times are written in, in milliseconds with what lies behind the point.
#[allow(clippy::disallowed_methods, reason = "lateness is a fraction of a millisecond on the clock of due times")]
pub(crate) fn wall_millis() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1_000.0
}

/// The middle of several rounds and how far they lie apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Spread {
    pub(crate) fn of(values: &[f64]) -> Self {
        let values = sorted(values);
        Self { median: percentile(&values, 0.5), low: percentile(&values, 0.0), high: percentile(&values, 1.0) }
    }
}

/// In ascending order.
pub(crate) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

/// The value that this part of the sorted ones does not exceed; nothing measured is zero.
pub(crate) fn percentile(sorted: &[f64], part: f64) -> f64 {
    let rank = (part * sorted.len() as f64).ceil().max(1.0) as usize - 1;
    sorted.get(rank.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

/// What came of one measured piece of work.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) tried: usize,
    pub(crate) done: usize,
    pub(crate) seconds: f64,
    /// How long each claim took, in milliseconds, where that was asked for.
    pub(crate) claims: Vec<f64>,
    /// Groups that the store made durable meanwhile, and the batches in them.
    pub(crate) groups: u64,
    pub(crate) batches: u64,
    /// Rows that the store wrote meanwhile.
    pub(crate) rows: u64,
    /// Time that the process spent on processors meanwhile, in seconds.
    pub(crate) processor: f64,
    /// Why the first failure happened.
    pub(crate) failure: Option<String>,
}

impl Tally {
    /// The sum of what several tasks did.
    pub(crate) fn of(tasks: Vec<Result<Self, JoinError>>) -> Result<Self, Error> {
        let mut sum = Self::default();
        for tally in tasks {
            sum.add(tally.map_err(|panic| Error::Broken(panic.to_string()))?);
        }
        Ok(sum)
    }

    /// Adds another piece of the same work.
    pub(crate) fn add(&mut self, other: Self) {
        self.tried += other.tried;
        self.done += other.done;
        self.seconds += other.seconds;
        self.claims.extend(other.claims);
        self.groups += other.groups;
        self.batches += other.batches;
        self.rows += other.rows;
        self.processor += other.processor;
        self.failure = self.failure.take().or(other.failure);
    }

    /// The part of the work that succeeded; where nothing was tried, nothing failed.
    pub(crate) fn success(&self) -> f64 {
        if self.tried == 0 { 1.0 } else { self.done as f64 / self.tried as f64 }
    }

    /// Rows written for each piece of work.
    pub(crate) fn rows_each(&self) -> f64 {
        self.rows as f64 / self.done.max(1) as f64
    }

    /// Batches that were made durable together.
    pub(crate) fn batches_per_group(&self) -> f64 {
        self.batches as f64 / self.groups.max(1) as f64
    }

    /// Processor time for each piece of work, in microseconds.
    pub(crate) fn processor_each(&self) -> f64 {
        self.processor * 1e6 / self.done.max(1) as f64
    }

    /// Work done in a second.
    pub(crate) fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.done as f64 / self.seconds } else { 0.0 }
    }
}

/// What a piece of work takes: time, processors, and groups and rows of the store.
#[derive(Debug)]
pub(crate) struct Meter {
    store: Arc<dyn Store>,
    before: Stats,
    processor: f64,
    watch: Stopwatch,
}

impl Meter {
    pub(crate) fn start(store: &Arc<dyn Store>) -> Result<Self, Error> {
        let (store, before) = (store.clone(), store.stats());
        Ok(Self { store, before, processor: system::processor_seconds()?, watch: Stopwatch::start() })
    }

    /// Adds what it took to what came of it.
    pub(crate) fn end(self, tally: Tally) -> Result<Tally, Error> {
        let after = self.store.stats();
        Ok(Tally {
            seconds: self.watch.elapsed().as_secs_f64(),
            groups: after.groups - self.before.groups,
            batches: after.batches - self.before.batches,
            rows: after.rows - self.before.rows,
            processor: system::processor_seconds()? - self.processor,
            ..tally
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let values = sorted(&[4.0, 1.0, 3.0, 2.0, 5.0]);
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|part| percentile(&values, part)), [1.0, 3.0, 5.0, 5.0]);
        assert_eq!(percentile(&[], 0.5), 0.0);
        assert_eq!(Spread::of(&[2.0, 9.0, 4.0]), Spread { median: 4.0, low: 2.0, high: 9.0 });
    }

    #[test]
    fn tallies_add_up() {
        let mut sum = Tally::default();
        for failure in [None, Some("first".to_owned()), Some("second".to_owned())] {
            sum.add(Tally { tried: 3, done: 2, seconds: 0.5, claims: vec![1.0], rows: 8, failure, ..Tally::default() });
        }
        assert_eq!((sum.tried, sum.done, sum.claims.len(), sum.rows_each()), (9, 6, 3, 4.0));
        assert_eq!((sum.success(), Tally::default().success()), (6.0 / 9.0, 1.0));
        assert_eq!((sum.rate(), sum.failure.as_deref()), (4.0, Some("first")));
    }
}
