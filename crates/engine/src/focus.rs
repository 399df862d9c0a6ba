//! Which partitions new work goes to: a few at a time, so that many commands share a batch, and all in their turn.
//!
//! A batch of many commands costs less than many batches of one: one write to the feed, one check of the clock, one answer.
//! Which few changes with time, by chance, so that work spreads evenly and processes that meet soon part.

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
        let turn = (now.0 / TURN.0).to_be_bytes();
        let all = u16::try_from(count).unwrap_or(u16::MAX);
        let drawn = u64::from(PartitionId::of(&[&self.start.to_be_bytes(), &turn], all).0);
        // Far apart from each other, since neighbours may share a server.
        let first = (drawn + (word % few) * count / few) % count;
        let mut from_first = among.clone().cycle().skip(usize::try_from(first).unwrap_or(0)).take(among.len());
        let roomy = from_first.find(|&partition| waiting(partition) < CROWD);
        roomy.or_else(|| among.min_by_key(|&partition| waiting(partition))).unwrap_or(PartitionId(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Which of some partitions a busy process picks in one turn.
    fn picked(among: &[u16], waiting: impl Fn(PartitionId) -> usize + Copy) -> Vec<u16> {
        let focus = Focus::new(7);
        focus.began(1_000);
        let pick = |word| focus.pick(among.iter().copied().map(PartitionId), Millis(0), word, waiting).0;
        (0..12).map(pick).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn all(count: u16) -> Vec<u16> {
        (0..count).collect()
    }

    #[test]
    fn new_work_goes_to_few_partitions_that_lie_apart() {
        let four = picked(&all(64), |_| 0);
        assert_eq!(four.len(), 4);
        assert!(four.windows(2).all(|pair| pair[1] - pair[0] == 16), "{four:?}");
        assert_eq!(picked(&[3, 9, 11], |_| 0), [3, 9, 11]);
        assert_eq!(picked(&all(1), |_| 0), [0]);
    }

    #[test]
    fn the_busier_a_process_the_more_partitions_it_fills() {
        let focus = Focus::new(7);
        for (busy, few) in [(0, 1), (31, 1), (32, 2), (70, 3), (4_000, 4)] {
            focus.began(busy);
            let pick = |word| focus.pick((0..64).map(PartitionId), Millis(0), word, |_| 0).0;
            assert_eq!((0..12).map(pick).collect::<BTreeSet<_>>().len(), few, "with {busy} under way");
            focus.ended(busy);
        }
    }

    #[test]
    fn in_time_every_partition_gets_its_share_however_regularly_work_comes() {
        for every in [TURN.0, 60 * TURN.0, 3_600 * TURN.0, 86_400 * TURN.0] {
            let (focus, mut picked) = (Focus::new(7), [0_u32; 64]);
            for n in 0..64 * 200 {
                let partition = focus.pick((0..64).map(PartitionId), Millis(n * every), n, |_| 0);
                picked[usize::from(partition.0)] += 1;
            }
            assert!(picked.iter().all(|count| (120..=280).contains(count)), "every {every} ms: {picked:?}");
        }
    }

    #[test]
    fn a_crowded_partition_passes_work_on() {
        let first = picked(&all(64), |_| 0)[0];
        let crowded = |partition: PartitionId| if partition.0 == first { CROWD } else { CROWD - 1 };
        let passed = picked(&all(64), crowded);
        assert!(!passed.contains(&first) && passed.contains(&(first + 1)), "{first}: {passed:?}");
        let least = |partition: PartitionId| if partition.0 == 5 { CROWD } else { CROWD + 1 };
        assert_eq!(picked(&all(64), least), [5], "all are crowded, one less than the others");
    }
}
