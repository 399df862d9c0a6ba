//! Failures: which are tried again, when, and how often.

use crate::record::{AttemptEnd, AttemptKind, Finished, Next, Outcome, Readiness, Record, State, Waiting, WhyDelayed};
use crate::rules::world::World;
use crate::rules::world::make::{self, TTL, id, submit, with};
use crate::{
    Category, CommandId, Failure, Json, Key, Policy, Reply, Reported, RetryPolicy, Span, What, Window, end, limits,
};

fn policy(retry: RetryPolicy) -> Policy {
    Policy { retry: Some(retry), ..Policy::default() }
}

#[test]
fn a_failure_is_tried_again_after_its_pause_until_none_is_left() {
    let doubling = RetryPolicy { longest_pause: Span::seconds(3), ..RetryPolicy::fixed(3, Span::seconds(1)) };
    let mut world = World::new(1);
    world.submit(with!(submit(1), policy: policy(doubling)));
    for (retries, pause) in [(0_u32, 1_u64), (1, 2), (2, 3)] {
        let claimed = world.claim(id(1), 10 + u128::from(retries));
        let kind = if retries == 0 { AttemptKind::Initial } else { AttemptKind::Retry };
        assert_eq!((claimed.attempt_kind, claimed.retries, claimed.fence.attempt), (kind, retries, retries + 1));
        let until = world.now + Span::seconds(pause);
        let done = world.home(&make::fail(50 + u128::from(retries), claimed.fence));
        assert_eq!(done.result, Ok(Reply::Report(Reported::again(until))));
        let category = Category::transient();
        let what = What::AttemptFailed { attempt: retries + 1, category, retry_at: Some(until), held: false };
        assert_eq!(done.events[0].what, what);
        let execution = world.execution(id(1));
        let readiness = Readiness::Delayed { until, why: WhyDelayed::Retry };
        assert_eq!(execution.state, State::Waiting(Waiting { readiness, next: Next::Retry }));
        assert_eq!(execution.retries, retries + 1);
        let done = world.when_due(id(1));
        assert_eq!(done.window, Window { not_before: Some(until), not_after: None });
        assert_eq!(done.events[0].what, What::Ready);
    }
    let fence = world.claim(id(1), 20).fence;
    let done = world.home(&make::fail(60, fence));
    assert_eq!(done.result, Ok(Reply::Report(Reported::ENDED)));
    let what = What::AttemptFailed { attempt: 4, category: Category::transient(), retry_at: None, held: false };
    assert_eq!(done.events[0].what, what);
    let execution = world.execution(id(1));
    let failure = Some(Failure::new(Category::transient(), "it broke"));
    let finished = Finished { failure, ..Finished::new(Outcome::Failed, world.now) };
    assert_eq!((&execution.state, execution.retries), (&State::Finished(finished), 3));
}

#[test]
fn every_ended_attempt_is_kept() {
    let mut world = World::new(1);
    world.submit(with!(submit(1), policy: make::retry(5, Span(0))));
    for n in 1..=4_u128 {
        let fence = world.claim(id(1), 10 + n).fence;
        world.accept(&make::fail(50 + n, fence));
    }
    for n in 1..=3_u32 {
        let Some(Record::Attempt(attempt)) = world.record(&Key::Attempt(id(1), n)) else { panic!("no attempt {n}") };
        assert_eq!((attempt.number, attempt.ended_by), (n, Some(CommandId(50 + u128::from(n)))));
        assert!(matches!(&attempt.end, AttemptEnd::Failed { retry_at: Some(at), .. } if *at == world.now));
    }
    assert!(world.record(&Key::Attempt(id(1), 4)).is_none(), "the newest is part of the execution");
    assert_eq!(world.execution(id(1)).last.as_ref().unwrap().number, 4);
}

#[test]
fn the_category_decides_whether_there_is_another_attempt() {
    let all = &[][..];
    let some = &["rate_limit", "transient"][..];
    for (listed, category, again) in [
        (all, "transient", true),
        (all, "panic", true),
        (all, "my_own", true),
        (all, "permanent", false),
        (all, "cancelled", false),
        (some, "rate_limit", true),
        (some, "transient", true),
        (some, "panic", false),
        (&["permanent"], "permanent", false),
    ] {
        let mut world = World::new(1);
        let categories = listed.iter().map(|text| Category::new(text).unwrap()).collect();
        let retry = RetryPolicy { categories, ..RetryPolicy::fixed(3, Span(9)) };
        let fence = world.running(with!(submit(1), policy: policy(retry)), 10);
        let reply = world.accept(&make::fail_as(50, fence, Category::new(category).unwrap()));
        let after = if again { Reported::again(world.now + Span(9)) } else { Reported::ENDED };
        assert_eq!(reply, Reply::Report(after), "{category} with {listed:?}");
    }
}

#[test]
fn a_pause_of_nothing_makes_the_work_ready_in_the_same_step() {
    let mut world = World::new(1);
    let fence = world.running(with!(submit(1), policy: make::retry(1, Span(0))), 10);
    world.pass(Span(40));
    let reply = world.accept(&make::fail(50, fence));
    assert_eq!(reply, Reply::Report(Reported::again(world.now)));
    let since = world.now;
    let waiting = Waiting { readiness: Readiness::Ready { since }, next: Next::Retry };
    assert_eq!(world.execution(id(1)).state, State::Waiting(waiting));
}

#[test]
fn jitter_comes_from_the_lease_and_takes_at_most_half_of_the_pause() {
    let drawn = RetryPolicy { jitter: true, ..RetryPolicy::fixed(1, Span::seconds(10)) };
    let pause = |lease: u128| {
        let mut world = World::new(1);
        let fence = world.running(with!(submit(1), policy: policy(drawn.clone())), lease);
        let reply = world.accept(&make::fail(50, fence));
        let Reply::Report(Reported { again_at: Some(at), .. }) = reply else { panic!("{reply:?}") };
        at - world.now
    };
    let pauses: std::collections::BTreeSet<Span> = (0..50).map(pause).collect();
    assert!(pauses.len() > 40 && pauses.iter().all(|span| (Span::seconds(5)..=Span::seconds(10)).contains(span)));
    assert_eq!(pause(3), pause(3), "equal leases give equal pauses");
}

/// They are read back as they were given, once, with the attempt.
#[test]
fn details_stay_with_the_attempt_that_failed() {
    let details = |text: &str| Some(serde_json::from_str::<Json>(text).unwrap());
    let failed = |details| Failure { details, ..Failure::new(Category::permanent(), "no") };
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    let deep = "[".repeat(limits::JSON_DEPTH_MAX + 1) + &"]".repeat(limits::JSON_DEPTH_MAX + 1);
    for (text, code) in [(format!("\"{}\"", "x".repeat(16 * 1024)), "payload_too_large"), (deep, "payload_too_deep")] {
        assert_eq!(world.refuse(&make::report(50, fence, end::Fail { failure: failed(details(&text)) })).code(), code);
    }
    world.accept(&make::report(50, fence, end::Fail { failure: failed(details(r#"{ "n": 1.50 }"#)) }));
    assert_eq!(world.last(id(1)).details, details(r#"{ "n": 1.50 }"#));
    assert_eq!(world.finished(id(1)).failure, Some(failed(None)));
    assert_eq!(world.execution(id(1)).failure(), Some(failed(details(r#"{ "n": 1.50 }"#))));
}

/// A deploy, a night's outage: what nobody chose a policy for is still tried when it is over.
#[test]
fn the_default_policy_lasts_about_nine_hours() {
    let usual = RetryPolicy { jitter: false, ..RetryPolicy::default() };
    let all: u64 = (0..usual.max_retries).map(|retry| usual.pause(retry, 0).0).sum();
    assert!((Span::hours(9)..Span::hours(10)).contains(&Span(all)), "{}", Span(all));
    assert!(RetryPolicy::default().jitter, "many failures of one moment are not retried at once");
}

#[test]
fn lost_leases_and_returned_ones_use_up_no_retry() {
    let mut world = World::new(1);
    world.submit(with!(submit(1), policy: make::retry(1, Span(0))));
    world.lose(id(1), 10);
    let fence = world.claim(id(1), 11).fence;
    world.accept(&make::unclaim(50, fence));
    let fence = world.claim(id(1), 12).fence;
    assert_eq!(world.accept(&make::fail(51, fence)), Reply::Report(Reported::again(world.now)));
    let claimed = world.claim(id(1), 13);
    assert_eq!((claimed.attempt_kind, claimed.fence.attempt, claimed.retries), (AttemptKind::Retry, 4, 1));
    assert_eq!(world.accept(&make::fail(52, claimed.fence)), Reply::Report(Reported::ENDED));
}

#[test]
fn a_message_is_cut_however_it_was_made() {
    let mut world = World::new(1);
    let fence = world.running(with!(submit(1), policy: make::retry(0, Span(0))), 10);
    let failure = Failure { message: "x".repeat(5_000).into(), ..Failure::new(Category::transient(), "") };
    world.accept(&make::report(50, fence, end::Fail { failure }));
    let State::Finished(finished) = &world.execution(id(1)).state else { panic!("it has failed") };
    let kept = finished.failure.as_ref().unwrap().message.len();
    assert_eq!(kept, limits::FAILURE_MESSAGE_BYTES_MAX);
}

#[test]
fn a_failure_ends_the_row_of_lost_leases() {
    let mut world = World::new(1);
    world.submit(with!(submit(1), policy: make::retry(9, Span(0))));
    world.lose(id(1), 10);
    world.lose(id(1), 11);
    assert_eq!(world.execution(id(1)).reclaims_in_a_row, 2);
    let fence = world.claim(id(1), 12).fence;
    world.accept(&make::fail(50, fence));
    assert_eq!((world.execution(id(1)).reclaims_in_a_row, world.execution(id(1)).reclaims), (0, 2));
    world.lose(id(1), 13);
    assert!(world.execution(id(1)).due().is_none(), "ready at once: the row began anew");
    assert_eq!(world.claim(id(1), 14).expires_at, world.now + TTL);
}
