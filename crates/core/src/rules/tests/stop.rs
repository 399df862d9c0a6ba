//! Asking a running attempt to stop by itself: it has its time, and no other attempt follows.

use crate::record::{AttemptEnd, Cancellation, Canceller, Outcome, StopRequest};
use crate::rules::world::World;
use crate::rules::world::make::{self, TTL, due, id, submit, with};
use crate::{
    ActOutcome, Category, Command, Fence, Looked, Millis, Policy, Rejection, Renewed, Reply, Reported, Span, Submit,
    What, When, Window, limits,
};

const GRACE: Span = Span::seconds(10);

fn work() -> Submit {
    with!(submit(1), policy: make::retry(5, Span::seconds(5)))
}

fn request(until: Millis) -> StopRequest {
    let cancellation = Cancellation { by: Canceller::Operator, reason: "unwanted".into() };
    StopRequest { cancellation, until, grace: GRACE }
}

#[test]
fn it_is_told_with_every_sign_of_life_and_cancelled_when_its_time_is_up() {
    let mut world = World::new(1);
    let fence = world.running(work(), 10);
    let until = world.now + GRACE;
    let done = world.home(&make::operate(60, id(1), make::ask(GRACE)));
    assert_eq!(done.result, Ok(Reply::Operate(ActOutcome::StopRequested { until })));
    let what = What::StopRequested { attempt: 1, until, reason: "unwanted".into() };
    assert_eq!((done.events.len(), &done.events[0].what), (1, &what));
    assert_eq!((what.outcome(), what.lease()), (None, None));
    assert_eq!(world.active(id(1)).stop, Some(request(until)));

    world.pass(Span::seconds(1));
    let expires_at = world.now + TTL;
    let told = Renewed { expires_at, stop: Some(request(until)) };
    assert_eq!(world.accept(&make::renew(fence, TTL)), Reply::Renew(told.clone()));
    assert_eq!(world.accept(&make::progress(fence, Some(1), None)), Reply::Progress(told));
    world.now = until - Span(1);
    assert_eq!(world.accept(&due(id(1))), Reply::Due(Looked { acted: false, next: Some(until) }));
    world.now = until + Span(5);
    let done = world.home(&due(id(1)));
    assert_eq!(done.window, Window { not_before: Some(until), not_after: None });
    let what = What::Cancelled {
        cancelled_by: Canceller::Operator,
        reason: "unwanted".into(),
        attempt: Some(1),
        paused: false,
    };
    assert_eq!(done.events[0].what, what);
    assert_eq!(world.finished(id(1)).cancelled, Some(request(until).cancellation));
    assert_eq!((&world.last(id(1)).end, world.last(id(1)).ended_by), (&AttemptEnd::Cancelled, None));
}

#[test]
fn who_asks_again_may_shorten_its_time_and_not_lengthen_it() {
    let mut world = World::new(1);
    world.running(work(), 10);
    let start = world.now;
    for (n, grace, until) in [(60, 10, 10), (61, 20, 10), (62, 5, 5), (63, 0, 0)] {
        let did = world.operate(n, id(1), make::ask(Span::seconds(grace)));
        assert_eq!(did, ActOutcome::StopRequested { until: start + Span::seconds(until) });
    }
    assert_eq!(world.operate(64, id(1), make::end()), ActOutcome::Cancelled, "or end it at once");
}

#[test]
fn the_time_is_bounded_and_what_nobody_runs_needs_none() {
    let mut world = World::new(1);
    world.submit(work());
    world.running(submit(2), 10);
    let longer = Span(limits::STOP_GRACE_MAX.0 + 1);
    for n in [1, 2] {
        let refused = world.refuse(&make::operate(60, id(n), make::ask(longer)));
        assert!(matches!(refused, Rejection::InvalidArgument { field: "grace", .. }), "{n}");
    }
    assert_eq!(world.operate(61, id(1), make::ask(limits::STOP_GRACE_MAX)), ActOutcome::Cancelled, "it only waits");
    let until = world.now + limits::STOP_GRACE_MAX;
    assert_eq!(world.operate(62, id(2), make::ask(limits::STOP_GRACE_MAX)), ActOutcome::StopRequested { until });
}

/// How an attempt that was asked to stop may end, what its end says, and what its worker is answered.
type Ending = (&'static str, fn(&mut World, Fence) -> Command, AttemptEnd, Option<Reply>);

fn endings() -> Vec<Ending> {
    let failed = |category: Category| {
        let failure = crate::Failure::new(category, "it broke");
        AttemptEnd::Failed { failure, retry_at: None, held: false }
    };
    let over = Some(Reply::Report(Reported::ENDED));
    let until = make::after(Span::seconds(1)) + Span::hours(1);
    vec![
        ("a failure", |_, fence| make::fail(70, fence), failed(Category::transient()), over.clone()),
        (
            "a failure for good",
            |_, fence| make::fail_as(70, fence, Category::permanent()),
            failed(Category::permanent()),
            over,
        ),
        ("a return", |_, fence| make::unclaim(70, fence), AttemptEnd::Returned, Some(Reply::Report(Reported::READY))),
        (
            "a delay",
            |_, fence| make::delay(70, fence, When::After(Span::hours(1))),
            AttemptEnd::Cancelled,
            Some(Reply::Report(Reported::again(until))),
        ),
        (
            "a lost lease",
            |world, _| {
                world.pass(TTL);
                due(id(1))
            },
            AttemptEnd::Interrupted,
            None,
        ),
        (
            "a revoked lease",
            |_, _| make::operate(70, id(1), make::revoke()),
            AttemptEnd::Revoked { reason: "stuck".into() },
            None,
        ),
    ]
}

#[test]
fn however_the_attempt_ends_no_other_follows() {
    for resumed in [false, true] {
        for (how, end, expected, reply) in endings() {
            let mut world = World::new(1);
            let mut fence = world.running(work(), 9);
            if resumed {
                world.accept(&make::delay(50, fence, When::Now));
                fence = world.claim(id(1), 10).fence;
            }
            world.operate(60, id(1), make::ask(Span::hours(2)));
            world.pass(Span::seconds(1));
            let command = end(&mut world, fence);
            let done = world.home(&command);
            let finished = world.finished(id(1));
            assert_eq!(finished.outcome, Outcome::Cancelled, "{how}, resumed: {resumed}");
            assert_eq!(finished.cancelled.as_ref().unwrap().by, Canceller::Operator, "{how}");
            assert_eq!(finished.failure, None, "{how}");
            assert_eq!(world.last(id(1)).end, expected, "{how}: the attempt says how it ended");
            assert_eq!((done.events.len(), done.events[0].what.name()), (1, "cancelled"), "{how}");
            let execution = world.execution(id(1));
            assert_eq!((execution.retries, execution.reclaims), (0, 0), "{how}: nothing followed it");
            if let Some(reply) = reply {
                assert_eq!(done.result, Ok(reply.clone()), "{how}");
                let again = world.home(&command);
                assert_eq!(again.result, Ok(reply), "{how}: the repeat");
                assert!(again.step.writes.is_empty(), "{how}: the repeat");
            }
        }
    }
}

#[test]
fn a_timeout_cancels_what_was_asked_to_stop() {
    let mut world = World::new(1);
    let policy = Policy { attempt_timeout: Some(Span::seconds(5)), ..work().new.policy };
    world.running(with!(submit(1), policy), 10);
    world.operate(60, id(1), make::ask(GRACE));
    world.when_due(id(1));
    assert_eq!(world.finished(id(1)).outcome, Outcome::Cancelled);
    let failed = |end: &AttemptEnd| matches!(end, AttemptEnd::Failed { failure, retry_at: None, held: false } if failure.category == Category::timeout());
    assert!(failed(&world.last(id(1)).end));
}

#[test]
fn what_ends_by_itself_in_time_ends_as_it_says() {
    let mut world = World::new(1);
    let done = world.running(work(), 10);
    let unwanted = world.running(submit(2), 11);
    let deadline = Some(When::After(Span::seconds(5)));
    world.running(with!(submit(3), deadline), 12);
    for n in [1, 2, 3] {
        world.operate(60, id(n), make::ask(GRACE));
    }
    world.accept(&make::complete(70, done));
    world.accept(&make::cancel(70, unwanted));
    world.when_due(id(3));
    assert_eq!(world.finished(id(1)).outcome, Outcome::Success);
    assert_eq!(world.finished(id(2)).cancelled.as_ref().unwrap().by, Canceller::Owner);
    assert_eq!(world.finished(id(3)).outcome, Outcome::Expired, "a deadline is a deadline");
}

#[test]
fn a_request_does_not_outlive_its_execution() {
    let mut world = World::new(1);
    let fence = world.running(work(), 10);
    world.operate(60, id(1), make::ask(GRACE));
    world.accept(&make::complete(70, fence));
    world.operate(61, id(1), make::replay());
    world.claim(id(1), 11);
    assert_eq!(world.active(id(1)).stop, None);
}
