//! Taking an execution away from its worker: what happens to a lapsed lease happens at once.

use crate::record::{
    AttemptEnd, AttemptKind, Finished, Next, Outcome, PublicState, Readiness, Record, UniqueRecord, WhyDelayed,
};
use crate::rules::world::World;
use crate::rules::world::make::{self, TTL, id, submit, with};
use crate::{
    Act, ActOutcome, Category, Failure, LeaseEvent, LeaseId, Policy, Rejection, Reply, Span, What, Window, act,
};

#[test]
fn the_work_is_ready_again_at_once_and_its_worker_is_refused() {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    world.pass(Span::seconds(2));
    let done = world.home(&make::operate(60, id(1), make::revoke()));
    let did = ActOutcome::Revoked { lease: LeaseId(10), epoch: 1 };
    assert_eq!((done.result, done.window), (Ok(Reply::Operate(did)), Window::default()));
    let what = What::LeaseRevoked { attempt: 1, reason: "stuck".into(), again_at: Some(world.now), held: false };
    assert_eq!((done.events.len(), &done.events[0].what), (1, &what));
    assert_eq!((what.outcome(), what.lease()), (None, Some(LeaseEvent::Revoked)), "told apart from a release");
    let waiting = world.waiting(id(1));
    assert_eq!((&waiting.readiness, &waiting.next), (&Readiness::Ready { since: world.now }, &Next::Reclaim));
    let execution = world.execution(id(1));
    assert_eq!((execution.reclaims, execution.reclaims_in_a_row, execution.retries), (1, 1, 0));
    let last = world.last(id(1));
    let end = AttemptEnd::Revoked { reason: "stuck".into() };
    assert_eq!((&last.end, last.ended_by, last.ran), (&end, None, Span::seconds(2)));

    let refused = Rejection::NotActive { execution: id(1), state: PublicState::Waiting };
    assert_eq!(world.refuse(&make::renew(fence, TTL)), refused);
    let again = world.claim(id(1), 11);
    assert_eq!((again.attempt_kind, again.fence.attempt, again.fence.epoch), (AttemptKind::Reclaim, 2, 2));
    let stale = Rejection::StaleLease { current: 2, given: 1 };
    assert_eq!(world.refuse(&make::complete(61, fence)), stale);
}

#[test]
fn a_named_lease_and_no_other_is_taken() {
    let mut world = World::new(1);
    world.running(submit(1), 10);
    let act = |lease| Act::Revoke(act::Revoke { lease: Some(LeaseId(lease)), reason: "stuck".into() });
    assert!(matches!(world.refuse(&make::operate(60, id(1), act(9))), Rejection::StaleLease { current: 1, .. }));
    assert_eq!(world.active(id(1)).lease.id, LeaseId(10));
    assert_eq!(world.operate(61, id(1), act(10)), ActOutcome::Revoked { lease: LeaseId(10), epoch: 1 });
}

#[test]
fn only_running_work_has_a_lease_to_take() {
    let mut world = World::new(1);
    world.submit(submit(1));
    let fence = world.running(submit(2), 10);
    world.accept(&make::complete(50, fence));
    for (n, state) in [(1, PublicState::Waiting), (2, PublicState::Completed)] {
        let refused = world.refuse(&make::operate(60, id(n), make::revoke()));
        assert_eq!(refused, Rejection::NotActive { execution: id(n), state });
    }
}

#[test]
fn a_lapsed_lease_can_be_taken_before_anybody_looked() {
    let mut world = World::new(1);
    world.running(submit(1), 10);
    world.pass(TTL);
    world.operate(60, id(1), make::revoke());
    assert_eq!(world.claim(id(1), 11).attempt_kind, AttemptKind::Reclaim);
}

#[test]
fn revoked_leases_count_as_lost_ones() {
    let mut world = World::new(1);
    world.submit(submit(1));
    for n in 0..4_u128 {
        world.claim(id(1), 10 + n);
        world.operate(60 + n, id(1), make::revoke());
        let pause = [0, 0, 1, 2][n as usize];
        if pause > 0 {
            let until = world.now + Span::seconds(pause);
            assert_eq!(world.waiting(id(1)).readiness, Readiness::Delayed { until, why: WhyDelayed::Reclaim });
            world.when_due(id(1));
        }
    }
    assert_eq!(world.execution(id(1)).reclaims_in_a_row, 4);
}

#[test]
fn the_policy_says_how_many_losses_are_borne() {
    // W34: the end by too many losses is an end like any other: told, its attempt ended, its key free.
    for by_operator in [false, true] {
        for max_reclaims in [0, 2] {
            let mut world = World::new(1);
            let policy = Policy { max_reclaims: Some(max_reclaims), ..Policy::default() };
            let unique_key = Some("only".parse().unwrap());
            world.submit(with!(submit(1), policy, unique_key));
            for n in 0..=u128::from(max_reclaims) {
                world.claim(id(1), 10 + n);
                assert_eq!(u128::from(world.execution(id(1)).reclaims), n);
                match by_operator {
                    true => drop(world.operate(60 + n, id(1), make::revoke())),
                    false => drop(world.when_due(id(1))),
                }
            }
            let failure = Some(Failure::new(Category::engine(), "max_reclaims_exceeded"));
            let finished = Finished { failure, ..Finished::new(Outcome::Failed, world.now) };
            assert_eq!(*world.finished(id(1)), finished);
            let told = &world.events.last().unwrap().what;
            assert_eq!(told.outcome(), Some(Outcome::Failed), "{told:?}");
            assert_eq!(world.last(id(1)).number, max_reclaims + 1);
            assert_eq!(world.execution(id(1)).reclaims, max_reclaims);
            let key = crate::Key::Unique(make::namespace(), "only".parse().unwrap());
            let freed = Record::Unique(UniqueRecord::freed(id(1), world.now));
            assert_eq!(world.record(&key), Some(&freed));
        }
    }
}

#[test]
fn a_replayed_execution_remembers_no_lost_lease() {
    // W8: nothing of an old lease survives into a new one.
    let mut world = World::new(1);
    world.running(submit(1), 10);
    world.operate(60, id(1), make::revoke());
    world.operate(61, id(1), make::end());
    world.operate(62, id(1), make::replay());
    let fence = world.claim(id(1), 11).fence;
    world.pass(Span::seconds(1));
    world.accept(&make::renew(fence, TTL));
    world.accept(&make::complete(63, fence));
}
