//! What time it is at the server: guessed from the times that its answers carry.

use onward_core::{Millis, Span};
use parking_lot::Mutex;

/// How long the best guess is kept; clocks drift.
const KEPT: Span = Span::minutes(1);

/// The difference of the server's clock to this one.
#[derive(Debug, Default)]
pub(crate) struct ServerTime(Mutex<Option<Guess>>);

#[derive(Debug, Clone, Copy)]
struct Guess {
    /// The server's time and this one's at the same moment.
    there: Millis,
    here: Millis,
    /// How far off it may be.
    error: Span,
}

impl ServerTime {
    /// Takes in the time that an answer carries. The server writes it when it answers, however long the call waited, so it
    /// is that of the moment at which the answer arrived, less its way. The quicker a call was, the shorter was the way.
    pub(crate) fn learn(&self, there: Millis, asked: Millis, answered: Millis) {
        let guess = Guess { there, here: answered, error: answered - asked };
        let mut known = self.0.lock();
        let better = known.is_none_or(|known| guess.error <= known.error || answered - known.here > KEPT);
        if better {
            *known = Some(guess);
        }
    }

    /// The server's time, as far as it is known.
    pub(crate) fn at(&self, now: Millis) -> Millis {
        let known = *self.0.lock();
        match known {
            Some(Guess { there, here, .. }) if now >= here => there + (now - here),
            Some(Guess { there, here, .. }) => there - (here - now),
            None => now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quickest_answer_of_late_decides() {
        let time = ServerTime::default();
        assert_eq!(time.at(Millis(1_000)), Millis(1_000), "nothing is known");
        time.learn(Millis(50_000), Millis(1_000), Millis(1_200));
        assert_eq!(time.at(Millis(1_200)), Millis(50_000));
        assert_eq!(time.at(Millis(1_100)), Millis(49_900));
        time.learn(Millis(80_000), Millis(1_300), Millis(31_300));
        assert_eq!(time.at(Millis(1_200)), Millis(50_000), "a call that waited knows less");
        time.learn(Millis(50_310), Millis(1_400), Millis(1_410));
        assert_eq!(time.at(Millis(1_410)), Millis(50_310), "a quicker one knows more");
        time.learn(Millis(500_000), Millis(100_000), Millis(100_400));
        assert_eq!(time.at(Millis(100_400)), Millis(500_000), "what is old is known no more");
    }

    #[test]
    fn a_first_call_that_waits_long_is_not_ahead_of_the_server() {
        let time = ServerTime::default();
        time.learn(Millis(500_000), Millis(1_000), Millis(26_000));
        assert_eq!(time.at(Millis(26_000)), Millis(500_000), "half of its wait would end leases that have just begun");
    }
}
