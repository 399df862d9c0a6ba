//! Running an execution again after it has ended.

use crate::record::{AttemptKind, Next, Outcome, PayloadBytes, PublicState, Readiness, Record};
use crate::rules::world::World;
use crate::rules::world::make::{self, TTL, due, id, submit, with};
use crate::{
    Act, ActOutcome, Arrival, Category, Fence, Key, LeaseId, Looked, Payload, PayloadSlot, Policy, Rejection, Reply,
    Reported, Span, Submit, What, When, Window, act, end, limits,
};

fn work() -> Submit {
    with!(submit(1), policy: make::retry(2, Span(0)))
}

/// Execution 1 has ended so, after some trouble.
fn ended(outcome: Outcome) -> World {
    let mut world = World::new(1);
    let deadline = (outcome == Outcome::Expired).then_some(When::After(Span::hours(1)));
    world.submit(with!(work(), deadline));
    world.lose(id(1), 8);
    let fence = world.claim(id(1), 9).fence;
    world.accept(&make::fail(49, fence));
    let fence = world.claim(id(1), 10).fence;
    match outcome {
        Outcome::Success => drop(world.accept(&make::complete(50, fence))),
        Outcome::Failed => drop(world.accept(&make::fail_as(50, fence, Category::permanent()))),
        Outcome::Cancelled => drop(world.accept(&make::cancel(50, fence))),
        Outcome::Expired => {
            world.accept(&make::unclaim(50, fence));
            world.when_due(id(1));
        }
    }
    assert_eq!(world.finished(id(1)).outcome, outcome);
    world.pass(Span::seconds(1));
    world
}

#[test]
fn every_end_can_be_the_beginning_of_another_life() {
    for outcome in [Outcome::Success, Outcome::Failed, Outcome::Cancelled, Outcome::Expired] {
        let mut world = ended(outcome);
        let before = world.execution(id(1)).clone();
        let done = world.home(&make::operate(60, id(1), make::replay()));
        assert_eq!(done.result, Ok(Reply::Operate(ActOutcome::Replayed { replays: 1 })), "{outcome:?}");
        assert_eq!(done.window, Window::default());
        let what = What::Replayed { replays: 1, reason: "fixed".into() };
        assert_eq!((done.events.len(), &done.events[0].what), (1, &what));
        let waiting = world.waiting(id(1));
        assert_eq!((&waiting.readiness, &waiting.next), (&Readiness::Ready { since: world.now }, &Next::Replay));
        let after = world.execution(id(1));
        // W17: a new life gets a fresh budget.
        assert_eq!((after.retries, after.reclaims, after.reclaims_in_a_row), (0, 0, 0), "{outcome:?}");
        assert_eq!((after.deadline, after.due()), (None, None), "{outcome:?}: the first life's deadline is over");
        assert_eq!(after.place, Some(Arrival::at(world.now, 0)), "{outcome:?}: it queues behind those who waited");
        assert_eq!((after.attempts, after.epoch, after.started_at), (before.attempts, before.epoch, before.started_at));
        assert_eq!((&after.last, &after.result, &after.progress), (&before.last, &None, &None));

        let claimed = world.claim(id(1), 20);
        assert_eq!((claimed.attempt_kind, claimed.fence.attempt), (AttemptKind::Replay, before.attempts + 1));
        assert_eq!((claimed.fence.epoch, claimed.retries), (before.epoch + 1, 0));
        let fence = claimed.fence;
        assert_eq!(world.accept(&make::fail(61, fence)), Reply::Report(Reported::again(world.now)));
        let retried = world.claim(id(1), 21);
        assert_eq!((retried.attempt_kind, retried.retries), (AttemptKind::Retry, 1));
        world.accept(&make::complete(62, retried.fence));
        assert_eq!(world.finished(id(1)).outcome, Outcome::Success);
    }
}

#[test]
fn the_first_result_is_never_taken_for_the_second() {
    // W16: the old result goes with the old life, and one that is empty is stored as such.
    let large = Payload::bytes("image/png", vec![7; 2_000]).unwrap();
    let empty = Payload::bytes("text/plain", "").unwrap();
    for result in [Payload::json("1").unwrap(), large.clone(), empty.clone()] {
        let mut world = World::new(1);
        let fence = world.running(work(), 10);
        world.accept(&make::report(50, fence, end::Complete { result }));
        world.operate(60, id(1), make::replay());
        assert_eq!(world.execution(id(1)).result, None);
        assert_eq!(world.record(&Key::Payload(id(1), PayloadSlot::Result)), None, "nothing is left behind");
        for (n, result) in [(51_u128, empty.clone()), (52, large.clone())] {
            let fence = world.claim(id(1), n).fence;
            world.accept(&make::report(n, fence, end::Complete { result: result.clone() }));
            let stored = world.record(&Key::Payload(id(1), PayloadSlot::Result));
            assert_eq!(stored, Some(&Record::Payload(PayloadBytes(result.as_bytes().to_vec().into()))));
            world.operate(60 + n, id(1), make::replay());
        }
    }
}

#[test]
fn calls_of_the_first_life_get_their_answers_and_do_nothing() {
    let mut world = ended(Outcome::Success);
    world.operate(60, id(1), make::replay());
    let old = Fence { execution: id(1), lease: LeaseId(10), epoch: 3, attempt: 3 };
    for _ in 0..2 {
        let done = world.home(&make::complete(50, old));
        assert_eq!(done.result, Ok(Reply::Report(Reported::ENDED)));
        assert!(done.step.writes.is_empty());
        world.claim(id(1), 20);
    }
    assert_eq!(world.refuse(&make::renew(old, TTL)), Rejection::StaleLease { current: 4, given: 3 });
    assert_eq!(world.active(id(1)).attempt.kind, AttemptKind::Replay);
}

#[test]
fn the_policy_says_how_often() {
    for max_replays in [None, Some(0), Some(2)] {
        let mut world = World::new(1);
        let policy = Policy { max_replays, ..Policy::default() };
        world.submit(with!(submit(1), policy));
        let most = max_replays.unwrap_or(limits::REPLAYS_DEFAULT);
        for n in 0..most {
            world.operate(60 + u128::from(n), id(1), make::end());
            let did = world.operate(600 + u128::from(n), id(1), make::replay());
            assert_eq!(did, ActOutcome::Replayed { replays: n + 1 });
        }
        world.operate(98, id(1), make::end());
        let refused = world.refuse(&make::operate(99, id(1), make::replay()));
        assert_eq!(refused, Rejection::ReplaysExhausted { execution: id(1), replays: most });
    }
}

#[test]
fn only_what_has_ended_is_run_again() {
    let mut world = World::new(1);
    world.submit(submit(1));
    world.submit(with!(submit(2), when: When::After(Span::hours(1))));
    world.running(submit(3), 10);
    for (n, state) in [(1, PublicState::Waiting), (2, PublicState::Delayed), (3, PublicState::Active)] {
        let refused = world.refuse(&make::operate(60, id(n), make::replay()));
        assert_eq!(refused, Rejection::NotFinished { execution: id(n), state });
    }
}

#[test]
fn a_new_life_may_have_a_deadline_of_its_own() {
    let replay = |deadline| Act::Replay(act::Replay::new("again".into(), Some(deadline)));
    let mut world = ended(Outcome::Expired);
    let deadline = world.now + Span::minutes(1);
    for past in [When::Now, When::At(world.now), When::At(world.now - Span::hours(1))] {
        let refused = world.refuse(&make::operate(60, id(1), replay(past)));
        assert!(matches!(refused, Rejection::TimeInPast { field: "expires_at", .. }), "{past:?}");
    }
    world.operate(60, id(1), replay(When::After(Span::minutes(1))));
    assert_eq!((world.execution(id(1)).deadline, world.execution(id(1)).due()), (Some(deadline), Some(deadline)));
    world.when_due(id(1));
    assert_eq!(world.finished(id(1)).outcome, Outcome::Expired);
    world.operate(61, id(1), make::replay());
    assert_eq!(world.execution(id(1)).due(), None);
}

#[test]
fn a_new_life_is_safe_from_the_old_ones_retention() {
    // W14: what was to be removed and is wanted again is not removed.
    let mut world = ended(Outcome::Success);
    let kept_until = world.finished(id(1)).at + limits::RETENTION_DEFAULT;
    world.operate(60, id(1), make::replay());
    world.now = kept_until + Span::days(1);
    let done = world.home(&due(id(1)));
    assert_eq!(done.result, Ok(Reply::Due(Looked { acted: false, next: None })));
    assert!(done.step.writes.is_empty());
}
