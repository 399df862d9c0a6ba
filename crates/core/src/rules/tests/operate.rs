//! What operators' calls have in common: found by namespace, remembered, answered alike when they are repeated.

use crate::record::Did;
use crate::rules::world::World;
use crate::rules::world::make::{self, id, submit, tag};
use crate::{Act, Rejection, Reply, Span, Submit, When, Window, limits};

/// Every act in an order in which each is accepted, with its answer.
fn story(world: &World) -> Vec<(Act, Did)> {
    let later = world.now + Span::hours(1);
    vec![
        (Act::Prioritise { priority: 3 }, Did::Prioritised { before: 0 }),
        (tag(&[("a", "b")], &[]), Did::Tagged),
        (Act::Reschedule { when: When::At(later) }, Did::Rescheduled { until: Some(later) }),
        (Act::Reschedule { when: When::Now }, Did::Rescheduled { until: None }),
        (make::end(), Did::Cancelled),
        (make::replay(), Did::Replayed { replays: 1 }),
        (Act::Prioritise { priority: 3 }, Did::Prioritised { before: 3 }),
        (make::ask(Span(5)), Did::Cancelled),
        (make::replay(), Did::Replayed { replays: 2 }),
        (make::end(), Did::Cancelled),
        (Act::Purge, Did::Purged),
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
            assert_eq!(done.result, Ok(Reply::Operated(*did)), "call {earlier} after call {n}");
            assert!(done.step.writes.is_empty() && done.events.is_empty(), "call {earlier} after call {n}");
            assert_eq!(done.window, Window::default(), "call {earlier}: a repeat does not depend on time");
        }
        assert!(world.execution(id(1)).operated.len() <= limits::OPERATOR_COMMANDS_KEPT);
    }
    world.when_due(id(1));
    assert!(world.find(id(1)).is_none());
    assert_eq!(world.operate(110, id(1), Act::Purge), Did::Purged, "what is gone is purged");
}

#[test]
fn an_id_that_did_something_else_is_refused() {
    let mut world = World::new(1);
    for n in 1..=7 {
        world.submit(Submit { ..submit(n) });
    }
    world.running(submit(8), 10);
    let acts = || {
        [
            make::end(),
            Act::Reschedule { when: When::Now },
            Act::Prioritise { priority: 3 },
            tag(&[("a", "b")], &[]),
            make::revoke(),
            make::replay(),
            Act::Purge,
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
        let result = world.home(&crate::Command::Operate(Box::new(operate))).result;
        let absent = world.home(&make::operate(50, id(9), act)).result;
        match (&result, &absent) {
            (Err(Rejection::ExecutionNotFound(_)), Err(Rejection::ExecutionNotFound(_))) => {}
            // It cannot be told apart from what was never there.
            (Ok(Reply::Operated(Did::Purged)), Ok(Reply::Operated(Did::Purged))) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(world.records, before);
}
