//! Properties of the rules under random sequences of commands: repeats, indexes, states, invariants.
#![allow(clippy::unwrap_used, reason = "a failing test may panic")]

mod checks;
mod coverage;
mod drive;
mod history;
mod keys;
mod moves;
mod reached;
mod repeats;
#[path = "../world/mod.rs"]
mod world;

use drive::Driver;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::cell::RefCell;

/// The same cases in every run; `PROPTEST_CASES` asks for more of them.
fn runner() -> TestRunner {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(3_000);
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 2_000, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

/// Runs random moves; every check of `checks` runs after every one of them, and at the end everything is repeated.
#[test]
fn no_sequence_of_commands_breaks_an_invariant() {
    let seen = RefCell::new(reached::Seen::new());
    let result = runner().run(&moves::run(), |moves| {
        let mut driver = Driver::new();
        for one in &moves {
            driver.make(one);
        }
        driver.repeat_everything();
        for (what, count) in driver.seen {
            *seen.borrow_mut().entry(what).or_default() += count;
        }
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
    reached::check(&seen.into_inner());
}
