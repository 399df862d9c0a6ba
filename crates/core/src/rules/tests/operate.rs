//! What operators' calls have in common: found by namespace, remembered, answered alike when they are repeated.

use crate::rules::world::World;
use crate::rules::world::make::{self, id, submit, tag};
use crate::{Act, ActOutcome, Rejection, Reply, Span, When, Window, act, limits};

/// Every act in an order in which each is accepted, with its answer.
fn story(world: &World) -> Vec<(Act, ActOutcome)> {
    let later = world.now + Span::hours(1);
    vec![
        (Act::Prioritise(act::Prioritise { priority: 3 }), ActOutcome::Prioritised { before: 0 }),
        (tag(&[("a", "b")], &[]), ActOutcome::Tagged),
        (Act::Reschedule(act::Reschedule::from(When::At(later))), ActOutcome::Rescheduled { until: Some(later) }),
        (Act::Reschedule(act::Reschedule::from(When::Now)), ActOutcome::Rescheduled { until: None }),
        (make::end(), ActOutcome::Cancelled),
        (make::replay(), ActOutcome::Replayed { replays: 1 }),
        (Act::Prioritise(act::Prioritise { priority: 3 }), ActOutcome::Prioritised { before: 3 }),
        (make::ask(Span(5)), ActOutcome::Cancelled),
        (make::replay(), ActOutcome::Replayed { replays: 2 }),
        (make::end(), ActOutcome::Cancelled),
        (Act::Purge(act::Purge {}), ActOutcome::Purged),
    ]
}

#[test]
fn a_repeat_is_answered_alike_for_the_newest_calls_whatever_happened_since() {
    let mut world = World::new(1);
    world.submit(submit(1));
    let story = story(&world);
    for (n, (act, did)) in story.iter().enumerate() {
        assert_eq!(world.operate(100 + n as u128, id(1), act.clone()), *did);
        let oldest = (n + 1).saturating_sub(limits::OPERATOR_COMMANDS_KEPT);
        for (earlier, (act, did)) in story.iter().enumerate().take(n + 1).skip(oldest) {
            let done = world.home(&make::operate(100 + earlier as u128, id(1), act.clone()));
            assert_eq!(done.result, Ok(Reply::Operate(*did)), "call {earlier} after call {n}");
            assert!(done.step.writes.is_empty() && done.events.is_empty(), "call {earlier} after call {n}");
            assert_eq!(done.window, Window::default(), "call {earlier}: a repeat does not depend on time");
        }
        assert!(world.execution(id(1)).operated.len() <= limits::OPERATOR_COMMANDS_KEPT);
    }
    world.when_due(id(1));
    assert!(world.find(id(1)).is_none());
    let gone = world.refuse(&make::operate(110, id(1), Act::Purge(act::Purge {})));
    assert_eq!(gone, Rejection::ExecutionNotFound(id(1)), "what is gone does not exist");
}

#[test]
fn an_id_that_did_something_else_is_refused() {
    let mut world = World::new(1);
    for n in 1..=7 {
        world.submit(submit(n));
    }
    world.running(submit(8), 10);
    let acts = || {
        [
            make::end(),
            Act::Reschedule(act::Reschedule::from(When::Now)),
            Act::Prioritise(act::Prioritise { priority: 3 }),
            tag(&[("a", "b")], &[]),
            make::revoke(),
            make::replay(),
            Act::Purge(act::Purge {}),
        ]
    };
    for (first, n) in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 8)] {
        world.operate(50, id(n), acts()[first].clone());
        for (second, act) in acts().into_iter().enumerate() {
            let result = world.home(&make::operate(50, id(n), act)).result;
            let refused = matches!(result, Err(Rejection::InvalidArgument { field: "command", .. }));
            assert_eq!(refused, first != second, "{first} then {second}: {result:?}");
        }
    }
}

#[test]
fn what_belongs_to_others_does_not_exist() {
    let mut world = World::new(1);
    world.submit(submit(1));
    let before = world.records.clone();
    for (act, _) in story(&world) {
        let namespace = "other".parse().unwrap();
        let operate =
            crate::Operate { command: crate::CommandId(50), namespace, execution: id(1), by: None, act: act.clone() };
        let result = world.home(&crate::Command::Operate(operate)).result;
        let absent = world.home(&make::operate(50, id(9), act)).result;
        match (&result, &absent) {
            (Err(Rejection::ExecutionNotFound(_)), Err(Rejection::ExecutionNotFound(_))) => {}
            // It cannot be told apart from what was never there.
            (Ok(Reply::Operate(ActOutcome::Purged)), Ok(Reply::Operate(ActOutcome::Purged))) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(world.records, before);
}
