//! Going on with an attempt later: its lease is released, and the same attempt is taken up again.

use crate::record::{AttemptEnd, AttemptKind, Next, Pause, Paused, PublicState, Readiness, WhyDelayed};
use crate::rules::world::World;
use crate::rules::world::make::{self, id, submit, with};
use crate::{
    Command, CommandId, Key, LeaseEvent, LeaseId, Millis, Rejection, Reply, Reported, Span, Submit, What, When, Window,
    limits,
};

const LATER: When = When::After(Span::seconds(10));

fn work() -> Submit {
    with!(submit(1), policy: make::retry(1, Span(0)))
}

#[test]
fn the_same_attempt_goes_on_under_another_lease() {
    let mut world = World::new(1);
    let started_at = world.now;
    let fence = world.running(work(), 10);
    world.pass(Span::seconds(3));
    let done = world.home(&make::delay(60, fence, LATER));
    let until = world.now + Span::seconds(10);
    assert_eq!(done.result, Ok(Reply::Report(Reported::again(until))));
    assert_eq!(done.window, Window::default());
    assert_eq!(done.events[0].what, What::Delayed { attempt: 1, until });
    assert_eq!(done.events[0].what.lease(), Some(LeaseEvent::Released));
    let waiting = world.waiting(id(1));
    assert_eq!(waiting.readiness, Readiness::Delayed { until, why: WhyDelayed::Worker });
    let Next::Resume(paused) = &waiting.next else { panic!("{waiting:?}") };
    let Paused { attempt, lease, worker } = &**paused;
    assert_eq!((attempt.number, attempt.started_at, attempt.ran), (1, started_at, Span::seconds(3)));
    assert_eq!(attempt.pauses, [(CommandId(60), Pause::Delayed { until })]);
    assert_eq!((*lease, worker.as_str()), (LeaseId(10), "worker-1"));
    assert_eq!(world.execution(id(1)).last, None, "the attempt has not ended");

    world.when_due(id(1));
    assert_eq!(world.execution(id(1)).public_state(), PublicState::Waiting);
    world.pass(Span::seconds(5));
    let claimed = world.claim(id(1), 11);
    assert!(claimed.resumed);
    assert_eq!((claimed.fence.attempt, claimed.fence.epoch, claimed.attempt_kind), (1, 2, AttemptKind::Initial));
    let worker = "worker-1".parse().unwrap();
    let what = What::Claimed { attempt: 1, epoch: 2, worker, resumed: true };
    assert_eq!(world.events.last().unwrap().what, what);
    let resumed = &world.active(id(1)).attempt;
    assert_eq!((resumed.started_at, resumed.since), (started_at, Some(world.now)));
    assert_eq!((world.execution(id(1)).attempts, world.execution(id(1)).started_at), (1, Some(started_at)));
    world.pass(Span::seconds(4));
    world.accept(&make::complete(61, claimed.fence));
    let last = world.last(id(1));
    assert_eq!((last.number, last.ran, last.lease), (1, Span::seconds(7), LeaseId(11)), "without its pauses");
    assert_eq!(last.pauses.len(), 1, "a repeat finds its pause also after the end");
    assert!(world.record(&Key::Attempt(id(1), 1)).is_none(), "one attempt, not two");
}

#[test]
fn the_time_is_chosen_like_that_of_a_submit() {
    let start = make::after(Span::seconds(100));
    let delayed = |until: Millis| Ok(Readiness::Delayed { until, why: WhyDelayed::Worker });
    let ready = Ok(Readiness::Ready { since: start });
    let grace = limits::PAST_GRACE;
    // W15: a time that cannot be is refused before anything is written.
    let too_late = Err(Rejection::TimeInPast { field: "until", ago: Span(grace.0 + 1) });
    let from = |time: Millis| Some(time);
    for (when, expected, not_before) in [
        (When::Now, ready.clone(), None),
        (When::After(Span(0)), ready.clone(), None),
        (LATER, delayed(start + Span::seconds(10)), None),
        (When::At(start + Span(1)), delayed(start + Span(1)), None),
        (When::At(start), ready.clone(), from(start)),
        (When::At(start - grace), ready, from(start - grace)),
        (When::At(start - grace - Span(1)), too_late, from(start)),
    ] {
        let mut world = World::new(1);
        world.now = start;
        let fence = world.running(work(), 10);
        let done = world.home(&make::delay(60, fence, when));
        assert_eq!(done.window.not_before, not_before, "{when:?}");
        match (done.result, expected) {
            (Ok(Reply::Report(Reported { again_at: Some(until), .. })), Ok(readiness)) => {
                assert_eq!(world.waiting(id(1)).readiness, readiness, "{when:?}");
                assert!(until >= start, "{when:?}: nobody is told of a time that has passed");
            }
            (Err(refused), Err(expected)) => {
                assert_eq!(refused, expected, "{when:?}");
                world.accept(&make::complete(61, fence));
            }
            other => panic!("{when:?}: {other:?}"),
        }
    }
    let mut world = World::new(1);
    let fence = world.running(work(), 10);
    let refused = world.refuse(&make::delay(60, fence, When::After(Span(limits::FUTURE_MAX.0 + 1))));
    assert!(matches!(refused, Rejection::InvalidArgument { field: "until", .. }));
}

#[test]
fn a_pause_costs_nothing_and_keeps_its_place() {
    let mut world = World::new(1);
    world.submit(work());
    let place = world.execution(id(1)).ready_rank();
    world.lose(id(1), 8);
    world.lose(id(1), 9);
    let fence = world.claim(id(1), 10).fence;
    world.accept(&make::delay(60, fence, LATER));
    let execution = world.execution(id(1));
    assert_eq!((execution.retries, execution.reclaims, execution.reclaims_in_a_row), (0, 2, 0));
    world.when_due(id(1));
    assert_eq!(world.execution(id(1)).ready_rank(), place);
    let again = world.claim(id(1), 11);
    assert_eq!((again.attempt_kind, again.fence.attempt), (AttemptKind::Reclaim, 3), "the attempt stays what it is");
    assert_eq!(world.accept(&make::fail(61, again.fence)), Reply::Report(Reported::again(world.now)));
}

#[test]
fn an_attempt_remembers_its_newest_pauses() {
    let mut world = World::new(1);
    world.submit(work());
    let mut calls = Vec::new();
    for n in 0..=limits::OPERATOR_COMMANDS_KEPT as u128 {
        let fence = world.claim(id(1), 10 + n).fence;
        // A returned attempt that has had a pause is paused again.
        let call = if n % 2 == 0 { make::delay(60 + n, fence, When::Now) } else { make::unclaim(60 + n, fence) };
        let answer = world.accept(&call);
        calls.push((call, answer));
        world.pass(Span(1));
    }
    assert_eq!(world.execution(id(1)).attempts, 1);
    let (first, _) = calls.remove(0);
    let state = PublicState::Waiting;
    let forgotten = Rejection::NotActive { execution: id(1), state };
    assert_eq!(world.refuse(&first), forgotten, "refused, and not done again");
    let fence = world.claim(id(1), 50).fence;
    world.accept(&make::complete(99, fence));
    for (call, answer) in calls {
        let done = world.home(&call);
        assert_eq!(done.result, Ok(answer), "{call:?}");
        assert!(done.step.writes.is_empty());
    }
}

#[test]
fn a_late_failure_is_not_taken_for_the_pause() {
    // W10: every call is known by its own id, so that a failure after a delay is not reported as a retry.
    let mut world = World::new(1);
    let fence = world.running(work(), 10);
    world.accept(&make::delay(60, fence, LATER));
    let state = PublicState::Delayed;
    assert_eq!(world.refuse(&make::fail(61, fence)), Rejection::NotActive { execution: id(1), state });
    assert!(matches!(world.refuse(&make::fail(60, fence)), Rejection::InvalidArgument { field: "command", .. }));
}

#[test]
fn a_resumed_attempt_that_is_lost_is_followed_by_another() {
    let mut world = World::new(1);
    let fence = world.running(work(), 10);
    world.accept(&make::delay(60, fence, When::Now));
    world.lose(id(1), 11);
    let last = world.last(id(1));
    assert_eq!((last.number, &last.end, last.lease), (1, &AttemptEnd::Interrupted, LeaseId(11)));
    let claimed = world.claim(id(1), 12);
    assert_eq!((claimed.fence.attempt, claimed.resumed), (2, false));
    assert_eq!(world.accept(&make::delay(60, fence, When::Now)), Reply::Report(Reported::again(last_pause(&world))));
}

fn last_pause(world: &World) -> Millis {
    match world.record(&Key::Attempt(id(1), 1)) {
        Some(crate::record::Record::Attempt(attempt)) => match attempt.pauses.back() {
            Some((_, Pause::Delayed { until })) => *until,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_lease_that_was_paused_is_not_given_out_again() {
    let mut world = World::new(1);
    let fence = world.running(work(), 10);
    world.accept(&make::delay(60, fence, When::Now));
    let refused = world.refuse(&Command::Claim(make::claim(id(1), 10)));
    assert_eq!(refused, Rejection::LeaseExpired { expired_at: world.now });
}

#[test]
fn a_delay_leaves_the_deadline_where_it_is() {
    let mut world = World::new(1);
    let deadline = world.now + Span::minutes(5);
    let fence = world.running(with!(work(), deadline: Some(When::At(deadline))), 10);
    world.accept(&make::delay(60, fence, When::After(Span::hours(1))));
    assert_eq!((world.execution(id(1)).deadline, world.execution(id(1)).due()), (Some(deadline), Some(deadline)));
}
