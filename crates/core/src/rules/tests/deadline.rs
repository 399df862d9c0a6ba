//! The time after which nobody cares any more: the end, wherever an execution stands.

use crate::record::{AttemptEnd, ExpiredBy, Finished, Outcome};
use crate::rules::world::World;
use crate::rules::world::make::{self, TTL, claim, due, id, submit, with};
use crate::{
    Act, Category, Command, Failure, LeaseEvent, Looked, Millis, Policy, Rejection, Reply, Reported, Span, Submit,
    What, When, Window, act, limits,
};

const DEADLINE: Span = Span::minutes(1);

fn work() -> Submit {
    with!(submit(1), deadline: Some(When::After(DEADLINE)), policy: make::retry(3, Span::minutes(5)))
}

/// A world with execution 1 before its deadline, the attempt that the deadline will end, and whether that is paused.
fn before(how: &str) -> (World, Option<u32>, bool) {
    let mut world = World::new(1);
    let when = if how == "delayed" { When::After(Span::hours(1)) } else { When::Now };
    world.submit(with!(work(), when));
    if matches!(how, "ready" | "delayed") {
        return (world, None, false);
    }
    if how == "put off" {
        world.operate(50, id(1), Act::Reschedule(act::Reschedule::from(When::After(Span::hours(1)))));
        return (world, None, false);
    }
    let fence = world.claim(id(1), 10).fence;
    world.pass(Span::seconds(20));
    match how {
        "retrying" => drop(world.accept(&make::fail(50, fence))),
        "paused" => drop(world.accept(&make::delay(50, fence, When::After(Span::hours(1))))),
        "paused and ready" => drop(world.accept(&make::delay(50, fence, When::Now))),
        "asked to stop" => drop(world.operate(50, id(1), make::ask(Span::hours(1)))),
        _ => {}
    }
    if matches!(how, "running" | "asked to stop") {
        world.accept(&make::renew(fence, Span::hours(1)));
        return (world, Some(1), false);
    }
    (world, (how != "retrying").then_some(1), how != "retrying")
}

#[test]
fn it_ends_an_execution_wherever_it_stands() {
    for how in ["ready", "delayed", "put off", "retrying", "paused", "paused and ready", "running", "asked to stop"] {
        let (mut world, attempt, paused) = before(how);
        let deadline = make::after(DEADLINE);
        assert_eq!(world.execution(id(1)).due(), Some(deadline), "{how}");
        world.now = deadline - Span(1);
        assert_eq!(world.accept(&due(id(1))), Reply::Due(Looked { acted: false, next: Some(deadline) }), "{how}");
        world.now = deadline + Span(3);
        let done = world.home(&due(id(1)));
        let kept_until = world.now + limits::RETENTION_DEFAULT;
        assert_eq!(done.result, Ok(Reply::Due(Looked { acted: true, next: Some(kept_until) })), "{how}");
        assert_eq!(done.window, Window { not_before: Some(deadline), not_after: None }, "{how}");
        let what = What::Expired { attempt, paused, expired_by: ExpiredBy::Deadline };
        assert_eq!((done.events.len(), &done.events[0].what), (1, &what), "{how}");
        assert_eq!(what.outcome(), Some(Outcome::Expired));
        assert_eq!(what.lease(), (attempt.is_some() && !paused).then_some(LeaseEvent::Released), "{how}");
        let failure = Some(Failure::new(Category::timeout(), "the deadline passed"));
        let expired_by = Some(ExpiredBy::Deadline);
        let finished = Finished { failure, expired_by, ..Finished::new(Outcome::Expired, world.now) };
        assert_eq!(*world.finished(id(1)), finished, "{how}: no retry");
        // W6: a paused attempt ends with its execution.
        if let Some(number) = attempt {
            assert_eq!((world.last(id(1)).number, &world.last(id(1)).end), (number, &AttemptEnd::Expired), "{how}");
        }
    }
}

#[test]
fn nothing_is_done_after_it_even_if_nobody_looked() {
    let (mut world, ..) = before("running");
    let fence = crate::Fence { execution: id(1), lease: crate::LeaseId(10), epoch: 1, attempt: 1 };
    let deadline = make::after(DEADLINE);
    world.now = deadline - Span(1);
    let done = world.clone().home(&make::complete(60, fence));
    assert_eq!((done.result, done.window.not_after), (Ok(Reply::Report(Reported::ENDED)), Some(deadline)));
    world.now = deadline;
    for call in [
        make::complete(60, fence),
        make::fail(60, fence),
        make::renew(fence, TTL),
        make::unclaim(60, fence),
        make::delay(60, fence, When::Now),
        make::progress(fence, Some(1), None),
        make::cancel(60, fence),
        Command::Claim(claim(id(1), 10)),
    ] {
        let done = world.home(&call);
        assert_eq!(done.result, Err(Rejection::DeadlinePassed { deadline }), "{}", call.name());
        assert_eq!(done.window, Window { not_before: Some(deadline), not_after: None }, "{}", call.name());
    }
}

#[test]
fn work_past_it_is_not_given_out() {
    for how in ["ready", "paused and ready"] {
        let (mut world, ..) = before(how);
        let deadline = make::after(DEADLINE);
        world.now = deadline - Span(1);
        let done = world.clone().home(&Command::Claim(claim(id(1), 20)));
        let Ok(Reply::Claim(claimed)) = done.result else { panic!("{how}: {:?}", done.result) };
        assert_eq!((claimed.deadline, done.window.not_after), (Some(deadline), Some(deadline)), "{how}");
        world.now = deadline;
        let done = world.home(&Command::Claim(claim(id(1), 20)));
        assert_eq!(done.result, Err(Rejection::DeadlinePassed { deadline }), "{how}");
        assert_eq!(done.window, Window { not_before: Some(deadline), not_after: None }, "{how}");
    }
}

#[test]
fn it_must_be_yet_to_come() {
    let start = make::after(Span(0));
    let past = |ago: u64| Some(Rejection::TimeInPast { field: "expires_at", ago: Span(ago) });
    for (deadline, refused, not_before) in [
        (When::After(Span(1)), None, None),
        (When::At(start + Span(1)), None, None),
        (When::After(limits::FUTURE_MAX), None, None),
        (When::Now, past(0), None),
        (When::After(Span(0)), past(0), None),
        (When::At(start), past(0), Some(start)),
        (When::At(start - Span(7)), past(7), Some(start - Span(7))),
        (When::At(Millis(0)), past(start.0), Some(Millis(limits::PAST_GRACE.0 + 1))),
    ] {
        let mut world = World::new(1);
        let done = world.home(&Command::Submit(with!(submit(1), deadline: Some(deadline))));
        assert_eq!(done.window.not_before, not_before, "{deadline:?}: a clock that runs ahead refuses nothing");
        assert_eq!(done.result.err(), refused, "{deadline:?}");
        assert_eq!(world.find(id(1)).is_some(), refused.is_none(), "{deadline:?}");
    }
    let mut world = World::new(1);
    let far = Some(When::After(Span(limits::FUTURE_MAX.0 + 1)));
    let refused = world.refuse(&Command::Submit(with!(submit(1), deadline: far)));
    assert!(matches!(refused, Rejection::InvalidArgument { field: "expires_at", .. }));
}

#[test]
fn it_survives_everything_but_the_end() {
    let mut world = World::new(1);
    let policy = Policy { max_reclaims: Some(10), ..make::retry(9, Span(0)) };
    world.submit(with!(submit(1), policy, deadline: Some(When::After(Span::hours(2)))));
    let deadline = make::after(Span::hours(2));
    world.lose(id(1), 10);
    let fence = world.claim(id(1), 11).fence;
    world.accept(&make::fail(50, fence));
    let fence = world.claim(id(1), 12).fence;
    world.accept(&make::delay(51, fence, When::Now));
    let fence = world.claim(id(1), 13).fence;
    world.accept(&make::unclaim(52, fence));
    world.operate(53, id(1), Act::Reschedule(act::Reschedule::from(When::Now)));
    assert_eq!(world.execution(id(1)).deadline, Some(deadline));
    let fence = world.claim(id(1), 14).fence;
    world.accept(&make::complete(54, fence));
    assert_eq!(world.execution(id(1)).due(), Some(world.now + limits::RETENTION_DEFAULT), "it is over");
}

#[test]
fn of_several_times_that_passed_the_first_comes_first() {
    // The lease ended before the deadline, so the work was lost first; looking again finds the deadline.
    let mut world = World::new(1);
    world.running(work(), 10);
    world.now = make::after(DEADLINE) + Span::minutes(1);
    let done = world.home(&due(id(1)));
    assert_eq!(done.result, Ok(Reply::Due(Looked { acted: true, next: Some(make::after(DEADLINE)) })));
    assert_eq!(done.events[0].what.name(), "lease_expired");
    let done = world.home(&due(id(1)));
    assert_eq!(done.events[0].what, What::Expired { attempt: None, paused: false, expired_by: ExpiredBy::Deadline });
    // At one and the same time the deadline decides.
    let mut world = World::new(1);
    world.running(with!(submit(1), deadline: Some(When::After(TTL))), 10);
    let done = world.when_due(id(1));
    assert_eq!(done.events[0].what.name(), "expired");
}
