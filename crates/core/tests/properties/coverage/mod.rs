//! Which checker, type or test guards each numbered invariant, weak point and requirement of the specification.

mod invariants;
mod seeds;
mod waiting;
mod weak_points;

use crate::checks::CHECKS;

/// What guards a row.
enum Guard {
    /// Checked after every command of every random run; the name is in `CHECKS`.
    Check(&'static str),
    /// Checked for every accepted call of every random run: `Driver::repeat`.
    Repeats,
    /// Checked by the store of the tests itself, for every command.
    World(&'static str),
    /// It cannot be written down.
    Type(&'static str),
    /// A test of the rules: its file and its name.
    Test(&'static str, &'static str),
    /// The design cut it, in this sentence.
    Cut(&'static str),
    /// It became something better, which other rows guard.
    Better(&'static str),
    /// It is not for the rules to decide.
    Elsewhere(&'static str),
    /// It concerns something that does not exist yet.
    NotYet(&'static str),
}

/// The sources that hold tests, so that no row can name one that is gone.
macro_rules! sources {
    ($($file:literal),* $(,)?) => {
        fn source(file: &str) -> &'static str {
            match file {
                "token" => include_str!("../../../src/token.rs"),
                "ids" => include_str!("../../../src/ids.rs"),
                $($file => include_str!(concat!("../../../src/rules/tests/", $file, ".rs")),)*
                other => panic!("no tests in {other}"),
            }
        }
    };
}

sources!(
    "cancel",
    "claim",
    "clock",
    "deadline",
    "defaults",
    "delay",
    "due",
    "fence",
    "history",
    "idempotency",
    "lane",
    "lost",
    "operate",
    "payload",
    "progress",
    "purge",
    "rank",
    "refusals",
    "replay",
    "retry",
    "revoke",
    "signal",
    "steer",
    "stop",
    "submit",
    "suspend",
    "timeout",
    "token_keys",
    "unique",
    "vectors",
    "view",
);

fn describe(guard: &Guard) -> String {
    match guard {
        Guard::Check(name) => {
            assert!(CHECKS.iter().any(|(known, _)| known == name), "there is no check {name}");
            format!("checked after every command: {name}")
        }
        Guard::Repeats => "checked after every run: every accepted call is repeated".to_owned(),
        Guard::World(what) => format!("checked for every command: {what}"),
        Guard::Type(what) => format!("impossible by type: {what}"),
        Guard::Test(file, name) => {
            let lines: Vec<&str> = source(file).lines().map(str::trim).collect();
            let declared = format!("fn {name}() {{");
            let found = lines.windows(2).any(|pair| pair[0] == "#[test]" && pair[1] == declared);
            assert!(found, "there is no test {name} in {file}");
            format!("tested: {file}::{name}")
        }
        Guard::Cut(what) => format!("cut: {what}"),
        Guard::Better(what) => format!("became better: {what}"),
        Guard::Elsewhere(what) => format!("not of the rules: {what}"),
        Guard::NotYet(what) => format!("not yet: {what}"),
    }
}

fn print(label: &str, guards: &[Guard]) {
    assert!(!guards.is_empty(), "nothing guards {label}");
    for (n, guard) in guards.iter().enumerate() {
        let label = if n == 0 { label } else { "" };
        println!("{label:8} {}", describe(guard));
    }
}

#[test]
fn every_invariant_has_its_guard() {
    for number in 1..=46 {
        print(&format!("INV-{number}"), invariants::guards(number));
    }
    assert!(invariants::guards(47).is_empty());
}

#[test]
fn every_weak_point_is_watched() {
    for number in 1..=35 {
        print(&format!("W{number}"), weak_points::guards(number));
    }
    assert!(weak_points::guards(36).is_empty());
}

#[test]
fn every_invariant_and_weak_point_of_waiting_has_its_guard_or_was_cut() {
    for number in 1..=waiting::INVARIANTS {
        print(&format!("B{number}"), waiting::guards(number));
    }
    for number in 1..=waiting::WEAK_POINTS {
        print(&format!("BW{number}"), waiting::weak_points(number));
    }
    assert!(waiting::guards(waiting::INVARIANTS + 1).is_empty());
    assert!(waiting::weak_points(waiting::WEAK_POINTS + 1).is_empty());
}

#[test]
fn every_requirement_of_the_seeds_is_met_or_has_become_better() {
    for (table, rows) in [(1, 10), (2, 11), (3, 5)] {
        for row in 1..=rows {
            print(&format!("B.{table}.{row}"), seeds::guards(table, row));
        }
        assert!(seeds::guards(table, rows + 1).is_empty());
    }
}

#[test]
fn every_check_guards_something() {
    for (name, _) in CHECKS {
        let rows = (1..=46).map(invariants::guards).chain((1..=35).map(weak_points::guards));
        let used = rows.flatten().any(|guard| matches!(guard, Guard::Check(used) if *used == name));
        assert!(used, "{name} is in no row of the tables");
    }
}
