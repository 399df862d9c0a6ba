//! Which checker, type or test guards each numbered invariant of the specification.

use crate::checks::CHECKS;

/// What guards an invariant.
enum Guard {
    /// Checked after every command of every random run; the name is in `CHECKS`.
    Check(&'static str),
    /// Checked by the store of the tests itself, for every command.
    World(&'static str),
    /// It cannot be written down.
    Type(&'static str),
    /// A test of the rules: its file and its name.
    Test(&'static str, &'static str),
    /// It concerns something that does not exist yet.
    NotYet(&'static str),
}

use Guard::{Check, NotYet, Test, Type, World};

const REPEATS: Guard = Check("repeats");

fn guards(number: u8) -> &'static [Guard] {
    match number {
        1 => &[Check("what_never_changes"), Check("payloads")],
        2 => &[
            Test("idempotency", "the_second_submit_with_a_key_returns_the_first_execution"),
            Test("submit", "a_repeat_gets_the_first_answer_whatever_happened_since"),
        ],
        3 => &[Check("what_never_changes")],
        4 => &[Check("vectors"), Test("vectors", "no_state_that_can_be_written_down_is_forbidden")],
        5 => &[Check("vectors"), Test("vectors", "public_states_are_derived_as_the_specification_says")],
        6 | 7 => &[Check("phases")],
        8 => &[World("a refused command leaves no write and no event")],
        9..=11 => &[Check("times")],
        12 => &[Type("Readiness::Delayed carries its time, nothing else does"), Check("places")],
        13 => &[Type("the reason is part of Readiness"), Check("vectors")],
        14 | 15 => &[Check("places"), Check("entries")],
        16 => &[NotYet("attempt timeouts")],
        17 => &[NotYet("execution deadlines")],
        18 => &[NotYet("a worker's leases are listed by nothing yet")],
        19 => &[Check("ranks"), Test("rank", "higher_priority_runs_first_and_equals_by_their_time")],
        20 => &[Type("Active holds one Lease, and no other state holds any")],
        21 => &[Check("leases")],
        22 => &[
            Check("leases"),
            Test("claim", "a_lease_is_given_out_once"),
            NotYet("a lease's id is compared with that of the lease before it, not with all; its epoch is unique"),
        ],
        23 => &[Check("fences"), Test("fence", "every_verb_is_refused_after_the_lease_was_lost")],
        24 => &[
            Check("fences"),
            Check("windows"),
            Test("fence", "every_verb_is_accepted_from_the_holder_and_only_until_the_lease_ends"),
        ],
        25 => &[Check("renewals"), Test("fence", "renewing_moves_the_end_and_nothing_else")],
        26 => &[Type("Finished and Waiting hold no Lease"), NotYet("suspension")],
        27 => &[Type("a lapsed lease leaves Active in one step, there is no marked state between"), Check("phases")],
        28 | 29 => &[Type("there are no grants: a claim is one step")],
        30 | 31 => &[Check("attempts")],
        32 => &[Check("ended_attempts")],
        33 => &[Check("attempts")],
        34 => &[Check("attempts"), Check("leases"), NotYet("resume")],
        35 => &[Check("attempt_kinds")],
        36 => &[Check("counters"), Test("lost", "after_a_hundred_reclaims_the_next_loss_is_the_end"), NotYet("replay")],
        37 => &[NotYet("skipping")],
        38 => &[
            Check("retries"),
            Check("phases"),
            Test("retry", "a_failure_is_tried_again_after_its_pause_until_none_is_left"),
        ],
        39 => &[NotYet("execution deadlines")],
        40 => &[NotYet("attempt timeouts")],
        41 => {
            &[Check("windows"), Test("lost", "a_renewed_lease_is_not_expired_by_an_old_due_time"), NotYet("timeouts")]
        }
        42 => &[Check("ends")],
        43 => &[REPEATS, Test("fence", "a_repeat_gets_its_answer_also_after_the_next_attempt_began"), NotYet("cancel")],
        44 => &[REPEATS, Test("due", "delayed_work_becomes_ready_when_its_time_comes")],
        45 => &[NotYet("retention")],
        46 => &[
            Check("payloads"),
            Test("payload", "payloads_come_back_exactly_whether_in_place_or_beside"),
            NotYet("replay"),
        ],
        _ => &[],
    }
}

/// The tests of the rules, so that the table cannot name one that is gone.
fn source(file: &str) -> &'static str {
    match file {
        "claim" => include_str!("../../src/rules/tests/claim.rs"),
        "due" => include_str!("../../src/rules/tests/due.rs"),
        "fence" => include_str!("../../src/rules/tests/fence.rs"),
        "idempotency" => include_str!("../../src/rules/tests/idempotency.rs"),
        "lost" => include_str!("../../src/rules/tests/lost.rs"),
        "payload" => include_str!("../../src/rules/tests/payload.rs"),
        "rank" => include_str!("../../src/rules/tests/rank.rs"),
        "retry" => include_str!("../../src/rules/tests/retry.rs"),
        "submit" => include_str!("../../src/rules/tests/submit.rs"),
        "vectors" => include_str!("../../src/rules/tests/vectors.rs"),
        other => panic!("no tests in {other}"),
    }
}

fn describe(guard: &Guard) -> String {
    match guard {
        // `Driver::repeat` runs for every accepted call of every run.
        Check("repeats") => "checked after every run: repeats".to_owned(),
        Check(name) => {
            assert!(CHECKS.iter().any(|(known, _)| known == name), "there is no check {name}");
            format!("checked after every command: {name}")
        }
        World(what) => format!("checked for every command: {what}"),
        Type(what) => format!("impossible by type: {what}"),
        Test(file, name) => {
            let found = source(file).contains(&format!("#[test]\nfn {name}()"));
            assert!(found, "there is no test {name} in {file}");
            format!("tested: {file}::{name}")
        }
        NotYet(what) => format!("not yet: {what}"),
    }
}

#[test]
fn every_invariant_has_its_guard() {
    for number in 1..=46 {
        let guards = guards(number);
        assert!(!guards.is_empty(), "nothing guards INV-{number}");
        for (n, guard) in guards.iter().enumerate() {
            let label = if n == 0 { format!("INV-{number}") } else { String::new() };
            println!("{label:7} {}", describe(guard));
        }
    }
    assert!(guards(47).is_empty());
}

#[test]
fn every_check_guards_something() {
    for (name, _) in CHECKS {
        let used = (1..=46).flat_map(guards).any(|guard| matches!(guard, Check(used) if *used == name));
        assert!(used, "{name} is in no row of the table");
    }
}
