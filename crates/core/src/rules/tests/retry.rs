//! Failures: which are tried again, when, and how often.

use crate::record::{AttemptEnd, AttemptKind, Finished, Next, Outcome, Readiness, Record, State, Waiting, WhyDelayed};
use crate::rules::world::World;
use crate::rules::world::make::{self, TTL, id, submit};
use crate::{
    AfterFailure, Backoff, Category, Command, CommandId, Fail, Failure, Key, Policy, Reply, RetryPolicy, Span, Submit,
    What, Window, limits,
};

fn policy(max_retries: u32, backoff: Backoff, categories: &[&str]) -> Policy {
    let categories = categories.iter().map(|text| Category::new(text).unwrap()).collect();
    Policy { retry: Some(RetryPolicy { max_retries, backoff, categories }), ..Policy::default() }
}

fn fixed(delay: Span) -> Backoff {
    Backoff::Fixed { delay, jitter: false }
}

#[test]
fn a_failure_is_tried_again_after_its_pause_until_none_is_left() {
    let backoff = Backoff::Exponential { initial: Span::seconds(1), max: Span::seconds(3), jitter: false };
    let mut world = World::new(1);
    world.submit(Submit { policy: policy(3, backoff, &[]), ..submit(1) });
    for (retries, pause) in [(0_u32, 1_u64), (1, 2), (2, 3)] {
        let claimed = world.claim(id(1), 10 + u128::from(retries));
        let kind = if retries == 0 { AttemptKind::Initial } else { AttemptKind::Retry };
        assert_eq!((claimed.attempt_kind, claimed.retries, claimed.fence.attempt), (kind, retries, retries));
        let until = world.now + Span::seconds(pause);
        let done = world.home(&make::fail(50 + u128::from(retries), claimed.fence));
        assert_eq!(done.result, Ok(Reply::Failed(AfterFailure::RetryAt(until))));
        let category = Category::transient();
        let what = What::AttemptFailed { attempt: retries, category, retry_at: Some(until) };
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
    assert_eq!(done.result, Ok(Reply::Failed(AfterFailure::Finished)));
    let what = What::AttemptFailed { attempt: 3, category: Category::transient(), retry_at: None };
    assert_eq!(done.events[0].what, what);
    let execution = world.execution(id(1));
    let failure = Some(Failure::new(Category::transient(), "it broke"));
    let finished = Finished { failure, ..Finished::new(Outcome::Failed, world.now) };
    assert_eq!((&execution.state, execution.retries), (&State::Finished(finished), 3));
}

#[test]
fn every_ended_attempt_is_kept() {
    let mut world = World::new(1);
    world.submit(Submit { policy: policy(5, fixed(Span(0)), &[]), ..submit(1) });
    for n in 0..4_u128 {
        let fence = world.claim(id(1), 10 + n).fence;
        world.accept(&make::fail(50 + n, fence));
    }
    for n in 0..3_u32 {
        let Some(Record::Attempt(attempt)) = world.record(&Key::Attempt(id(1), n)) else { panic!("no attempt {n}") };
        assert_eq!((attempt.index, attempt.ended_by), (n, Some(CommandId(50 + u128::from(n)))));
        assert!(matches!(&attempt.end, AttemptEnd::Failed { retry_at: Some(at), .. } if *at == world.now));
    }
    assert!(world.record(&Key::Attempt(id(1), 3)).is_none(), "the newest is part of the execution");
    assert_eq!(world.execution(id(1)).last.as_ref().unwrap().index, 3);
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
        let fence = world.running(Submit { policy: policy(3, fixed(Span(9)), listed), ..submit(1) }, 10);
        let reply = world.accept(&make::fail_as(50, fence, Category::new(category).unwrap()));
        let after = if again { AfterFailure::RetryAt(world.now + Span(9)) } else { AfterFailure::Finished };
        assert_eq!(reply, Reply::Failed(after), "{category} with {listed:?}");
    }
}

#[test]
fn a_pause_of_nothing_makes_the_work_ready_in_the_same_step() {
    let mut world = World::new(1);
    let fence = world.running(Submit { policy: policy(1, fixed(Span(0)), &[]), ..submit(1) }, 10);
    world.pass(Span(40));
    let reply = world.accept(&make::fail(50, fence));
    assert_eq!(reply, Reply::Failed(AfterFailure::RetryAt(world.now)));
    let since = world.now;
    let waiting = Waiting { readiness: Readiness::Ready { since }, next: Next::Retry };
    assert_eq!(world.execution(id(1)).state, State::Waiting(waiting));
}

#[test]
fn jitter_comes_from_the_command_and_stays_below_the_pause() {
    let backoff = Backoff::Fixed { delay: Span::seconds(10), jitter: true };
    let pause = |seed: u64| {
        let mut world = World::new(1);
        let fence = world.running(Submit { policy: policy(1, backoff, &[]), ..submit(1) }, 10);
        let failure = Failure::new(Category::transient(), "x");
        let reply = world.accept(&Command::Fail(Fail { command: CommandId(50), fence, failure, seed }));
        let Reply::Failed(AfterFailure::RetryAt(at)) = reply else { panic!("{reply:?}") };
        at - world.now
    };
    let pauses: std::collections::BTreeSet<Span> = (0..50).map(pause).collect();
    assert!(pauses.len() > 40 && pauses.iter().all(|&span| span <= Span::seconds(10)));
    assert_eq!(pause(3), pause(3), "equal seeds give equal pauses");
}

#[test]
fn lost_leases_and_returned_ones_use_up_no_retry() {
    let mut world = World::new(1);
    world.submit(Submit { policy: policy(1, fixed(Span(0)), &[]), ..submit(1) });
    world.lose(id(1), 10);
    let fence = world.claim(id(1), 11).fence;
    world.accept(&make::unclaim(50, fence));
    let fence = world.claim(id(1), 12).fence;
    assert_eq!(world.accept(&make::fail(51, fence)), Reply::Failed(AfterFailure::RetryAt(world.now)));
    let claimed = world.claim(id(1), 13);
    assert_eq!((claimed.attempt_kind, claimed.fence.attempt, claimed.retries), (AttemptKind::Retry, 3, 1));
    assert_eq!(world.accept(&make::fail(52, claimed.fence)), Reply::Failed(AfterFailure::Finished));
}

#[test]
fn a_message_is_cut_however_it_was_made() {
    let mut world = World::new(1);
    let fence = world.running(Submit { policy: policy(0, fixed(Span(0)), &[]), ..submit(1) }, 10);
    let failure = Failure { category: Category::transient(), message: "x".repeat(5_000).into() };
    world.accept(&Command::Fail(Fail { command: CommandId(50), fence, failure, seed: 0 }));
    let State::Finished(finished) = &world.execution(id(1)).state else { panic!("it has failed") };
    let kept = finished.failure.as_ref().unwrap().message.len();
    assert_eq!(kept, limits::FAILURE_MESSAGE_BYTES_MAX);
}

#[test]
fn a_failure_ends_the_row_of_lost_leases() {
    let mut world = World::new(1);
    world.submit(Submit { policy: policy(9, fixed(Span(0)), &[]), ..submit(1) });
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
