//! What the holder of a lease may do, and how everybody else is refused.

use crate::record::{AttemptEnd, AttemptKind, Finished, Next, Outcome, PublicState, Readiness, State, Waiting};
use crate::rules::world::World;
use crate::rules::world::make::{self, TTL, id, submit, with};
use crate::{
    Command, CommandId, Fence, Key, LeaseId, Millis, Rejection, Renewed, Reply, Reported, Span, Submit, What, When,
    Window,
};

type Verb = fn(Fence) -> Command;

/// Everything that needs a fence: two that may be done again and again, then those that carry an id, of which the last
/// three leave the execution unfinished.
const VERBS: [(&str, Verb); 7] = [
    ("renew", |fence| make::renew(fence, TTL)),
    ("progress", |fence| make::progress(fence, Some(50), None)),
    ("complete", |fence| make::complete(60, fence)),
    ("cancel", |fence| make::cancel(60, fence)),
    ("fail", |fence| make::fail(60, fence)),
    ("unclaim", |fence| make::unclaim(60, fence)),
    ("delay", |fence| make::delay(60, fence, When::After(Span::seconds(10)))),
];

fn renewed(expires_at: Millis) -> Reply {
    Reply::Renew(Renewed { expires_at, stop: None })
}

fn work() -> Submit {
    with!(submit(1), policy: make::retry(3, Span::seconds(10)))
}

#[test]
fn every_verb_is_accepted_from_the_holder_until_the_end_of_its_lease_is_committed() {
    for (name, verb) in VERBS {
        let mut world = World::new(1);
        let fence = world.running(work(), 10);
        let expires_at = world.now + TTL;
        for now in [expires_at - Span(1), expires_at, expires_at + Span::days(1)] {
            world.now = now;
            let done = world.clone().home(&verb(fence));
            assert!(done.result.is_ok(), "{name} at {now}: nobody else can have it");
            let renewed = (name == "renew").then_some(now + TTL);
            assert_eq!(done.window.not_after, renewed, "{name}: one that is over when it is written is none");
        }
        world.accept(&make::due(id(1)));
        let done = world.home(&verb(fence));
        let state = PublicState::Waiting;
        assert_eq!(done.result, Err(Rejection::NotActive { execution: id(1), state }), "{name}");
        assert!(done.step.reads.contains(&Key::Execution(id(1))), "{name}: a refusal keeps its reads");
    }
}

#[test]
fn every_verb_is_refused_without_the_very_lease() {
    for (name, verb) in VERBS {
        let mut world = World::new(1);
        let fence = world.running(work(), 10);
        let missing = Fence { execution: id(9), ..fence };
        assert_eq!(world.refuse(&verb(missing)), Rejection::ExecutionNotFound(id(9)), "{name}");
        for wrong in [
            Fence { lease: LeaseId(11), ..fence },
            Fence { epoch: 2, ..fence },
            Fence { epoch: 0, ..fence },
            Fence { attempt: 2, ..fence },
            Fence { attempt: 0, ..fence },
        ] {
            let stale = Rejection::StaleLease { current: 1, given: wrong.epoch };
            let done = world.home(&verb(wrong));
            assert_eq!((done.result, done.window), (Err(stale), Window::default()), "{name} {wrong:?}");
        }
        world.now = world.now + TTL;
        let wrong = Fence { epoch: 7, ..fence };
        let refused = world.refuse(&verb(wrong));
        assert_eq!(refused, Rejection::StaleLease { current: 1, given: 7 }, "{name}: identity before time");
    }
}

#[test]
fn every_verb_is_refused_after_the_lease_was_lost() {
    for (name, verb) in VERBS {
        let mut world = World::new(1);
        let fence = world.running(work(), 10);
        world.when_due(id(1));
        let not_active = |state| Rejection::NotActive { execution: id(1), state };
        assert_eq!(world.refuse(&verb(fence)), not_active(PublicState::Waiting), "{name}");
        let second = world.claim(id(1), 11).fence;
        let stale = Rejection::StaleLease { current: 2, given: 1 };
        assert_eq!(world.refuse(&verb(fence)), stale, "{name}");
        world.accept(&make::fail(70, second));
        assert_eq!(world.refuse(&verb(fence)), not_active(PublicState::Delayed), "{name}");
        world.when_due(id(1));
        let third = world.claim(id(1), 12).fence;
        world.accept(&make::complete(71, third));
        for old in [fence, second, third] {
            assert_eq!(world.refuse(&verb(old)), not_active(PublicState::Completed), "{name}");
        }
    }
}

#[test]
fn a_repeat_gets_its_answer_also_after_the_next_attempt_began() {
    for (name, verb) in &VERBS[4..] {
        let mut world = World::new(1);
        let fence = world.running(work(), 10);
        let answer = world.accept(&verb(fence));
        let until = world.now + Span::seconds(10);
        let expected = match *name {
            "fail" => Reply::Report(Reported::again(until)),
            "delay" => Reply::Report(Reported::again(until)),
            _ => Reply::Report(Reported::READY),
        };
        assert_eq!(answer, expected, "{name}");
        for round in 0..4_u128 {
            let done = world.home(&verb(fence));
            assert_eq!(done.result, Ok(answer.clone()), "{name} in round {round}");
            assert!(done.step.writes.is_empty() && done.events.is_empty(), "{name} in round {round}");
            assert_eq!(done.window, Window::default(), "{name}: a repeat does not depend on time");
            if world.execution(id(1)).due().is_some() {
                world.when_due(id(1));
            }
            let next = world.claim(id(1), 20 + round).fence;
            let done = world.home(&verb(fence));
            assert_eq!(done.result, Ok(answer.clone()), "{name} while the next attempt runs");
            world.accept(&make::unclaim(80 + round, next));
        }
    }
}

#[test]
fn an_id_that_ended_the_attempt_in_another_way_is_refused() {
    for (first, ending) in &VERBS[2..] {
        for (second, verb) in &VERBS[2..] {
            let mut world = World::new(1);
            let fence = world.running(work(), 10);
            let answer = world.accept(&ending(fence));
            let result = world.home(&verb(fence)).result;
            if first == second {
                assert_eq!(result, Ok(answer));
            } else {
                let refused = matches!(result, Err(Rejection::InvalidArgument { field: "command", .. }));
                assert!(refused, "{first} then {second}");
            }
        }
    }
}

#[test]
fn renewing_moves_the_end_and_nothing_else() {
    let mut world = World::new(1);
    let fence = world.running(work(), 10);
    world.pass(Span::seconds(10));
    let before = world.execution(id(1)).clone();
    let done = world.home(&make::renew(fence, TTL));
    let expires_at = world.now + TTL;
    assert_eq!(done.result, Ok(renewed(expires_at)));
    assert!(done.events.is_empty(), "renewals are not told");
    let State::Active(mut active) = before.state.clone() else { panic!("{before:?}") };
    active.lease.expires_at = expires_at;
    let expected = crate::record::Execution { state: State::Active(active), changed_at: world.now, ..before };
    assert_eq!(world.execution(id(1)), &expected);

    let shorter = world.accept(&make::renew(fence, Span::seconds(1)));
    assert_eq!(shorter, renewed(expires_at), "a renewal never shortens a lease");
    assert_eq!(world.when_due(id(1)).window.not_before, Some(expires_at));
}

#[test]
fn completing_finishes_the_execution() {
    let mut world = World::new(1);
    world.submit(work());
    world.lose(id(1), 9);
    let fence = world.claim(id(1), 10).fence;
    world.pass(Span::seconds(3));
    let done = world.home(&make::complete(60, fence));
    assert_eq!(done.result, Ok(Reply::Report(Reported::ENDED)));
    assert_eq!(done.events[0].what, What::Completed { attempt: 2 });
    let execution = world.execution(id(1));
    let finished = Finished::new(Outcome::Success, world.now);
    assert_eq!(execution.state, State::Finished(finished));
    assert_eq!(execution.reclaims_in_a_row, 0);
    let last = execution.last.as_ref().unwrap();
    assert_eq!((last.number, &last.end, last.ended_by), (2, &AttemptEnd::Succeeded, Some(CommandId(60))));
    assert_eq!((last.lease, last.ended_at, last.kind), (LeaseId(10), world.now, AttemptKind::Reclaim));
}

#[test]
fn unclaiming_puts_work_back_where_it_was() {
    let mut world = World::new(1);
    world.submit(work());
    let lost = world.lose(id(1), 9);
    assert!(lost.result.is_ok());
    let before = world.execution(id(1)).clone();
    let fence = world.claim(id(1), 10).fence;
    world.pass(Span::seconds(1));
    let done = world.home(&make::unclaim(60, fence));
    assert_eq!(done.result, Ok(Reply::Report(Reported::READY)));
    assert_eq!(done.events[0].what, What::Returned { attempt: 2 });
    let execution = world.execution(id(1));
    let since = world.now;
    let waiting = Waiting { readiness: Readiness::Ready { since }, next: Next::Reclaim };
    assert_eq!(execution.state, State::Waiting(waiting), "the next attempt is of the kind this one was");
    assert_eq!(execution.ready_rank(), before.ready_rank());
    assert_eq!((execution.reclaims, execution.reclaims_in_a_row, execution.retries), (1, 1, 0));
    assert_eq!(execution.last.as_ref().unwrap().end, AttemptEnd::Returned);
}

#[test]
fn a_clock_that_went_back_does_not_take_the_record_with_it() {
    let mut world = World::new(1);
    let fence = world.running(work(), 10);
    world.pass(Span::seconds(10));
    world.accept(&make::renew(fence, TTL));
    let changed_at = world.execution(id(1)).changed_at;
    world.now = Millis(5);
    assert_eq!(world.accept(&make::renew(fence, TTL)), renewed(world.now + TTL), "the lease counts from now");
    world.accept(&make::complete(60, fence));
    let execution = world.execution(id(1));
    assert_eq!((execution.changed_at, world.events.last().unwrap().at), (changed_at, changed_at));
}
