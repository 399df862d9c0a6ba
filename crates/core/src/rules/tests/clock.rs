//! Clocks that disagree: what time decides is decided by the clock at hand and checked by the store's.

use crate::rules::world::World;
use crate::rules::world::make::{self, TTL, claim, due, id, submit, tag, with};
use crate::{Act, Command, Looked, Policy, Reply, Reported, Span, Submit, When, act, limits};

/// Execution 1 runs, and an operator whose clock runs an hour ahead has labelled it.
fn touched_by_a_fast_clock(work: Submit) -> (World, crate::Fence) {
    let mut world = World::new(1);
    let fence = world.running(work, 10);
    let start = world.now;
    world.pass(Span::hours(1));
    world.operate(50, id(1), tag(&[("a", "b")], &[]));
    world.now = start + Span::seconds(1);
    (world, fence)
}

#[test]
fn a_clock_that_ran_ahead_once_ends_no_live_lease() {
    let policy = Policy { attempt_timeout: Some(Span::minutes(5)), ..make::retry(3, Span(0)) };
    let deadline = Some(When::After(Span::minutes(10)));
    let (mut world, fence) = touched_by_a_fast_clock(with!(submit(1), policy, deadline));
    let stamped = world.execution(id(1)).changed_at;
    for call in [
        make::renew(fence, TTL),
        make::progress(fence, Some(1), None),
        make::complete(60, fence),
        make::fail(60, fence),
        make::unclaim(60, fence),
        make::delay(60, fence, When::Now),
        make::cancel(60, fence),
        Command::Claim(claim(id(1), 10)),
    ] {
        let mut world = world.clone();
        let done = world.home(&call);
        assert!(done.result.is_ok(), "{}: {:?}", call.name(), done.result);
        assert!(world.execution(id(1)).changed_at >= stamped, "{}: the record's time never goes back", call.name());
    }
    let next = Some(world.now + TTL - Span::seconds(1));
    assert_eq!(world.accept(&due(id(1))), Reply::Due(Looked { acted: false, next }));
}

#[test]
fn a_lease_and_a_pause_are_measured_by_the_clock_at_hand() {
    let policy = Policy { attempt_timeout: Some(Span::minutes(5)), ..Policy::default() };
    let (mut world, fence) = touched_by_a_fast_clock(with!(submit(1), policy));
    world.accept(&make::renew(fence, TTL));
    assert_eq!(world.active(id(1)).lease.expires_at, world.now + TTL, "a lost worker is noticed in time");
    let reply = world.accept(&make::delay(60, fence, When::After(Span::seconds(5))));
    assert_eq!(reply, Reply::Report(Reported::again(world.now + Span::seconds(5))));
    world.when_due(id(1));
    let claimed = world.claim(id(1), 11);
    assert_eq!(claimed.expires_at, world.now + TTL);
    assert!(claimed.times_out_at > Some(world.now + Span::minutes(4)), "an hour that nobody ran does not count");
}

#[test]
fn an_operators_time_is_taken_as_it_is() {
    let mut world = World::new(1);
    world.submit(submit(1));
    let start = world.now;
    world.pass(Span::hours(1));
    world.operate(50, id(1), tag(&[("a", "b")], &[]));
    world.now = start;
    let later = start + Span::minutes(1);
    let done = world.home(&make::operate(51, id(1), Act::Reschedule(act::Reschedule::from(When::At(later)))));
    assert_eq!(done.window.not_before, None, "nobody has to wait for a time that is to come");
    assert_eq!(world.execution(id(1)).due(), Some(later));
    assert_eq!(world.accept(&due(id(1))), Reply::Due(Looked { acted: false, next: Some(later) }));
    world.when_due(id(1));
    world.claim(id(1), 10);
}

#[test]
fn an_end_under_a_fast_clock_is_kept_long_enough() {
    let (mut world, fence) = touched_by_a_fast_clock(submit(1));
    world.accept(&make::complete(60, fence));
    assert!(world.execution(id(1)).due() >= Some(world.now + limits::RETENTION_DEFAULT));
}

/// Execution 1 runs since a time that lies a year ahead: the clock was wrong and has been corrected.
fn begun_under_a_false_time(work: Submit) -> (World, crate::Fence) {
    let mut world = World::new(1);
    let start = world.now;
    world.pass(Span::days(365));
    let fence = world.running(work, 10);
    world.now = start;
    (world, fence)
}

#[test]
fn a_lost_worker_is_noticed_after_its_lease_although_the_time_was_set_back() {
    let (mut world, _) = begun_under_a_false_time(submit(1));
    let next = world.now + TTL;
    let done = world.home(&due(id(1)));
    assert_eq!(done.result, Ok(Reply::Due(Looked { acted: true, next: Some(next) })));
    assert!(done.events.is_empty(), "nothing happened to it that anybody is told");
    assert!(done.window.not_after <= Some(world.now + limits::CLOCK_SLACK), "only if the time is really this one");
    assert_eq!(world.active(id(1)).lease.expires_at, next);
    assert_eq!(world.accept(&due(id(1))), Reply::Due(Looked { acted: false, next: Some(next) }), "once is enough");
    world.when_due(id(1));
    assert_eq!(world.execution(id(1)).reclaims, 1);
    world.claim(id(1), 11);
}

#[test]
fn clocks_that_differ_a_little_shorten_nothing() {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    let until = world.active(id(1)).lease.expires_at;
    world.now = world.now - limits::CLOCK_SLACK;
    assert_eq!(world.accept(&due(id(1))), Reply::Due(Looked { acted: false, next: Some(until) }));
    world.accept(&make::renew(fence, TTL));
    assert_eq!(world.active(id(1)).lease.expires_at, until, "a renewal never takes time away");
}

#[test]
fn a_renewal_counts_from_the_corrected_time() {
    let (mut world, fence) = begun_under_a_false_time(submit(1));
    world.accept(&make::renew(fence, TTL));
    assert_eq!(world.active(id(1)).lease.expires_at, world.now + TTL);
    world.accept(&make::complete(60, fence));
}

#[test]
fn timeouts_grace_periods_retries_and_reclaims_are_not_frozen_by_a_false_time() {
    let policy = Policy { attempt_timeout: Some(Span::minutes(5)), ..make::retry(3, Span::seconds(5)) };
    let (mut world, _) = begun_under_a_false_time(with!(submit(1), policy: policy.clone()));
    world.accept(&due(id(1)));
    let active = world.active(id(1)).clone();
    assert_eq!(world.execution(id(1)).times_out_at(&active), Some(world.now + Span::minutes(5)));

    let (mut world, fence) = begun_under_a_false_time(with!(submit(1), policy));
    let reply = world.accept(&make::fail(60, fence));
    let Reply::Report(Reported { again_at: Some(again_at), .. }) = reply else { panic!("{reply:?}") };
    assert!(again_at <= world.now + Span::seconds(5), "the pause counts from now: {again_at}");
    world.when_due(id(1));
    world.claim(id(1), 11);

    let mut world = World::new(1);
    let start = world.now;
    world.pass(Span::days(365));
    world.running(submit(1), 10);
    world.operate(60, id(1), make::ask(Span::minutes(1)));
    world.now = start;
    world.accept(&due(id(1)));
    assert_eq!(world.active(id(1)).stop.as_ref().map(|stop| stop.until), Some(world.now + Span::minutes(1)));
}

#[test]
fn delays_and_deadlines_of_a_false_time_keep_their_date() {
    let mut world = World::new(1);
    let start = world.now;
    world.pass(Span::days(365));
    let (delayed, ends) = (world.now + Span::hours(1), world.now + Span::hours(2));
    let (when, deadline) = (When::After(Span::hours(1)), Some(When::After(Span::hours(2))));
    world.submit(with!(submit(1), when, deadline));
    world.now = start;
    assert_eq!(world.accept(&due(id(1))), Reply::Due(Looked { acted: false, next: Some(delayed) }));
    assert_eq!(world.execution(id(1)).deadline, Some(ends));
}
