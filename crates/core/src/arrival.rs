//! The order in which work arrived: a millisecond, and a place within it.

use crate::{Millis, Span};
use serde::{Deserialize, Serialize};

/// When a call arrived: 42 bits of milliseconds, and 8 bits that tell apart what arrived within one. What arrives when they
/// are used up borrows from the next millisecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Arrival(u64);

impl Arrival {
    /// The bits of a place in a queue.
    pub(crate) const BITS: u32 = 50;
    const SEQUENCE_BITS: u32 = 8;
    const MAX: u64 = (1 << Self::BITS) - 1;
    /// How far ahead of the store's time an arrival may be: what was borrowed, and what clocks differ.
    const AHEAD_MAX: Span = Span::seconds(1);
    /// How long a call may have waited for its commit.
    const BEHIND_MAX: Span = Span::minutes(1);

    /// A place within a millisecond.
    #[must_use]
    pub fn at(time: Millis, sequence: u8) -> Self {
        Self(time.0.min(Self::MAX >> Self::SEQUENCE_BITS) << Self::SEQUENCE_BITS | u64::from(sequence))
    }

    /// The first place behind this one that is not before a time. A clock that was set back far is followed.
    #[must_use]
    pub fn next(self, now: Millis) -> Self {
        let behind = Self(self.0.saturating_add(1).min(Self::MAX));
        let floor = Self::at(now, 0);
        if behind > Self::at(now + Self::AHEAD_MAX, 0) { floor } else { behind.max(floor) }
    }

    /// The millisecond.
    #[must_use]
    pub fn time(self) -> Millis {
        Millis(self.0 >> Self::SEQUENCE_BITS)
    }

    /// The place within it.
    #[must_use]
    pub fn sequence(self) -> u8 {
        (self.0 & 0xff) as u8
    }

    /// This arrival if it can be true at a time; else the time itself: the clock of a process may be wrong.
    #[must_use]
    pub(crate) fn near(self, now: Millis) -> Self {
        let near = now - Self::BEHIND_MAX..=now + Self::AHEAD_MAX;
        if near.contains(&self.time()) { self } else { Self::at(now, self.sequence()) }
    }

    /// The number, within its bits.
    pub(crate) fn bits(self) -> u64 {
        self.0.min(Self::MAX)
    }

    /// The arrival of these bits.
    pub(crate) fn of_bits(bits: u64) -> Self {
        Self(bits & Self::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_behind_the_one_before_and_borrows_from_the_next_millisecond() {
        let now = Millis(1_700_000_000_000);
        let mut last = Arrival::at(now, 0);
        for _ in 0..1_000 {
            let next = last.next(now);
            assert!(next > last && next.time() - now <= Span(4), "{next:?}");
            last = next;
        }
        assert_eq!(last.next(now + Span(9)), Arrival::at(now + Span(9), 0), "time goes on");
        assert_eq!(last.next(now - Span::hours(1)), Arrival::at(now - Span::hours(1), 0), "a clock that was set back");
    }

    #[test]
    fn what_cannot_be_true_is_not_believed() {
        let now = Millis(1_700_000_000_000);
        for (ahead, believed) in [(0, true), (999, true), (1_001, false), (3_600_000, false)] {
            let arrival = Arrival::at(now + Span(ahead), 7);
            assert_eq!(arrival.near(now), if believed { arrival } else { Arrival::at(now, 7) }, "{ahead} ms ahead");
        }
        for (behind, believed) in [(30_000, true), (60_001, false)] {
            let arrival = Arrival::at(now - Span(behind), 7);
            assert_eq!(arrival.near(now), if believed { arrival } else { Arrival::at(now, 7) }, "{behind} ms behind");
        }
    }
}
