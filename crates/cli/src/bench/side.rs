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

/// Lets the sides take turns, each going first equally often; the answer is one sum for each side.
pub(crate) async fn take_turns(sides: &mut [Box<dyn Side>], turns: usize, amount: usize) -> Result<Vec<Tally>, Error> {
    let mut sums = vec![Tally::default(); sides.len()];
    for turn in 0..turns {
        for step in 0..sides.len() {
            let at = (turn + step) % sides.len();
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

/// A figure of each side in each round.
#[derive(Debug, Default)]
pub(crate) struct Rounds(Vec<Vec<f64>>);

impl Rounds {
    pub(crate) fn add(&mut self, values: Vec<f64>) {
        self.0.push(values);
    }

    /// One side's figures.
    pub(crate) fn side(&self, side: usize) -> Vec<f64> {
        self.0.iter().map(|round| round[side]).collect()
    }

    /// One side's figure over another's, round by round.
    pub(crate) fn ratios(&self, side: usize, over: usize) -> Vec<f64> {
        self.0.iter().map(|round| round[side] / round[over].max(f64::MIN_POSITIVE)).collect()
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

    #[tokio::test]
    async fn each_side_goes_first_in_its_turn() {
        let noted = Arc::new(Mutex::new(String::new()));
        let mut sides = ['a', 'b'].map(|name| Box::new(Noted(name, noted.clone())) as Box<dyn Side>);
        let sums = take_turns(&mut sides, 3, 5).await.unwrap();
        end_all(sides.into_iter().collect()).await.unwrap();
        assert_eq!(*noted.lock().unwrap(), "abbaab..");
        assert_eq!(sums.iter().map(Tally::rate).collect::<Vec<_>>(), [2.5, 2.5]);
        let mut rounds = Rounds::default();
        rounds.add(vec![3.0, 6.0]);
        rounds.add(vec![4.0, 4.0]);
        assert_eq!(rounds.ratios(0, 1), [0.5, 1.0]);
    }
}
