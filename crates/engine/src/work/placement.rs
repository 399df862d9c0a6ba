//! Placement: picks a partition for new work, so that many commands share a batch and none waits for another batch.
//!
//! A batch of many commands costs less than many batches of one: one write to the feed, one clock check, one reply. But
//! a partition's batches go out one after the other, so a command that joins one with a batch in flight waits for two.
//! Therefore new work goes to a few partitions, one of which gathers while the batches of others are made durable.
//! These few change every turn, at random, so that work spreads evenly and processes that share some soon part.

use onward_core::{Millis, PartitionId, Span, limits};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Partitions that get new work in the same turn: more than there are batches in flight, so that one is mostly free.
const AT_A_TIME: u64 = 6;
/// Commands that make a batch worth its cost.
const FILLING: usize = 16;
/// With fewer pending commands than fill two such batches, all share one.
const SHARED: usize = 2 * FILLING;
/// Batches to spread the pending commands over, so that one gathers while others are in flight.
const BATCHES: usize = 4;
/// How long the same partitions get new work.
const TURN: Span = Span::seconds(1);
/// Waiting commands, a whole batch, at which a partition is full and new work goes to the next.
const CROWD: usize = limits::BATCH_COMMANDS_MAX;

/// Picks partitions for one process.
#[derive(Debug)]
pub(crate) struct Placement {
    start: u64,
    /// Commands of all partitions that wait for a batch or are in flight.
    pending: Arc<AtomicUsize>,
}

/// Counts the commands of one partition.
#[derive(Debug)]
pub(crate) struct Gauge {
    waiting: AtomicUsize,
    in_flight: AtomicUsize,
    pending: Arc<AtomicUsize>,
}

/// Command counts of one partition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Traffic {
    /// Commands that wait for a batch.
    pub(crate) waiting: usize,
    /// Commands in flight in a batch.
    pub(crate) in_flight: usize,
}

/// Commands in flight; dropping it counts them as done.
#[derive(Debug)]
pub(crate) struct InFlight {
    gauge: Arc<Gauge>,
    commands: usize,
}

impl Gauge {
    /// Adds `commands` that wait.
    pub(crate) fn queued(&self, commands: usize) {
        self.waiting.fetch_add(commands, Ordering::Relaxed);
        self.pending.fetch_add(commands, Ordering::Relaxed);
    }

    /// Moves `commands` from waiting to in flight.
    pub(crate) fn send(self: &Arc<Self>, commands: usize) -> InFlight {
        self.waiting.fetch_sub(commands, Ordering::Relaxed);
        self.in_flight.fetch_add(commands, Ordering::Relaxed);
        InFlight { gauge: self.clone(), commands }
    }

    fn done(&self, commands: usize) {
        self.in_flight.fetch_sub(commands, Ordering::Relaxed);
        self.pending.fetch_sub(commands, Ordering::Relaxed);
    }

    pub(crate) fn traffic(&self) -> Traffic {
        Traffic { waiting: self.waiting.load(Ordering::Relaxed), in_flight: self.in_flight.load(Ordering::Relaxed) }
    }
}

impl InFlight {
    /// Takes out `commands` that did not get into the batch.
    pub(crate) fn leave(&mut self, commands: usize) {
        let commands = commands.min(self.commands);
        self.commands -= commands;
        self.gauge.done(commands);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.gauge.done(self.commands);
    }
}

/// How well one more command fits a partition, the best last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// Enough commands wait there.
    Full,
    /// A batch gathers there that goes out when another has returned.
    Behind,
    /// No command waits or is in flight.
    Free,
    /// A batch gathers there that can go out at once.
    Gathering,
}

impl Traffic {
    fn fit(self, full: usize) -> Fit {
        match self {
            Self { waiting, .. } if waiting >= full => Fit::Full,
            Self { waiting: 0, in_flight: 0 } => Fit::Free,
            Self { in_flight: 0, .. } => Fit::Gathering,
            _ => Fit::Behind,
        }
    }
}

impl Placement {
    /// `start` is random, so that processes pick different partitions.
    pub(crate) fn new(start: u64) -> Self {
        Self { start, pending: Arc::default() }
    }

    /// Creates the counters of one partition.
    pub(crate) fn gauge(&self) -> Arc<Gauge> {
        let pending = self.pending.clone();
        Arc::new(Gauge { waiting: AtomicUsize::new(0), in_flight: AtomicUsize::new(0), pending })
    }

    /// Picks a partition of `among`, which is not empty, for one item of a call with `of_call` items. `ahead` of them
    /// have been placed, and do not wait there yet.
    pub(crate) fn pick(
        &self,
        among: impl ExactSizeIterator<Item = PartitionId> + Clone,
        now: Millis,
        (ahead, of_call): (usize, usize),
        traffic: impl Fn(PartitionId) -> Traffic,
    ) -> PartitionId {
        let count = (among.len() as u64).max(1);
        let busy = self.pending.load(Ordering::Relaxed) + of_call;
        let few = if busy < SHARED { 1 } else { AT_A_TIME.min(count) };
        let full = (busy / BATCHES).clamp(FILLING, CROWD);
        // A call with more items than one batch takes goes to more than one partition.
        let behind = ahead / CROWD;
        let turn = (now.0 / TURN.0).to_be_bytes();
        let all = u16::try_from(count).unwrap_or(u16::MAX);
        let first = u64::from(PartitionId::of(&[&self.start.to_be_bytes(), &turn], all).0);
        // Spread apart, since neighbouring partitions may share a server.
        let at = |nth: u64| {
            let place = (first + nth * count / few) % count;
            among.clone().nth(usize::try_from(place).unwrap_or(0)).unwrap_or(PartitionId(0))
        };
        let fits = (0..few).map(|nth| {
            let traffic = traffic(at(nth));
            (traffic.fit(full), traffic.waiting, nth)
        });
        let mut fits: Vec<_> = fits.filter(|(fit, ..)| *fit > Fit::Full).collect();
        fits.sort_unstable_by(|one, other| other.cmp(one));
        if let Some((_, _, nth)) = fits.get(behind % fits.len().max(1)) {
            return at(*nth);
        }
        let mut from_first = among.clone().cycle().skip(usize::try_from(first).unwrap_or(0) + behind).take(among.len());
        let roomy = from_first.find(|&partition| traffic(partition).waiting < CROWD);
        roomy.or_else(|| among.min_by_key(|&partition| traffic(partition).waiting)).unwrap_or(PartitionId(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// The partitions of `among` that a process picks in one turn with `busy` commands pending, when each command is
    /// sent off together with those that wait in its partition.
    fn sent_off(among: &[u16], busy: usize, picks: usize) -> Vec<u16> {
        let placement = Placement::new(7);
        placement.gauge().queued(busy);
        let mut in_flight = BTreeSet::new();
        for _ in 0..picks {
            let traffic = |partition| Traffic { waiting: 0, in_flight: usize::from(in_flight.contains(&partition)) };
            let picked = placement.pick(among.iter().copied().map(PartitionId), Millis(0), (0, 1), traffic);
            in_flight.insert(picked);
        }
        in_flight.into_iter().map(|partition| partition.0).collect()
    }

    fn all(count: u16) -> Vec<u16> {
        (0..count).collect()
    }

    /// The partitions picked one after the other, with counts, when every command keeps waiting in its partition.
    fn gathered(
        placement: &Placement,
        picks: usize,
        mut at: BTreeMap<PartitionId, Traffic>,
    ) -> Vec<(PartitionId, usize)> {
        let mut picked: Vec<(PartitionId, usize)> = Vec::new();
        for _ in 0..picks {
            let traffic = |partition| at.get(&partition).copied().unwrap_or_default();
            let one = placement.pick((0..64).map(PartitionId), Millis(0), (0, 1), traffic);
            at.entry(one).or_default().waiting += 1;
            match picked.last_mut() {
                Some((last, times)) if *last == one => *times += 1,
                _ => picked.push((one, 1)),
            }
        }
        picked
    }

    #[test]
    fn new_work_goes_to_few_partitions_that_lie_apart() {
        let few = sent_off(&all(64), 1_000, 20);
        assert_eq!(few.len() as u64, AT_A_TIME);
        assert!(few.windows(2).all(|pair| (10..=11).contains(&(pair[1] - pair[0]))), "{few:?}");
        assert_eq!(sent_off(&[3, 9, 11], 1_000, 20), [3, 9, 11]);
        assert_eq!(sent_off(&all(1), 1_000, 20), [0]);
    }

    #[test]
    fn with_little_to_do_all_share_one_batch() {
        for (busy, few) in [(0, 1), (SHARED - 2, 1), (SHARED - 1, AT_A_TIME), (4_000, AT_A_TIME)] {
            assert_eq!(sent_off(&all(64), busy, 20).len() as u64, few, "with {busy} under way");
        }
    }

    #[test]
    fn work_joins_the_batch_that_gathers_until_it_is_full() {
        for (busy, full) in [(40, FILLING), (99, 25), (100_000, CROWD)] {
            let placement = Placement::new(7);
            placement.gauge().queued(busy);
            let picked = gathered(&placement, 2 * full + 1, BTreeMap::new());
            assert_eq!(picked.iter().map(|(_, times)| *times).collect::<Vec<_>>(), [full, full, 1], "{busy} under way");
            assert_eq!(picked.iter().map(|(one, _)| one).collect::<BTreeSet<_>>().len(), 3);
        }
    }

    #[test]
    fn work_goes_where_nothing_is_on_its_way_and_else_where_most_waits() {
        let placement = Placement::new(7);
        placement.gauge().queued(64);
        let few = sent_off(&all(64), 64, 20);
        let (idle, rest) = (PartitionId(few[2]), few.iter().map(|one| PartitionId(*one)));
        let in_flight: BTreeMap<_, _> = rest.map(|one| (one, Traffic { waiting: 3, in_flight: 9 })).collect();
        let mut with_idle = in_flight.clone();
        with_idle.insert(idle, Traffic::default());
        assert_eq!(gathered(&placement, 5, with_idle), [(idle, 5)]);
        let mut with_more = in_flight;
        with_more.insert(idle, Traffic { waiting: 4, in_flight: 9 });
        assert_eq!(gathered(&placement, 5, with_more), [(idle, 5)]);
    }

    #[test]
    fn a_call_with_more_than_one_batch_takes_goes_to_several_partitions() {
        let placement = Placement::new(7);
        let pick = |ahead| placement.pick((0..64).map(PartitionId), Millis(0), (ahead, 1_000), |_| Traffic::default());
        let picked: Vec<PartitionId> = (0..1_000).map(pick).collect();
        let mut batches: Vec<PartitionId> = picked.clone();
        batches.dedup();
        assert_eq!((batches.len(), batches.iter().collect::<BTreeSet<_>>().len()), (4, 4), "{batches:?}");
        assert!(picked[..CROWD].iter().all(|one| *one == picked[0]));
    }

    #[test]
    fn no_piece_of_a_large_call_goes_where_enough_wait() {
        let placement = Placement::new(7);
        let few = sent_off(&all(64), 1_000, 20);
        let full = |one: PartitionId| Traffic { waiting: if one.0 == few[1] { 9_000 } else { 0 }, in_flight: 0 };
        let pick = |ahead| placement.pick((0..64).map(PartitionId), Millis(0), (ahead, 10 * CROWD), full).0;
        let picked: BTreeSet<u16> = (0..10 * CROWD).map(pick).collect();
        assert_eq!(picked.len() as u64, AT_A_TIME - 1);
        assert!(!picked.contains(&few[1]), "{picked:?}");
    }

    #[test]
    fn queued_commands_are_sent_returned_or_done() {
        let placement = Placement::new(7);
        let gauge = placement.gauge();
        gauge.queued(9);
        let mut in_flight = gauge.send(7);
        assert_eq!(gauge.traffic(), Traffic { waiting: 2, in_flight: 7 });
        in_flight.leave(3);
        gauge.queued(3);
        assert_eq!(gauge.traffic(), Traffic { waiting: 5, in_flight: 4 });
        assert_eq!(placement.pending.load(Ordering::Relaxed), 9);
        drop(in_flight);
        assert_eq!(
            (gauge.traffic(), placement.pending.load(Ordering::Relaxed)),
            (Traffic { waiting: 5, in_flight: 0 }, 5)
        );
    }

    #[test]
    fn in_time_every_partition_gets_its_share_however_regularly_work_comes() {
        for every in [TURN.0, 60 * TURN.0, 3_600 * TURN.0, 86_400 * TURN.0] {
            let (placement, mut picked) = (Placement::new(7), [0_u32; 64]);
            for n in 0..64 * 200 {
                let partition =
                    placement.pick((0..64).map(PartitionId), Millis(n * every), (0, 1), |_| Traffic::default());
                picked[usize::from(partition.0)] += 1;
            }
            assert!(picked.iter().all(|count| (120..=280).contains(count)), "every {every} ms: {picked:?}");
        }
    }

    #[test]
    fn a_crowded_partition_passes_work_on() {
        let placement = Placement::new(7);
        let waiting = |waiting| Traffic { waiting, in_flight: 0 };
        let pick = |traffic: &dyn Fn(PartitionId) -> Traffic| {
            placement.pick((0..64).map(PartitionId), Millis(0), (0, 1), traffic).0
        };
        let first = pick(&|_| waiting(0));
        let next = (first + 1) % 64;
        assert_eq!(pick(&|one| waiting(if one.0 == first { CROWD } else { CROWD - 1 })), next);
        assert_eq!(pick(&|one| waiting(if one.0 == 5 { CROWD } else { CROWD + 1 })), 5, "all are crowded, one less");
    }
}
