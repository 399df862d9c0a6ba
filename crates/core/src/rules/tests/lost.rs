//! Workers that disappear: the lease runs out, the attempt is interrupted, the work is ready again.

use crate::record::{AttemptEnd, AttemptKind, Finished, Next, Outcome, Readiness, State, Waiting, WhyDelayed};
use crate::rules::world::World;
use crate::rules::world::make::{self, TTL, due, id, submit};
use crate::{Category, Failure, Looked, Millis, Reply, Span, What, Window, limits};

#[test]
fn a_lapsed_lease_makes_the_work_ready_again_in_one_step() {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    let expires_at = world.now + TTL;
    world.now = expires_at - Span(1);
    let early = world.home(&due(id(1)));
    assert_eq!(early.result, Ok(Reply::Due(Looked { acted: false, next: Some(expires_at) })));
    assert!(early.step.writes.is_empty());

    world.now = expires_at + Span(250);
    let done = world.home(&due(id(1)));
    assert_eq!(done.result, Ok(Reply::Due(Looked { acted: true, next: None })));
    assert_eq!(done.window, Window { not_before: Some(expires_at), not_after: None });
    assert_eq!(done.events[0].what, What::LeaseExpired { attempt: 1, again_at: Some(world.now), held: false });
    let execution = world.execution(id(1));
    let since = world.now;
    let waiting = Waiting { readiness: Readiness::Ready { since }, next: Next::Reclaim };
    assert_eq!(execution.state, State::Waiting(waiting));
    assert_eq!((execution.reclaims, execution.reclaims_in_a_row, execution.attempts), (1, 1, 1));
    let last = execution.last.as_ref().unwrap();
    assert_eq!((&last.end, last.ended_by, last.lease), (&AttemptEnd::Interrupted, None, fence.lease));
    let claimed = world.claim(id(1), 11);
    assert_eq!((claimed.attempt_kind, claimed.fence.attempt, claimed.fence.epoch), (AttemptKind::Reclaim, 2, 2));
}

#[test]
fn a_renewed_lease_is_not_expired_by_an_old_due_time() {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    let old_end = world.now + TTL;
    world.pass(Span::seconds(20));
    world.accept(&make::renew(fence, TTL));
    let new_end = world.now + TTL;
    world.now = old_end;
    assert_eq!(world.accept(&due(id(1))), Reply::Due(Looked { acted: false, next: Some(new_end) }));
}

#[test]
fn from_the_third_loss_in_a_row_the_next_attempt_waits() {
    let mut world = World::new(1);
    world.submit(submit(1));
    let mut pauses = Vec::new();
    for n in 0..14_u128 {
        let done = world.lose(id(1), 10 + n);
        let What::LeaseExpired { again_at: Some(again_at), .. } = done.events[0].what else { panic!("{done:?}") };
        pauses.push((again_at - world.now).0 / 1_000);
        let execution = world.execution(id(1));
        if n < 2 {
            assert!(matches!(execution.state, State::Waiting(Waiting { readiness: Readiness::Ready { .. }, .. })));
        } else {
            let readiness = Readiness::Delayed { until: again_at, why: WhyDelayed::Reclaim };
            assert_eq!(execution.state, State::Waiting(Waiting { readiness, next: Next::Reclaim }));
            assert_eq!(done.result, Ok(Reply::Due(Looked { acted: true, next: Some(again_at) })));
            let promoted = world.when_due(id(1));
            assert_eq!(promoted.window.not_before, Some(again_at));
        }
    }
    assert_eq!(pauses, [0, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
}

#[test]
fn after_a_hundred_reclaims_the_next_loss_is_the_end() {
    let mut world = World::new(1);
    world.submit(submit(1));
    for n in 0..u128::from(limits::RECLAIMS_DEFAULT) {
        world.lose(id(1), 10 + n);
        let execution = world.execution(id(1));
        assert_eq!(u128::from(execution.reclaims), n + 1);
        assert!(matches!(execution.state, State::Waiting(_)), "after {} losses", n + 1);
        if execution.due().is_some() {
            world.when_due(id(1));
        }
    }
    let done = world.lose(id(1), 500);
    let kept_until = world.now + limits::RETENTION_DEFAULT;
    assert_eq!(done.result, Ok(Reply::Due(Looked { acted: true, next: Some(kept_until) })));
    assert_eq!(
        done.events[0].what,
        What::LeaseExpired { attempt: limits::RECLAIMS_DEFAULT + 1, again_at: None, held: false }
    );
    let execution = world.execution(id(1));
    let failure = Some(Failure::new(Category::engine(), "max_reclaims_exceeded"));
    assert_eq!(execution.state, State::Finished(Finished { failure, ..Finished::new(Outcome::Failed, world.now) }));
    assert_eq!(execution.reclaims, limits::RECLAIMS_DEFAULT);
    assert_eq!(execution.last.as_ref().unwrap().end, AttemptEnd::Interrupted, "its last attempt has ended too");
    assert_eq!(world.accept(&due(id(1))), Reply::Due(Looked { acted: false, next: Some(kept_until) }));
}

#[test]
fn a_clock_that_went_back_expires_nothing() {
    let mut world = World::new(1);
    world.running(submit(1), 10);
    world.now = Millis(0);
    let next = Some(world.now + TTL);
    assert_eq!(
        world.accept(&due(id(1))),
        Reply::Due(Looked { acted: true, next }),
        "its holder has all its time again"
    );
    assert_eq!(world.execution(id(1)).reclaims, 0);
}
