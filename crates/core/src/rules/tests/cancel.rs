//! Ending what nobody wants any more: by its worker, by an operator, from any state that is not an end.

use crate::record::{AttemptEnd, Cancellation, Canceller, Finished, Outcome, PublicState};
use crate::rules::world::World;
use crate::rules::world::make::{self, TTL, due, id, submit, with};
use crate::{
    ActOutcome, Category, CommandId, LeaseEvent, LeaseId, Looked, Policy, Reason, Rejection, Reply, Reported, Span,
    What, When, Window, limits,
};

fn cancelled(by: Canceller, reason: &str, world: &World) -> Finished {
    let cancelled = Some(Cancellation { by, reason: reason.into() });
    Finished { cancelled, ..Finished::new(Outcome::Cancelled, world.now) }
}

#[test]
fn its_worker_may_end_it() {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    world.pass(Span::seconds(2));
    let done = world.home(&make::cancel(60, fence));
    assert_eq!(done.result, Ok(Reply::Report(Reported::ENDED)));
    assert_eq!(done.window, Window::default());
    let what = What::Cancelled {
        cancelled_by: Canceller::Owner,
        reason: "not needed".into(),
        attempt: Some(1),
        paused: false,
    };
    assert_eq!((done.events.len(), &done.events[0].what), (1, &what));
    assert_eq!((what.outcome(), what.lease()), (Some(Outcome::Cancelled), Some(LeaseEvent::Released)));
    assert_eq!(*world.finished(id(1)), cancelled(Canceller::Owner, "not needed", &world));
    let last = world.last(id(1));
    assert_eq!((&last.end, last.ended_by, last.ran), (&AttemptEnd::Cancelled, Some(CommandId(60)), Span::seconds(2)));
    assert_eq!(world.execution(id(1)).result, None);
}

/// A world with execution 1 unfinished in some way, the attempt that its end will end, and whether that is paused.
fn unfinished(how: &str) -> (World, Option<u32>, bool) {
    let mut world = World::new(1);
    let when = if how == "delayed" { When::After(Span::hours(1)) } else { When::Now };
    world.submit(with!(submit(1), when, policy: make::retry(3, Span::seconds(5))));
    if matches!(how, "ready" | "delayed") {
        return (world, None, false);
    }
    let fence = world.claim(id(1), 10).fence;
    match how {
        "returned" => drop(world.accept(&make::unclaim(50, fence))),
        "retrying" => drop(world.accept(&make::fail(50, fence))),
        "lost" => drop(world.when_due(id(1))),
        "paused" => drop(world.accept(&make::delay(50, fence, When::After(Span::seconds(5))))),
        "paused and ready" => drop(world.accept(&make::delay(50, fence, When::Now))),
        "asked to stop" => drop(world.operate(50, id(1), make::ask(Span::seconds(5)))),
        "lapsed" => world.pass(TTL),
        _ => {}
    }
    match how {
        "returned" | "retrying" | "lost" => (world, None, false),
        paused => (world, Some(1), paused.starts_with("paused")),
    }
}

#[test]
fn an_operator_may_end_it_wherever_it_stands() {
    for how in [
        "ready",
        "delayed",
        "returned",
        "retrying",
        "lost",
        "paused",
        "paused and ready",
        "running",
        "asked to stop",
        // W18: what lost its worker can be ended by an operator too, before anybody looked at the lease.
        "lapsed",
    ] {
        let (mut world, attempt, paused) = unfinished(how);
        let epoch = world.execution(id(1)).epoch;
        let done = world.home(&make::operate(60, id(1), make::end()));
        assert_eq!(done.result, Ok(Reply::Operate(ActOutcome::Cancelled)), "{how}");
        assert_eq!(done.window, Window::default(), "{how}: time has no part in it");
        let what = What::Cancelled { cancelled_by: Canceller::Operator, reason: "unwanted".into(), attempt, paused };
        assert_eq!((done.events.len(), &done.events[0].what), (1, &what), "{how}");
        let released = attempt.is_some() && !paused;
        assert_eq!(what.lease(), released.then_some(LeaseEvent::Released), "{how}");
        assert_eq!(*world.finished(id(1)), cancelled(Canceller::Operator, "unwanted", &world), "{how}");
        // W6: no attempt outlives its execution, not even a paused one.
        if let Some(number) = attempt {
            let last = world.last(id(1));
            assert_eq!((last.number, &last.end, last.ended_by), (number, &AttemptEnd::Cancelled, None), "{how}");
        }
        let execution = world.execution(id(1));
        assert_eq!(execution.epoch, epoch, "{how}");
        assert_eq!(execution.due(), Some(world.now + limits::RETENTION_DEFAULT), "{how}: only its retention is left");
    }
}

#[test]
fn its_worker_learns_it_from_its_next_call() {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    world.operate(60, id(1), make::end());
    let refused = Rejection::NotActive { execution: id(1), state: PublicState::Cancelled };
    for call in [make::renew(fence, TTL), make::complete(61, fence), make::cancel(62, fence)] {
        assert_eq!(world.refuse(&call), refused);
    }
    assert_eq!(refused.to_string(), format!("execution {} is cancelled, not active", id(1)));
}

#[test]
fn what_has_ended_is_not_ended_again() {
    let policy = Policy { attempt_timeout: Some(Span::seconds(1)), ..make::retry(0, Span(0)) };
    for state in [PublicState::Completed, PublicState::Failed, PublicState::Cancelled, PublicState::Expired] {
        let mut world = World::new(1);
        let fence = world.running(with!(submit(1), policy: policy.clone()), 10);
        match state {
            PublicState::Completed => drop(world.accept(&make::complete(50, fence))),
            PublicState::Failed => drop(world.accept(&make::fail_as(50, fence, Category::permanent()))),
            PublicState::Cancelled => drop(world.accept(&make::cancel(50, fence))),
            _ => drop(world.when_due(id(1))),
        }
        assert_eq!(world.execution(id(1)).public_state(), state);
        for act in [make::end(), make::ask(Span::seconds(1))] {
            let refused = world.refuse(&make::operate(60, id(1), act));
            assert_eq!(refused, Rejection::Finished { execution: id(1), state });
        }
        assert_eq!(world.refuse(&make::cancel(61, fence)), Rejection::NotActive { execution: id(1), state });
    }
}

#[test]
fn an_end_leaves_nothing_for_the_clock() {
    let (mut world, ..) = unfinished("running");
    world.operate(60, id(1), make::end());
    let kept_until = world.now + limits::RETENTION_DEFAULT;
    world.pass(Span::hours(2));
    let done = world.home(&due(id(1)));
    assert_eq!(done.result, Ok(Reply::Due(Looked { acted: false, next: Some(kept_until) })));
    assert!(done.step.writes.is_empty());
}

#[test]
fn reasons_are_cut_however_long_they_are() {
    assert_eq!(Reason::new(&"x".repeat(5_000)).as_str().len(), limits::REASON_BYTES_MAX);
    let text = format!("\"{}\"", "é".repeat(5_000));
    let stored: Reason = serde_json::from_str(&text).unwrap();
    assert_eq!(stored.as_str().len(), limits::REASON_BYTES_MAX, "also when they come from elsewhere");
    assert!(Reason::default().is_empty() && Reason::new("").is_empty());
    assert_eq!((Reason::from("a").to_string(), format!("{:?}", Reason::from("a"))), ("a".into(), "\"a\"".into()));
}

#[test]
fn an_id_of_another_namespace_does_not_exist() {
    let (mut world, ..) = unfinished("running");
    let operate = crate::Operate {
        command: CommandId(60),
        namespace: "other".parse().unwrap(),
        execution: id(1),
        by: None,
        act: make::end(),
    };
    let refused = world.refuse(&crate::Command::Operate(operate));
    assert_eq!(refused, Rejection::ExecutionNotFound(id(1)));
    assert_eq!(world.active(id(1)).lease.id, LeaseId(10));
}
