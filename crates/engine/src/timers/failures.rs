//! Items that keep failing rest for a while, so that they neither hammer the store nor starve the ones behind them.

use std::collections::BTreeMap;

/// Failures in a row after which an item rests.
const FAILURES_MAX: u32 = 3;
/// Cycles for which a failing item rests.
const REST_CYCLES: u64 = 10;
/// Items above which a new cycle drops those that do not rest; twice as many are the maximum.
const ITEMS_MAX: usize = 500;

/// Counts failures in a row by item.
#[derive(Debug)]
pub(crate) struct FailureTracker<K> {
    cycle: u64,
    items: BTreeMap<K, Failing>,
}

#[derive(Debug)]
struct Failing {
    in_a_row: u32,
    rests_until: Option<u64>,
}

/// What a failure means for its item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Try again soon.
    Again,
    /// It rests now; this is the moment to log one error.
    Rests,
}

impl<K: Ord + Clone> FailureTracker<K> {
    pub(crate) fn new() -> Self {
        Self { cycle: 0, items: BTreeMap::new() }
    }

    /// Starts the next cycle after a full round over all items.
    pub(crate) fn next_cycle(&mut self) {
        self.cycle += 1;
        if self.items.len() > ITEMS_MAX {
            let cycle = self.cycle;
            self.items.retain(|_, failing| failing.rests_until.is_some_and(|until| until > cycle));
        }
    }

    /// Whether an item rests now.
    pub(crate) fn rests(&mut self, item: &K) -> bool {
        match self.items.get_mut(item) {
            Some(Failing { rests_until: Some(until), .. }) if *until > self.cycle => true,
            Some(failing) if failing.rests_until.is_some() => {
                *failing = Failing { in_a_row: 0, rests_until: None };
                false
            }
            _ => false,
        }
    }

    pub(crate) fn succeeded(&mut self, item: &K) {
        self.items.remove(item);
    }

    pub(crate) fn failed(&mut self, item: &K) -> Verdict {
        if self.items.len() >= 2 * ITEMS_MAX && !self.items.contains_key(item) {
            // Dropping the first is enough to stay bounded; its failures are counted anew.
            self.items.pop_first();
        }
        let cycle = self.cycle;
        let failing = self.items.entry(item.clone()).or_insert(Failing { in_a_row: 0, rests_until: None });
        failing.in_a_row += 1;
        if failing.in_a_row < FAILURES_MAX {
            return Verdict::Again;
        }
        failing.rests_until = Some(cycle + REST_CYCLES);
        Verdict::Rests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_failure_in_a_row_rests_for_ten_cycles() {
        let mut tracker = FailureTracker::new();
        assert_eq!(
            [tracker.failed(&1), tracker.failed(&1), tracker.failed(&1)],
            [Verdict::Again, Verdict::Again, Verdict::Rests]
        );
        for _ in 0..REST_CYCLES {
            assert!(tracker.rests(&1));
            assert!(!tracker.rests(&2), "others are unaffected");
            tracker.next_cycle();
        }
        assert!(!tracker.rests(&1));
        assert_eq!(tracker.failed(&1), Verdict::Again, "counting starts again");
        tracker.succeeded(&1);
        assert_eq!(tracker.failed(&1), Verdict::Again);
    }

    #[test]
    fn it_stays_bounded() {
        let mut tracker = FailureTracker::new();
        for item in 0..100_000 {
            tracker.failed(&item);
            if item % 100 == 0 {
                tracker.next_cycle();
            }
            assert!(tracker.items.len() <= 2 * ITEMS_MAX);
        }
    }
}
