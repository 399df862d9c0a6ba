//! Chance that repeats with its seed: everything the simulated world decides is drawn here.

use onward_core::Span;

/// A stream of random words (SplitMix64). Forks are independent of each other.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// The stream of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x6f6e_7761_7264_2d31))
    }

    /// A stream for somebody else, so that what one draws does not move another's draws.
    pub(crate) fn fork(&mut self) -> Self {
        Self(mix(self.word()))
    }

    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    pub(crate) fn wide(&mut self) -> u128 {
        (u128::from(self.word()) << 64) | u128::from(self.word())
    }

    /// From 0 up to, but not including, `n`; 0 when `n` is.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.word() % n.max(1)
    }

    /// From `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    pub(crate) fn span(&mut self, low_ms: u64, high_ms: u64) -> Span {
        Span(self.between(low_ms, high_ms))
    }

    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn per_mille(&mut self, chance: u64) -> bool {
        self.below(1_000) < chance
    }

    /// One of the items; `None` when there is none.
    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        let at = self.below(items.len() as u64);
        items.get(usize::try_from(at).unwrap_or(0))
    }
}

fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_forks_differ() {
        let draw = |dice: &mut Dice| (0..8).map(|_| dice.word()).collect::<Vec<_>>();
        let (mut one, mut same, mut other) = (Dice::new(7), Dice::new(7), Dice::new(8));
        assert_eq!(draw(&mut one), draw(&mut same));
        assert_ne!(draw(&mut one), draw(&mut other));
        let (mut left, mut right) = (one.fork(), one.fork());
        assert_ne!(draw(&mut left), draw(&mut right));
        assert!((0..1_000).all(|_| (3..=5).contains(&one.between(3, 5))));
        assert_eq!(one.pick::<u8>(&[]), None);
    }
}
