//! How long one attempt may run, however often it renews its lease.

use crate::record::{AttemptEnd, AttemptKind, ExpiredBy, Finished, Next, Outcome, Readiness, WhyDelayed};
use crate::rules::world::World;
use crate::rules::world::make::{self, TTL, claim, due, id, submit, with};
use crate::{
    Category, Command, Failure, Fence, LeaseEvent, Looked, Policy, Rejection, Reply, RetryPolicy, Span, Submit, What,
    When, Window, limits,
};

const TIMEOUT: Span = Span::seconds(20);

fn policy(max_retries: u32) -> Policy {
    Policy { attempt_timeout: Some(TIMEOUT), ..make::retry(max_retries, Span::seconds(5)) }
}

fn work(max_retries: u32) -> Submit {
    with!(submit(1), policy: policy(max_retries))
}

fn failure() -> Failure {
    Failure::new(Category::timeout(), "the attempt ran for too long")
}

#[test]
fn renewing_does_not_help_and_the_policy_decides_what_follows() {
    let mut world = World::new(1);
    world.submit(work(1));
    let claimed = world.claim(id(1), 10);
    let over = world.now + TIMEOUT;
    assert_eq!(claimed.times_out_at, Some(over));
    world.pass(Span::seconds(15));
    world.accept(&make::renew(claimed.fence, TTL));
    assert_eq!(world.execution(id(1)).due(), Some(over), "before the end of its lease");
    world.now = over - Span(1);
    assert_eq!(world.accept(&due(id(1))), Reply::Due(Looked { acted: false, next: Some(over) }));
    world.now = over + Span(100);
    let done = world.home(&due(id(1)));
    let retry_at = world.now + Span::seconds(5);
    assert_eq!(done.result, Ok(Reply::Due(Looked { acted: true, next: Some(retry_at) })));
    assert_eq!(done.window, Window { not_before: Some(over), not_after: None });
    let what = What::TimedOut { attempt: 1, retry_at: Some(retry_at), expired_by: None, held: false };
    assert_eq!((done.events.len(), &done.events[0].what), (1, &what), "one event that is also the lease's");
    assert_eq!((what.outcome(), what.lease()), (None, Some(LeaseEvent::Released)));
    let waiting = world.waiting(id(1));
    assert_eq!(waiting.readiness, Readiness::Delayed { until: retry_at, why: WhyDelayed::Retry });
    assert_eq!(waiting.next, Next::Retry);
    assert_eq!(world.last(id(1)).end, AttemptEnd::Failed { failure: failure(), retry_at: Some(retry_at), held: false });
    assert_eq!((world.last(id(1)).ended_by, world.execution(id(1)).retries), (None, 1));

    // No retry is left: expired, told once.
    world.when_due(id(1));
    let claimed = world.claim(id(1), 11);
    // W3: every attempt has its own time.
    assert_eq!(claimed.times_out_at, Some(world.now + TIMEOUT));
    let done = world.when_due(id(1));
    let what = What::TimedOut { attempt: 2, retry_at: None, expired_by: Some(ExpiredBy::AttemptTimeout), held: false };
    assert_eq!((done.events.len(), &done.events[0].what), (1, &what));
    assert_eq!(what.outcome(), Some(Outcome::Expired));
    let expired_by = Some(ExpiredBy::AttemptTimeout);
    let finished = Finished { failure: Some(failure()), expired_by, ..Finished::new(Outcome::Expired, world.now) };
    assert_eq!(*world.finished(id(1)), finished);
    assert_eq!(world.last(id(1)).end, AttemptEnd::Failed { failure: failure(), retry_at: None, held: false });
}

#[test]
fn nothing_is_done_after_it_even_if_nobody_looked() {
    let mut world = World::new(1);
    let fence = world.running(work(1), 10);
    let over = world.now + TIMEOUT;
    world.now = over - Span(1);
    assert_eq!(world.clone().home(&make::complete(60, fence)).window.not_after, Some(over));
    world.now = over;
    for call in [make::complete(60, fence), make::renew(fence, TTL), Command::Claim(claim(id(1), 10))] {
        let done = world.home(&call);
        assert_eq!(done.result, Err(Rejection::AttemptTimedOut { timed_out_at: over }), "{}", call.name());
        assert_eq!(done.window, Window { not_before: Some(over), not_after: None }, "{}", call.name());
    }
}

#[test]
fn the_worker_that_was_too_slow_is_fenced() {
    let mut world = World::new(1);
    let fence = world.running(work(3), 10);
    world.when_due(id(1));
    world.when_due(id(1));
    let next = world.claim(id(1), 11).fence;
    assert_eq!((next.epoch, next.attempt), (2, 2));
    assert_eq!(world.refuse(&make::complete(60, fence)), Rejection::StaleLease { current: 2, given: 1 });
}

#[test]
fn every_kind_of_attempt_has_its_own_time() {
    // W3, and W24: what an older attempt left behind does not end the current one.
    let mut world = World::new(1);
    world.submit(work(9));
    let end = |world: &mut World, fence: Fence, kind: AttemptKind| match kind {
        AttemptKind::Initial => drop(world.accept(&make::fail(50, fence))),
        AttemptKind::Retry => drop(world.operate(51, id(1), make::revoke())),
        AttemptKind::Reclaim => {
            world.accept(&make::complete(52, fence));
            world.operate(53, id(1), make::replay());
        }
        AttemptKind::Replay => {}
    };
    let kinds = [AttemptKind::Initial, AttemptKind::Retry, AttemptKind::Reclaim, AttemptKind::Replay];
    for (lease, kind) in (10..).zip(kinds) {
        let claimed = world.claim(id(1), lease);
        assert_eq!((claimed.attempt_kind, claimed.times_out_at), (kind, Some(world.now + TIMEOUT)));
        world.pass(Span::seconds(15));
        end(&mut world, claimed.fence, kind);
        if world.execution(id(1)).due().is_some() && kind != AttemptKind::Replay {
            world.when_due(id(1));
        }
    }
    let over = world.execution(id(1)).times_out_at(world.active(id(1)));
    assert_eq!(over, Some(world.now + Span::seconds(5)));
}

#[test]
fn paused_time_does_not_count() {
    let mut world = World::new(1);
    let fence = world.running(work(0), 10);
    world.pass(Span::seconds(8));
    world.accept(&make::delay(50, fence, When::After(Span::hours(1))));
    assert_eq!(world.execution(id(1)).due(), Some(world.now + Span::hours(1)), "only its pause is timed");
    world.when_due(id(1));
    world.pass(Span::hours(1));
    let claimed = world.claim(id(1), 11);
    assert_eq!(claimed.times_out_at, Some(world.now + Span::seconds(12)), "what is left of its time");
    world.pass(Span::seconds(5));
    world.accept(&make::unclaim(51, claimed.fence));
    world.pass(Span::hours(1));
    let claimed = world.claim(id(1), 12);
    assert_eq!(claimed.times_out_at, Some(world.now + Span::seconds(7)));
    world.when_due(id(1));
    assert_eq!((world.finished(id(1)).outcome, world.last(id(1)).ran), (Outcome::Expired, TIMEOUT));
}

#[test]
fn an_attempt_may_use_its_time_to_the_last_moment_and_still_be_resumed() {
    let mut world = World::new(1);
    let fence = world.running(work(0), 10);
    world.now = world.now + TIMEOUT - Span(1);
    world.accept(&make::delay(50, fence, When::Now));
    let done = world.home(&Command::Claim(claim(id(1), 11)));
    let Ok(Reply::Claim(claimed)) = done.result else { panic!("{:?}", done.result) };
    assert_eq!(claimed.times_out_at, Some(world.now + Span(1)));
    let bound = Some(world.now + TTL);
    assert_eq!(done.window.not_after, bound, "a claim that takes longer than what is left still succeeds");
}

#[test]
fn categories_decide_about_a_timeout_too() {
    for (categories, again) in [(&[][..], true), (&["timeout"], true), (&["panic"], false)] {
        let categories = categories.iter().map(|text| Category::new(text).unwrap()).collect();
        let retry = RetryPolicy { jitter: true, categories, ..RetryPolicy::fixed(3, Span::seconds(10)) };
        let retry = Some(retry);
        let mut world = World::new(1);
        world.running(with!(submit(1), policy: Policy { retry, ..policy(0) }), 10);
        let done = world.when_due(id(1));
        let What::TimedOut { retry_at, .. } = done.events[0].what else { panic!("{done:?}") };
        assert_eq!(retry_at.is_some(), again);
        assert!(retry_at.is_none_or(|at| at <= world.now + Span::seconds(10)), "its pause is drawn from what it is");
    }
}

#[test]
fn a_crowd_that_times_out_together_does_not_come_back_together() {
    let retry = Some(RetryPolicy { jitter: true, ..RetryPolicy::fixed(3, Span::seconds(10)) });
    let mut world = World::new(1);
    let mut pauses = std::collections::BTreeSet::new();
    for n in 1..=50 {
        world.running(with!(submit(n), policy: Policy { retry: retry.clone(), ..policy(0) }), n);
    }
    world.pass(TIMEOUT);
    for n in 1..=50 {
        world.accept(&due(id(n)));
        pauses.insert(world.execution(id(n)).due());
    }
    assert!(pauses.len() > 40, "{}", pauses.len());
}

#[test]
fn a_dead_worker_is_lost_and_not_too_slow() {
    // The lease answers whether a worker is alive, the timeout whether it is too slow: the first to pass decides.
    for (ttl, name) in [(Span::seconds(10), "lease_expired"), (TIMEOUT, "lease_expired"), (TTL, "timed_out")] {
        let mut world = World::new(1);
        world.submit(work(1));
        world.accept(&Command::Claim(crate::Claim { ttl, ..claim(id(1), 10) }));
        let done = world.when_due(id(1));
        assert_eq!(done.events[0].what.name(), name, "a lease of {ttl}");
    }
}

#[test]
fn a_timeout_ends_the_row_of_lost_leases() {
    let mut world = World::new(1);
    world.submit(with!(submit(1), policy: Policy { attempt_timeout: Some(Span::minutes(2)), ..policy(9) }));
    world.lose(id(1), 8);
    world.lose(id(1), 9);
    let fence = world.claim(id(1), 10).fence;
    world.accept(&make::renew(fence, Span::hours(1)));
    let done = world.when_due(id(1));
    assert_eq!(done.events[0].what.name(), "timed_out");
    assert_eq!((world.execution(id(1)).reclaims_in_a_row, world.execution(id(1)).reclaims), (0, 2));
}

#[test]
fn what_changed_meanwhile_is_left_alone() {
    // W2: a due time is a hint; the record itself says what is due, and for which attempt.
    let mut world = World::new(1);
    let fence = world.running(work(3), 10);
    let over = world.now + TIMEOUT;
    world.pass(Span::seconds(15));
    world.accept(&make::fail(50, fence));
    world.when_due(id(1));
    world.claim(id(1), 11);
    world.now = world.now.max(over);
    let next = world.now + TIMEOUT;
    assert_eq!(world.accept(&due(id(1))), Reply::Due(Looked { acted: false, next: Some(next) }));
    world.when_due(id(1));
    assert_eq!(world.last(id(1)).number, 2, "the attempt that was too slow is the one that ends");
}

#[test]
fn it_has_a_shortest_and_a_longest_length() {
    for (timeout, fits) in [
        (Span(limits::ATTEMPT_TIMEOUT_MIN.0 - 1), false),
        (limits::ATTEMPT_TIMEOUT_MIN, true),
        (limits::ATTEMPT_TIMEOUT_MAX, true),
        (Span(limits::ATTEMPT_TIMEOUT_MAX.0 + 1), false),
    ] {
        let mut world = World::new(1);
        let policy = Policy { attempt_timeout: Some(timeout), ..Policy::default() };
        let done = world.home(&Command::Submit(with!(submit(1), policy)));
        assert_eq!(done.result.is_ok(), fits, "{timeout}");
    }
    let mut world = World::new(1);
    world.submit(submit(1));
    assert_eq!(world.claim(id(1), 10).times_out_at, None, "without one an attempt may run for ever");
}
