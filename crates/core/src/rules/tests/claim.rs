//! Giving ready work to a worker.

use crate::record::{Active, Attempt, AttemptKind, LaneState, Lease, PublicState, State};
use crate::rules::times::Moment;
use crate::rules::world::World;
use crate::rules::world::make::{self, HOME, TTL, claim, class, id, lane, namespace, submit, with};
use crate::{
    Claim, Claimed, Command, Fence, Key, LeaseId, Rejection, Renewed, Reply, Span, What, When, Window, limits,
};

#[test]
fn a_claim_starts_an_attempt_under_a_lease() {
    let mut world = World::new(1);
    let submitted_at = world.now;
    let tags = [("customer".parse().unwrap(), "seven".parse().unwrap())].into();
    world.submit(with!(submit(1), tags));
    world.pass(Span::seconds(5));
    let done = world.home(&Command::Claim(claim(id(1), 10)));
    let fence = Fence { execution: id(1), lease: LeaseId(10), epoch: 1, attempt: 1 };
    let expires_at = world.now + TTL;
    let Ok(Reply::Claim(claimed)) = done.result else { panic!("{:?}", done.result) };
    let execution = world.execution(id(1));
    let expected = Claimed {
        fence,
        expires_at,
        namespace: namespace(),
        lane: lane(),
        kind: execution.kind.clone(),
        input: crate::Payload::null(),
        tags: execution.tags.clone(),
        attempt_kind: AttemptKind::Initial,
        resumed: false,
        retries: 0,
        times_out_at: None,
        deadline: None,
        created_at: submitted_at,
        trace: None,
        woke: None,
        open_waits: std::collections::BTreeMap::new(),
    };
    assert_eq!(*claimed, expected);
    let worker: crate::WorkerName = "worker-1".parse().unwrap();
    let lease = Lease { id: LeaseId(10), epoch: 1, worker: worker.clone(), expires_at, ttl: TTL };
    let attempt = Attempt::start(1, AttemptKind::Initial, Moment { now: world.now, stamp: world.now });
    assert_eq!(execution.state, State::Active(Active { lease, attempt, stop: None }));
    assert_eq!((execution.attempts, execution.epoch, execution.started_at), (1, 1, Some(world.now)));
    assert_eq!(done.events[0].what, What::Claimed { attempt: 1, epoch: 1, worker, resumed: false });
    assert_eq!(done.window, Window { not_before: None, not_after: Some(expires_at) }, "not after its own end");
}

#[test]
fn a_repeat_returns_the_same_lease_while_it_lives() {
    let mut world = World::new(1);
    world.submit(submit(1));
    let command = Command::Claim(claim(id(1), 10));
    let first = world.claim(id(1), 10);
    world.lane_is(LaneState::Paused);
    world.pass(Span::seconds(20));
    let renewed = world.accept(&make::renew(first.fence, TTL));
    let Reply::Renew(Renewed { expires_at, stop: None }) = renewed else { panic!("{renewed:?}") };
    let done = world.home(&command);
    assert_eq!(done.result, Ok(Reply::Claim(Box::new(Claimed { expires_at, ..*first }))));
    assert!(done.step.writes.is_empty() && done.events.is_empty());
    assert_eq!(done.window, Window::default());

    world.now = expires_at;
    assert!(world.home(&command).result.is_ok(), "its end is not committed");
    world.accept(&make::due(id(1)));
    let refused = world.refuse(&command);
    assert_eq!(refused, Rejection::LeaseExpired { expired_at: expires_at }, "nobody may start under it");
}

#[test]
fn a_lease_is_given_out_once() {
    let end = |world: &mut World, how: &str| {
        let fence = world.claim(id(1), 10).fence;
        match how {
            "lost" => drop(world.when_due(id(1))),
            "failed" => drop(world.accept(&make::fail(50, fence))),
            _ => drop(world.accept(&make::unclaim(50, fence))),
        }
    };
    for how in ["lost", "failed", "returned"] {
        let mut world = World::new(1);
        world.submit(with!(submit(1), policy: make::retry(3, Span(0))));
        end(&mut world, how);
        assert_eq!(world.execution(id(1)).public_state(), PublicState::Waiting, "{how}");
        let expired_at = world.now;
        let refused = world.refuse(&Command::Claim(claim(id(1), 10)));
        assert_eq!(refused, Rejection::LeaseExpired { expired_at }, "{how}");
        assert_eq!(world.claim(id(1), 11).fence.epoch, 2, "{how}");
    }
}

#[test]
fn only_ready_work_is_claimed() {
    let mut world = World::new(1);
    let claim = |n| Command::Claim(claim(id(n), 77));
    assert_eq!(world.refuse(&claim(1)), Rejection::ExecutionNotFound(id(1)));
    world.submit(with!(submit(1), when: When::After(Span(1))));
    let fence = world.running(submit(2), 10);
    let ended = world.running(submit(3), 11);
    world.accept(&make::complete(90, ended));
    let failed = world.running(with!(submit(4), policy: make::retry(0, Span(0))), 12);
    world.accept(&make::fail(91, failed));
    world.now = world.now + TTL;
    for (n, state) in
        [(1, PublicState::Delayed), (2, PublicState::Active), (3, PublicState::Completed), (4, PublicState::Failed)]
    {
        let refused = world.refuse(&claim(n));
        assert_eq!(refused, Rejection::NotReady { execution: id(n), state });
    }
    assert_eq!(world.execution(id(2)).epoch, fence.epoch, "a lapsed lease is not taken over by a claim");
}

#[test]
fn the_worker_must_have_what_the_work_requires() {
    for (has, missing) in [
        (&["gpu", "linux", "more"][..], &[][..]),
        (&["gpu", "linux"], &[]),
        (&["gpu"], &["linux"]),
        (&[], &["gpu", "linux"]),
    ] {
        let mut world = World::new(1);
        world.submit(with!(submit(1), requires: class(&["linux", "gpu"])));
        let done = world.home(&Command::Claim(Claim { capabilities: class(has), ..claim(id(1), 10) }));
        if missing.is_empty() {
            assert!(matches!(done.result, Ok(Reply::Claim(_))), "{has:?}");
        } else {
            let missing = class(missing).capabilities().cloned().collect();
            assert_eq!(done.result, Err(Rejection::CapabilityMismatch { missing }), "{has:?}");
        }
    }
}

#[test]
fn a_lease_has_a_shortest_and_a_longest_length() {
    for (ttl, fits) in [
        (Span(limits::LEASE_MIN.0 - 1), false),
        (limits::LEASE_MIN, true),
        (limits::LEASE_MAX, true),
        (Span(limits::LEASE_MAX.0 + 1), false),
    ] {
        let mut world = World::new(1);
        world.submit(submit(1));
        let done = world.home(&Command::Claim(Claim { ttl, ..claim(id(1), 10) }));
        assert_eq!(done.result.is_ok(), fits, "claim for {ttl}");
        let fence = world.running(submit(2), 11);
        let done = world.home(&make::renew(fence, ttl));
        assert_eq!(done.result.is_ok(), fits, "renew for {ttl}");
        if let Err(refused) = done.result {
            assert!(matches!(refused, Rejection::InvalidArgument { field: "lease", .. }));
        }
    }
}

#[test]
fn a_paused_lane_gives_nothing_out_and_a_draining_one_does() {
    for (state, given) in [(LaneState::Open, true), (LaneState::Paused, false), (LaneState::Draining, true)] {
        let mut world = World::new(1);
        world.submit(submit(1));
        world.lane_is(state);
        let done = world.home(&Command::Claim(claim(id(1), 10)));
        assert!(done.step.reads.contains(&Key::LaneCopy(namespace(), lane(), HOME)), "{state:?}");
        match done.result {
            Ok(_) => assert!(given, "{state:?}"),
            Err(refused) => assert_eq!((refused, given), (Rejection::LanePaused(lane()), false)),
        }
    }
}

#[test]
fn a_paused_lane_lets_running_work_go_on() {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    world.lane_is(LaneState::Paused);
    world.accept(&make::renew(fence, TTL));
    world.accept(&make::complete(50, fence));
}
