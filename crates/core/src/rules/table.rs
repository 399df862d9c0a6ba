//! Every state against every command: what comes out, written down as tables without a hole.

mod calls;
mod expected;
mod states;

use crate::Key;
use crate::rules::world::make::id;
use calls::{ENGINE, OPERATORS, WORKERS, calls_of, command_of, has_id};
use states::{CLASSES, Class, class_of, world_in};

/// What a command makes of a state: the refusal's code, the new class, or `=` when nothing was written. Along the way it
/// checks what holds for every command: a write changes something, a transition is told once, a repeat is answered alike.
fn outcome(class: Class, call: &str) -> String {
    let (mut world, fence) = world_in(class, call == "fail (retry left)");
    let command = command_of(call, &mut world, fence);
    assert!(calls_of(&command).contains(&call), "{call} is listed under {}", command.name());
    let before = world.find(id(1)).cloned();
    let done = world.home(&command);
    let after = class_of(world.find(id(1)), world.now);
    let wrote = done.step.writes.contains(&Key::Execution(id(1)));
    assert_eq!(wrote, world.find(id(1)) != before.as_ref(), "{class:?} {call}: a write changes something");
    let told = done.events.iter().filter(|event| event.execution == Some(id(1))).count();
    // A purge is told with its first piece.
    let silent = call == "renew" || call == "progress" || matches!(class, Class::Purging | Class::Stub);
    assert_eq!(told, usize::from(wrote && !silent), "{class:?} {call}: one event per transition");
    if done.result.is_ok() && has_id(&command) {
        let again = world.home(&command);
        assert_eq!(again.result, done.result, "{class:?} {call}: the repeat is answered alike");
        assert!(again.step.writes.is_empty() && again.events.is_empty(), "{class:?} {call}: the repeat wrote");
    }
    match done.result {
        Err(rejection) => rejection.code().to_owned(),
        Ok(_) if !wrote => "=".to_owned(),
        Ok(_) => format!("→ {after:?}"),
    }
}

fn check<const CALLS: usize>(calls: [&str; CALLS], expected: [[&str; CALLS]; CLASSES.len()]) {
    let mut wrong = Vec::new();
    println!("\n(state × command); `=` means accepted without a write");
    for (class, expected) in CLASSES.into_iter().zip(expected) {
        println!("\n{class:?}");
        for (call, expected) in calls.into_iter().zip(expected) {
            let found = outcome(class, call);
            println!("    {call:22} {found}");
            if found != expected {
                wrong.push(format!("{class:?} × {call}: expected {expected}, found {found}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_state_answers_every_worker_as_written_down() {
    check(WORKERS, expected::OF_WORKERS);
}

#[test]
fn every_state_answers_every_operator_as_written_down() {
    check(OPERATORS, expected::OF_OPERATORS);
}

#[test]
fn every_state_answers_the_engine_as_written_down() {
    check(ENGINE, expected::OF_ENGINE);
}

#[test]
fn every_command_has_its_calls_in_the_table() {
    let mut listed = 0;
    for call in WORKERS.into_iter().chain(OPERATORS).chain(ENGINE) {
        let (mut world, fence) = world_in(Class::ActiveMine, true);
        let command = command_of(call, &mut world, fence);
        listed += usize::from(calls_of(&command)[0] == call);
    }
    assert_eq!(listed, 9 + 8 + 7, "each kind of command and act begins a group of calls");
}
