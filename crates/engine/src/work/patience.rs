//! Patience with work in partitions of other processes: it is taken once it was seen twice, some time apart.
//!
//! What a look brings beyond the claims that wait here is left over for a while, so that the next claims take it without
//! another look. Both are hints: a claim finds out whether the work is still there.

use crate::work::board::{Origin, QueueKey};
use crate::work::ready::Position;
use crate::work::waiters::Wants;
use onward_core::{Millis, Span};
use std::collections::{BTreeMap, VecDeque};

/// How long work is left to its partition's own process after it was seen first.
pub(crate) const PATIENCE: Span = Span(20);
/// How long what was left over may be taken.
const LEFT_FOR: Span = Span::seconds(1);
/// Maximum queues of which this is remembered; beyond it the one that was looked at longest ago is forgotten.
const QUEUES_MAX: usize = 256;

/// What is remembered of queues with work in partitions of other processes.
#[derive(Debug, Default)]
pub(crate) struct Patience(BTreeMap<QueueKey, Sightings>);

#[derive(Debug, Default)]
struct Sightings {
    /// When each entry of the last page was seen first.
    first: BTreeMap<Position, Millis>,
    left: VecDeque<Position>,
    /// When it was looked at last.
    at: Millis,
}

impl Patience {
    /// Takes in a page; returns what was seen before, long enough ago, in the order of the page.
    pub(crate) fn look(&mut self, queue: &QueueKey, page: &[Position], now: Millis) -> Vec<Position> {
        if page.is_empty() {
            self.0.remove(queue);
            return Vec::new();
        }
        let sightings = self.of(queue);
        let before = std::mem::take(&mut sightings.first);
        sightings.first = page.iter().map(|place| (*place, before.get(place).copied().unwrap_or(now))).collect();
        sightings.at = now;
        sightings.left.clear();
        page.iter().filter(|place| before.get(place).is_some_and(|first| *first + PATIENCE <= now)).copied().collect()
    }

    /// Leaves over what a look has brought beyond the claims that were served.
    pub(crate) fn leave(&mut self, queue: &QueueKey, places: impl IntoIterator<Item = Position>, now: Millis) {
        let mut places = places.into_iter().peekable();
        if places.peek().is_some() {
            let sightings = self.of(queue);
            sightings.left.extend(places);
            sightings.at = now;
        }
    }

    fn of(&mut self, queue: &QueueKey) -> &mut Sightings {
        if self.0.len() >= QUEUES_MAX && !self.0.contains_key(queue) {
            let oldest = self.0.iter().min_by_key(|(_, sightings)| sightings.at).map(|(queue, _)| queue.clone());
            oldest.map(|queue| self.0.remove(&queue));
        }
        self.0.entry(queue.clone()).or_default()
    }

    /// Takes up to `wants.max` of what was left over for a worker, from queues that are not excluded.
    pub(crate) fn take(&mut self, wants: &Wants, now: Millis, excluded: impl Fn(&QueueKey) -> bool) -> Vec<Origin> {
        let mut taken = Vec::new();
        for (queue, sightings) in &mut self.0 {
            if sightings.left.is_empty() || !wants.takes(queue) || excluded(queue) {
                continue;
            }
            if sightings.at + LEFT_FOR < now {
                sightings.left.clear();
                continue;
            }
            let some = sightings.left.len().min(wants.max - taken.len());
            taken.extend(sightings.left.drain(..some).map(|place| (queue.clone(), place)));
            if taken.len() == wants.max {
                break;
            }
        }
        taken
    }

    /// Forgets what was left over of a queue: some of it was gone, and so may be the rest.
    pub(crate) fn clear(&mut self, queue: &QueueKey) {
        if let Some(sightings) = self.0.get_mut(queue) {
            sightings.left.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::work::waiters::tests::{queue, wants};
    use onward_core::{ExecutionId, PartitionId};
    use uuid::Uuid;

    fn place(n: u128) -> Position {
        // Ranks that are far in the future: they are no times to compare with.
        (u64::MAX - n as u64, ExecutionId::new(Uuid::from_u128(n), PartitionId(0)))
    }

    const SOON: Millis = Millis(1_000 + PATIENCE.0);

    #[test]
    fn work_is_taken_when_it_was_seen_twice() {
        let (mut patience, queue) = (Patience::default(), queue("a", "k"));
        let page: Vec<Position> = (0..3).map(place).collect();
        assert!(patience.look(&queue, &page[..2], Millis(1_000)).is_empty());
        assert!(patience.look(&queue, &page[..2], SOON - Span(1)).is_empty(), "seen twice, but too soon");
        assert_eq!(patience.look(&queue, &page[1..], SOON), page[1..2], "the third is new");
        assert_eq!(patience.look(&queue, &page, SOON + PATIENCE), page[1..], "the first was gone in between");
    }

    #[test]
    fn what_is_left_over_goes_to_the_next_claims_for_a_while() {
        let (mut patience, queue) = (Patience::default(), queue("a", "k"));
        let page: Vec<Position> = (0..5).map(place).collect();
        patience.look(&queue, &page, Millis(1_000));
        let mut seen = patience.look(&queue, &page, SOON);
        patience.leave(&queue, seen.split_off(1), SOON);
        let two = Wants { max: 2, ..wants(&["a"]) };
        assert!(patience.take(&wants(&["b"]), SOON, |_| false).is_empty(), "another lane");
        assert!(patience.take(&two, SOON, |_| true).is_empty());
        let places = |taken: Vec<Origin>| taken.into_iter().map(|(_, place)| place).collect::<Vec<_>>();
        assert_eq!(places(patience.take(&two, SOON + LEFT_FOR, |_| false)), page[1..3]);
        assert!(patience.take(&two, SOON + LEFT_FOR + Span(1), |_| false).is_empty(), "too long ago");
        patience.look(&queue, &page, SOON);
        patience.leave(&queue, page.clone(), SOON);
        patience.clear(&queue);
        assert!(patience.take(&two, SOON, |_| false).is_empty(), "some of it was gone");
        let mut fresh = Patience::default();
        fresh.leave(&queue, page.clone(), SOON);
        assert_eq!(places(fresh.take(&two, SOON, |_| false)), page[..2], "left by a claim that does not wait");
    }

    #[test]
    fn memory_is_bounded() {
        let mut patience = Patience::default();
        for n in 0..2 * QUEUES_MAX as u64 {
            patience.look(&queue("a", &format!("k{n}")), &[place(1)], Millis(n));
        }
        assert_eq!(patience.0.len(), QUEUES_MAX);
        let newest = queue("a", &format!("k{}", 2 * QUEUES_MAX - 1));
        assert!(patience.0.contains_key(&newest));
        patience.look(&newest, &[], Millis(9_999));
        assert!(!patience.0.contains_key(&newest), "an empty queue takes no room");
    }
}
