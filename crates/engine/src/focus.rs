//! Which partitions new work goes to: a few at a time, so that many commands share a batch, and all in their turn.
//!
//! A batch of many commands costs less than many batches of one: one write to the feed, one check of the clock, one answer.
//! Which few changes with time, so that work spreads evenly, and each process starts elsewhere, so that processes do not
//! meet.

use crate::shared::Shared;
use onward_core::{Millis, PartitionId, Span, limits};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most partitions that get new work at the same time: while the batches of some are made durable, those of others
/// gather.
const AT_A_TIME_MAX: u64 = 4;
/// Commands under way for each of them; with fewer, one partition less makes larger batches.
const FILLING: u64 = 32;
/// How long the same ones get it.
const TURN: Span = Span::seconds(1);
/// Commands that wait for a partition: with a whole batch of them, new work goes to the next.
const CROWD: usize = limits::BATCH_COMMANDS_MAX;

/// Picks partitions for one process.
#[derive(Debug)]
pub(crate) struct Focus {
    start: u64,
    /// Commands that wait for a batch or are on their way in one.
    under_way: AtomicUsize,
}

/// Commands on their way; they have landed when it is dropped.
#[derive(Debug)]
pub(crate) struct Aloft {
    shared: Arc<Shared>,
    commands: usize,
}

impl Aloft {
    pub(crate) fn new(shared: Arc<Shared>, commands: usize) -> Self {
        shared.focus.began(commands);
        Self { shared, commands }
    }
}

impl Drop for Aloft {
    fn drop(&mut self) {
        self.shared.focus.ended(self.commands);
    }
}

impl Focus {
    /// Starts at a random place.
    pub(crate) fn new(start: u64) -> Self {
        Self { start, under_way: AtomicUsize::new(0) }
    }

    /// So many more commands wait or were sent off.
    pub(crate) fn began(&self, commands: usize) {
        self.under_way.fetch_add(commands, Ordering::Relaxed);
    }

    /// So many were sent off or have landed.
    pub(crate) fn ended(&self, commands: usize) {
        self.under_way.fetch_sub(commands, Ordering::Relaxed);
    }

    /// The partition among these, of which there is at least one, for one more piece of work; `word` is chance, and
    /// `waiting` tells how many commands wait for a partition.
    pub(crate) fn pick(
        &self,
        among: impl ExactSizeIterator<Item = PartitionId> + Clone,
        now: Millis,
        word: u64,
        waiting: impl Fn(PartitionId) -> usize,
    ) -> PartitionId {
        let count = (among.len() as u64).max(1);
        let busy = self.under_way.load(Ordering::Relaxed) as u64;
        let few = (busy / FILLING + 1).min(AT_A_TIME_MAX).min(count);
        // Far apart from each other, since neighbours may share a server.
        let apart = (word % few) * count / few;
        let first = (self.start % count + now.0 / TURN.0 + apart) % count;
        let mut from_first = among.cycle().skip(usize::try_from(first).unwrap_or(0)).take(count.div_ceil(few) as usize);
        let preferred = from_first.clone().next().unwrap_or(PartitionId(0));
        from_first.find(|&partition| waiting(partition) < CROWD).unwrap_or(preferred)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// How often each of some partitions is picked by a busy process.
    fn picks(among: &[u16], until: u64, waiting: impl Fn(PartitionId) -> usize + Copy) -> BTreeMap<u16, u32> {
        let (mut picked, focus) = (BTreeMap::new(), Focus::new(7));
        focus.began(1_000);
        for now in (0..until).step_by(100) {
            for word in 0..12 {
                let among = among.iter().copied().map(PartitionId);
                *picked.entry(focus.pick(among, Millis(now), word, waiting).0).or_default() += 1;
            }
        }
        picked
    }

    fn picked(among: &[u16], waiting: impl Fn(PartitionId) -> usize + Copy) -> Vec<u16> {
        picks(among, TURN.0, waiting).into_keys().collect()
    }

    fn all(count: u16) -> Vec<u16> {
        (0..count).collect()
    }

    #[test]
    fn new_work_goes_to_few_partitions_that_lie_apart() {
        assert_eq!(picked(&all(64), |_| 0), [7, 23, 39, 55]);
        assert_eq!(picked(&[3, 9, 11], |_| 0), [3, 9, 11]);
        assert_eq!(picked(&all(1), |_| 0), [0]);
    }

    #[test]
    fn the_busier_a_process_the_more_partitions_it_fills() {
        let focus = Focus::new(7);
        let picked = |busy| {
            focus.began(busy);
            let pick = |word| focus.pick((0..64).map(PartitionId), Millis(0), word, |_| 0).0;
            let picked: BTreeSet<u16> = (0..12).map(pick).collect();
            focus.ended(busy);
            picked.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(picked(0), [7]);
        assert_eq!(picked(31), [7]);
        assert_eq!(picked(32), [7, 39]);
        assert_eq!(picked(70), [7, 28, 49]);
        assert_eq!(picked(4_000), [7, 23, 39, 55]);
    }

    #[test]
    fn in_time_every_partition_gets_its_share() {
        for count in [2, 5, 12, 64] {
            let picked = picks(&all(count), u64::from(count) * TURN.0, |_| 0);
            assert_eq!(picked.len(), usize::from(count));
            assert_eq!(picked.values().min(), picked.values().max(), "of {count}: {picked:?}");
        }
    }

    #[test]
    fn a_crowded_partition_passes_work_on_to_those_behind_it() {
        let crowded = |partition: PartitionId| if partition.0 < 20 { CROWD } else { CROWD - 1 };
        assert_eq!(picked(&all(64), crowded), [20, 23, 39, 55]);
        assert_eq!(picked(&all(64), |_| CROWD), [7, 23, 39, 55], "all are crowded alike");
    }
}
