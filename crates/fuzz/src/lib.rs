//! What fuzz tests share: the same inputs in every run, most of them close to what a parser accepts.
//!
//! A fuzz test gives inputs to a parser with [`fuzz`] and answers for each whether it was accepted. What must hold for every
//! input, or for every accepted one, it states with `prop_assert!`. Names of fuzz tests start with `fuzz`, so that `make fuzz`
//! finds them.

mod change;
mod json;

pub use change::{anything, near, near_bytes};
pub use json::{near_any, near_json};
pub use proptest;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::cell::Cell;

/// Inputs of a test unless `PROPTEST_CASES` asks for more.
const CASES: u32 = 512;
/// With fewer inputs than this it is chance whether one is accepted.
const ENOUGH: u32 = 256;

/// What a test says about one input: whether it was accepted, or what is wrong.
pub type Judged = Result<bool, TestCaseError>;

/// Judges every input, and panics with the smallest one for which something does not hold.
///
/// # Panics
/// When something does not hold, or when every input was accepted or none: such a test looks at one half only.
pub fn fuzz<S: Strategy>(inputs: S, judge: impl Fn(S::Value) -> Judged) {
    let (accepted, refused) = count(&inputs, judge);
    if accepted + refused >= ENOUGH {
        assert!(accepted > 0, "none of {refused} inputs was accepted");
        assert!(refused > 0, "none of {accepted} inputs was refused");
    }
}

/// The same for what accepts everything, such as a text that is cut.
///
/// # Panics
/// When something does not hold.
pub fn fuzz_all<S: Strategy>(inputs: S, judge: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    count(&inputs, |input| judge(input).map(|()| true));
}

fn count<S: Strategy>(inputs: &S, judge: impl Fn(S::Value) -> Judged) -> (u32, u32) {
    let (accepted, refused) = (Cell::new(0), Cell::new(0));
    let result = runner().run(inputs, |input| {
        let counted = if judge(input)? { &accepted } else { &refused };
        counted.set(counted.get() + 1);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    (accepted.get(), refused.get())
}

fn runner() -> TestRunner {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::panic::catch_unwind;

    fn parse(text: &str) -> Option<u8> {
        text.parse().ok()
    }

    #[test]
    fn fuzz_finds_what_does_not_hold() {
        let digits = || near("[0-9]{1,3}");
        fuzz(digits(), |text| Ok(parse(&text).is_some()));
        let one_spelling = |text: String| {
            let number = parse(&text);
            prop_assert!(number.is_none_or(|number| number.to_string() == text), "{text:?}");
            Ok(number.is_some())
        };
        assert!(catch_unwind(|| fuzz(digits(), one_spelling)).is_err(), "`+7` and `07` are further spellings");
        assert!(catch_unwind(|| fuzz(digits(), |_| panic!("a parser that panics"))).is_err());
        assert!(catch_unwind(|| fuzz(digits(), |_| Ok(true))).is_err(), "nothing is refused");
        assert!(catch_unwind(|| fuzz(digits(), |_| Ok(false))).is_err(), "nothing is accepted");
    }
}
