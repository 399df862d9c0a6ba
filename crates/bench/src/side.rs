//! Two or more ways to do the same work, measured in turns so that a noisy machine disturbs all of them alike.

use super::Error;
use super::measure::Tally;
use async_trait::async_trait;

/// One way to do the work.
#[async_trait]
pub(crate) trait Side: Send {
    /// Does this much of it.
    async fn run(&mut self, amount: usize) -> Result<Tally, Error>;

    /// Closes what was opened.
    async fn end(self: Box<Self>) -> Result<(), Error>;
}

/// Lets the sides take turns; the answer is one sum for each side.
///
/// A store that copies its log into its main file does so a little later, on the time of whoever comes next, and no
/// store says when it is done. So the order rotates, with every other turn the other way around: over a multiple of
/// turns each side goes first equally often, and none always comes behind the same other one.
pub(crate) async fn take_turns(sides: &mut [Box<dyn Side>], turns: usize, amount: usize) -> Result<Vec<Tally>, Error> {
    let count = sides.len();
    debug_assert!(turns.is_multiple_of(count), "{turns} turns let some of {count} sides go first more often");
    let mut sums = vec![Tally::default(); count];
    for turn in 0..turns {
        for step in 0..count {
            let at = (turn + if turn % 2 == 0 { step } else { count - step }) % count;
            sums[at].add(sides[at].run(amount).await?);
        }
    }
    Ok(sums)
}

/// Closes all sides.
pub(crate) async fn end_all(sides: Vec<Box<dyn Side>>) -> Result<(), Error> {
    for side in sides {
        side.end().await?;
    }
    Ok(())
}

/// What each side did in each round.
#[derive(Debug, Default)]
pub(crate) struct Rounds(Vec<Vec<Tally>>);

impl Rounds {
    pub(crate) fn add(&mut self, sums: Vec<Tally>) {
        self.0.push(sums);
    }

    /// A figure of one side, round by round.
    pub(crate) fn side(&self, side: usize, figure: impl Fn(&Tally) -> f64) -> Vec<f64> {
        self.0.iter().map(|round| figure(&round[side])).collect()
    }

    /// One side's rate over another's, round by round.
    pub(crate) fn ratios(&self, side: usize, over: usize) -> Vec<f64> {
        self.0.iter().map(|round| round[side].rate() / round[over].rate().max(f64::MIN_POSITIVE)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    struct Noted(char, Arc<Mutex<String>>);

    #[async_trait]
    impl Side for Noted {
        async fn run(&mut self, amount: usize) -> Result<Tally, Error> {
            self.1.lock().unwrap().push(self.0);
            Ok(Tally { tried: amount, done: amount, seconds: 2.0, ..Tally::default() })
        }

        async fn end(self: Box<Self>) -> Result<(), Error> {
            self.1.lock().unwrap().push('.');
            Ok(())
        }
    }

    /// The order in which sides were measured and ended, and the rate of each.
    async fn order(names: &str, turns: usize) -> (String, Vec<f64>) {
        let noted = Arc::new(Mutex::new(String::new()));
        let mut sides: Vec<_> =
            names.chars().map(|name| Box::new(Noted(name, noted.clone())) as Box<dyn Side>).collect();
        let sums = take_turns(&mut sides, turns, 5).await.unwrap();
        end_all(sides).await.unwrap();
        let noted = noted.lock().unwrap().clone();
        (noted, sums.iter().map(Tally::rate).collect())
    }

    #[tokio::test]
    async fn each_side_goes_first_and_behind_each_other_equally_often() {
        assert_eq!(order("ab", 4).await, ("abbaabba..".to_owned(), vec![2.5, 2.5]));
        let (order, _) = order("abc", 6).await;
        let mut turns: Vec<&[u8]> = order.trim_end_matches('.').as_bytes().chunks(3).collect();
        turns.sort_unstable();
        assert_eq!(turns, ["abc", "acb", "bac", "bca", "cab", "cba"].map(str::as_bytes));
    }

    #[test]
    fn figures_are_compared_round_by_round() {
        let mut rounds = Rounds::default();
        for done in [[3, 6], [4, 4]] {
            rounds.add(done.map(|done| Tally { done, seconds: 1.0, ..Tally::default() }).to_vec());
        }
        assert_eq!(rounds.ratios(0, 1), [0.5, 1.0]);
    }
}
