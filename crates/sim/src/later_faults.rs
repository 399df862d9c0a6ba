//! Faults of the later generations: how likely each is in a run, drawn from streams of their own.

use crate::dice::Dice;
use onward_core::Span;

/// How likely the later faults are in a run; all zero in a world of the first generation.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LaterFaults {
    /// Commits that land minutes after their sender was told that their outcome is unknown, in a thousand.
    pub(crate) very_late: u64,
    /// Commits whose answer takes so long that hints overtake it, in a thousand.
    pub(crate) slow_answer: u64,
    /// Reads whose answer is seconds old when it arrives, in a thousand.
    pub(crate) stale_read: u64,
    /// The longest pause between two crowds around one execution; none without.
    pub(crate) crowds: Option<Span>,
    /// Turns of a worker in which it repeats an old report, in a hundred.
    pub(crate) old_repeats: u64,
    /// Whether the store waits for a replica, which is away at times and may take over then.
    pub(crate) replica: bool,
    /// Whether lanes are closed and work is revoked while nothing may be late.
    pub(crate) calm_races: bool,
    /// The longest pause between two deliveries of old messages; none without. Of the third generation.
    pub(crate) redeliveries: Option<Span>,
}

impl LaterFaults {
    /// Draws them. Faults that come together hide each other, so each is absent in many runs.
    pub(crate) fn draw(dice: &mut Dice, forgetful: bool) -> Self {
        let mut odds = |absent_percent, most| if dice.percent(absent_percent) { 0 } else { dice.between(1, most) };
        let (very_late, slow_answer, stale_read) = (odds(70, 25), odds(50, 40), odds(70, 8));
        let old_repeats = odds(50, 20);
        Self {
            very_late,
            slow_answer,
            stale_read,
            crowds: dice.percent(60).then(|| dice.span(500, 4_000)),
            old_repeats,
            // A store that loses commits whatever was waited for is another world.
            replica: !forgetful && dice.percent(20),
            calm_races: dice.percent(40),
            redeliveries: None,
        }
    }

    /// Draws whether old messages are delivered again.
    pub(crate) fn draw_redeliveries(&mut self, dice: &mut Dice) {
        self.redeliveries = dice.percent(60).then(|| dice.span(100, 1_500));
    }
}
