//! The simulation itself: equal seeds give equal runs, every run is worth its name, and planted faults are found.

use onward_sim::{Keep, Mutant, first_failure, many, run};
use std::collections::BTreeSet;

#[test]
fn equal_seeds_give_equal_traces_and_different_seeds_differ() {
    let mut hashes = BTreeSet::new();
    // Worlds of the first generation and of the newest.
    for seed in (0..8).chain(5_000..5_010) {
        let (one, two) = (run(seed, None, Keep::Hash), run(seed, None, Keep::Last(3)));
        assert_eq!((one.hash, one.commands, one.operations), (two.hash, two.commands, two.operations), "seed {seed}");
        assert_eq!((one.faults, one.waits), (two.faults, two.waits), "seed {seed}");
        assert!(hashes.insert(one.hash), "seed {seed} repeats another one");
    }
}

#[test]
fn every_run_is_busy_broken_and_comes_right() {
    // Behind the kept seeds, whose worlds know the faults of their time only.
    let totals = many(5_000..5_060, |_| true);
    let failures: Vec<_> = totals.failures.iter().map(|report| (report.seed, &report.violation)).collect();
    assert!(failures.is_empty(), "{failures:?}");
    assert!(totals.commands_least >= 300, "{} commands", totals.commands_least);
    assert!(totals.faults_least >= 5, "{} faults", totals.faults_least);
    assert_eq!(totals.seeds, 60);
    let missing: Vec<_> = onward_sim::Fault::ALL.iter().filter(|fault| !totals.faults.contains_key(fault)).collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
    let waits = [
        "suspended",
        "met at once",
        "resumed by signals",
        "resumed by timeout",
        "resumed by operator",
        "timeout: fail",
        "timeout: cancel",
        "timeout: expire",
        "timeout: escalate",
        "signal resumed",
        "signal counted",
        "signal ignored",
        "signal buffered",
        "signal refused: proof is over",
        "signal refused: wait is over",
        "signal refused: ended",
        "signal repeated late",
        "suspend repeated late",
        "asked again for a wait that is over",
        "wait closed",
        "held",
        "held while running",
        "held as exhausted",
        "hold ended",
        "suspend refused: impossible",
        "claimed with what woke it",
    ];
    let missing: Vec<_> = waits.into_iter().filter(|what| totals.waits.get(what) == 0).collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
}

#[test]
fn planted_faults_are_found_and_their_traces_kept() {
    let rules = [Mutant::NoFence, Mutant::TimerOnlyBySweep, Mutant::StopForgotten];
    let stores = [Mutant::RefusalAnsweredEarly, Mutant::StaleLaneCopy, Mutant::UniqueKeyNotFreed];
    let messages = [Mutant::MessageByDifference];
    let waits = [Mutant::MailboxLost, Mutant::WaitAnsweredTwice, Mutant::ProofOutlivesItself];
    for mutant in rules.into_iter().chain(stores).chain(messages).chain(waits) {
        let Some(found) = first_failure(mutant, 5_000..5_050) else { panic!("{} was not found", mutant.name()) };
        let finder = found.violation.as_ref().map_or("nobody", |violation| violation.checker);
        assert!(mutant.finders().contains(&finder), "{} was found by {finder}", mutant.name());
        let again = run(found.seed, Some(mutant), Keep::Last(5));
        assert_eq!((again.hash, &again.violation), (found.hash, &found.violation), "{}", mutant.name());
        assert_eq!(again.last_steps.len(), 5);
        assert_eq!(run(found.seed, None, Keep::Hash).violation, None, "the fault is the planted one");
    }
}
