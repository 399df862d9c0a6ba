//! Many runs at once: every seed on its own, spread over the machine's cores.

use crate::{FaultCounts, Keep, Mutant, Report, Tally, run};
use parking_lot::Mutex;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// What many runs came to.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// Runs.
    pub seeds: u64,
    /// Calls of submitters, workers and operators.
    pub commands: u64,
    /// Commands that the rules ran.
    pub operations: u64,
    /// Faults by kind.
    pub faults: FaultCounts,
    /// How often what waiting consists of happened.
    pub waits: Tally,
    /// All trace hashes together, whatever their order.
    pub hash: u64,
    /// The fewest commands of any run.
    pub commands_least: u64,
    /// The fewest faults of any run.
    pub faults_least: u64,
    /// Runs in which something did not hold, by seed.
    pub failures: Vec<Report>,
}

impl Totals {
    /// How many faults of all kinds happened.
    #[must_use]
    pub fn fault_count(&self) -> u64 {
        self.faults.values().sum()
    }

    fn add(&mut self, report: Report) {
        let faults = report.fault_count();
        let first = self.seeds == 0;
        self.commands_least = if first { report.commands } else { self.commands_least.min(report.commands) };
        self.faults_least = if first { faults } else { self.faults_least.min(faults) };
        self.seeds += 1;
        self.commands += report.commands;
        self.operations += report.operations;
        self.hash = self.hash.wrapping_add(report.hash);
        for (fault, count) in &report.faults {
            *self.faults.entry(*fault).or_default() += count;
        }
        self.waits.add(&report.waits);
        if report.violation.is_some() {
            self.failures.push(report);
        }
    }
}

/// Repeats `step` on every core of the machine until it says that nothing is left to do.
fn on_every_core(step: impl Fn() -> bool + Sync) {
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(|| while step() {});
        }
    });
}

/// Runs seeds until there are none left or `go_on`, which sees what has come of all so far, says that it is enough.
pub fn many(seeds: impl Iterator<Item = u64> + Send, go_on: impl Fn(&Totals) -> bool + Sync) -> Totals {
    let (seeds, totals) = (Mutex::new(seeds.fuse()), Mutex::new((Totals::default(), true)));
    on_every_core(|| {
        let is_on = totals.lock().1;
        let next = || seeds.lock().next();
        let Some(seed) = is_on.then(next).flatten() else { return false };
        let report = run(seed, None, Keep::Hash);
        let mut totals = totals.lock();
        totals.0.add(report);
        totals.1 &= go_on(&totals.0);
        true
    });
    let (mut totals, _) = totals.into_inner();
    totals.failures.sort_by_key(|report| report.seed);
    totals
}

/// The lowest seed of a range at which a planted fault is found.
#[must_use]
pub fn first_failure(mutant: Mutant, seeds: Range<u64>) -> Option<Report> {
    let (next, found) = (AtomicU64::new(seeds.start), Mutex::new(None::<Report>));
    on_every_core(|| {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        let beaten = |found: &Option<Report>| found.as_ref().is_some_and(|best| best.seed < seed);
        if seed >= seeds.end || beaten(&found.lock()) {
            return false;
        }
        let report = run(seed, Some(mutant), Keep::Hash);
        let mut found = found.lock();
        if report.violation.is_some() && !beaten(&found) {
            *found = Some(report);
        }
        true
    });
    found.into_inner()
}
