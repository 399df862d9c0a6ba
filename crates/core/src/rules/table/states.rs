//! The states that differ in what they answer, and a world with an execution in each.

use crate::record::{AttemptEnd, Execution, Next, Outcome, Readiness, State, Waiting, WhyDelayed, WhyHeld};
use crate::rules::world::World;
use crate::rules::world::make::{self, TTL, id, submit, with};
use crate::{Act, Category, Fence, LeaseId, Millis, NewSuspension, OnExhausted, Policy, Span, Submit, When, act};

/// The states. The caller of a worker's command holds or held lease 10; command 40 was its last under that lease, and
/// command 41 the last of an operator, where there were such calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Absent,
    ReadyFirst,
    ReadyRetry,
    ReadyReclaim,
    ReadyReturned,
    ReadyReplay,
    ReadyResume,
    /// Its deadline has passed and nobody has looked yet.
    ReadyTooLate,
    DelayedSubmitted,
    DelayedRetry,
    DelayedReclaim,
    DelayedWorker,
    DelayedOperator,
    ActiveMine,
    /// The caller went on with an attempt that had a pause.
    ActiveResumed,
    /// It was asked to stop.
    ActiveAsked,
    ActiveOther,
    /// Another goes on with the caller's attempt.
    ActiveOnward,
    ActiveLapsed,
    ActiveTimedOut,
    /// Its deadline has passed and nobody has looked yet.
    ActiveTooLate,
    /// It was asked to stop, did not in time, and nobody has looked yet.
    ActiveStopOver,
    /// The caller's attempt waits for a signal.
    Suspended,
    /// Its suspension has timed out and nobody has looked yet.
    SuspendedOver,
    /// An operator holds it.
    Held,
    /// No retry was left, and it is held for an operator.
    HeldExhausted,
    Completed,
    Failed,
    Cancelled,
    Expired,
    /// It was purged; its record answers repeats.
    Stub,
}

pub(super) const CLASSES: [Class; 31] = [
    Class::Absent,
    Class::ReadyFirst,
    Class::ReadyRetry,
    Class::ReadyReclaim,
    Class::ReadyReturned,
    Class::ReadyReplay,
    Class::ReadyResume,
    Class::ReadyTooLate,
    Class::DelayedSubmitted,
    Class::DelayedRetry,
    Class::DelayedReclaim,
    Class::DelayedWorker,
    Class::DelayedOperator,
    Class::ActiveMine,
    Class::ActiveResumed,
    Class::ActiveAsked,
    Class::ActiveOther,
    Class::ActiveOnward,
    Class::ActiveLapsed,
    Class::ActiveTimedOut,
    Class::ActiveTooLate,
    Class::ActiveStopOver,
    Class::Suspended,
    Class::SuspendedOver,
    Class::Held,
    Class::HeldExhausted,
    Class::Completed,
    Class::Failed,
    Class::Cancelled,
    Class::Expired,
    Class::Stub,
];

/// The class of a stored state; a new variant must be added here.
pub(super) fn class_of(execution: Option<&Execution>, now: Millis) -> Class {
    let Some(execution) = execution else { return Class::Absent };
    let over = |time: Option<Millis>| time.is_some_and(|time| time <= now);
    match &execution.state {
        State::Waiting(Waiting { readiness: Readiness::Suspended(suspension), .. }) => {
            if over(suspension.due()) {
                Class::SuspendedOver
            } else {
                Class::Suspended
            }
        }
        State::Waiting(_) if execution.held.is_some() => match execution.held.as_ref().map(|held| held.why) {
            Some(WhyHeld::Exhausted) => Class::HeldExhausted,
            _ => Class::Held,
        },
        State::Waiting(Waiting { readiness: Readiness::Ready { .. }, next }) => match next {
            _ if over(execution.deadline) => Class::ReadyTooLate,
            Next::Resume(_) => Class::ReadyResume,
            Next::Replay => Class::ReadyReplay,
            _ if execution.last.as_ref().is_some_and(|last| last.end == AttemptEnd::Returned) => Class::ReadyReturned,
            Next::Initial => Class::ReadyFirst,
            Next::Retry => Class::ReadyRetry,
            Next::Reclaim => Class::ReadyReclaim,
        },
        State::Waiting(Waiting { readiness: Readiness::Delayed { why, .. }, .. }) => match why {
            WhyDelayed::Submitted => Class::DelayedSubmitted,
            WhyDelayed::Retry => Class::DelayedRetry,
            WhyDelayed::Reclaim => Class::DelayedReclaim,
            WhyDelayed::Worker | WhyDelayed::Resumed => Class::DelayedWorker,
            WhyDelayed::Operator => Class::DelayedOperator,
        },
        State::Active(active) => {
            let resumed = active.attempt.resumed;
            match &active.stop {
                _ if over(execution.deadline) => Class::ActiveTooLate,
                _ if active.lease.expires_at <= now => Class::ActiveLapsed,
                _ if over(execution.times_out_at(active)) => Class::ActiveTimedOut,
                Some(stop) if stop.until <= now => Class::ActiveStopOver,
                Some(_) => Class::ActiveAsked,
                None if active.lease.id == LeaseId(10) && resumed => Class::ActiveResumed,
                None if active.lease.id == LeaseId(10) => Class::ActiveMine,
                None if resumed => Class::ActiveOnward,
                None => Class::ActiveOther,
            }
        }
        State::Finished(finished) => match finished.outcome {
            _ if finished.purging.is_some() => Class::Stub,
            Outcome::Success => Class::Completed,
            Outcome::Failed => Class::Failed,
            Outcome::Cancelled => Class::Cancelled,
            Outcome::Expired => Class::Expired,
        },
    }
}

/// A submit that can come into this class.
fn work(class: Class, retries_left: bool) -> Submit {
    let pause = if class == Class::ReadyRetry { Span(0) } else { Span::seconds(5) };
    let needed = match class {
        Class::ReadyRetry | Class::DelayedRetry => 1,
        _ => 0,
    };
    let attempt_timeout = (class == Class::ActiveTimedOut).then_some(Span::seconds(5));
    let on_exhausted = (class == Class::HeldExhausted).then_some(OnExhausted::Pause);
    let retries = if class == Class::HeldExhausted { 0 } else { needed + u32::from(retries_left) };
    let policy = Policy { attempt_timeout, on_exhausted, ..make::retry(retries, pause) };
    let expires = matches!(class, Class::ReadyTooLate | Class::ActiveTooLate | Class::Expired);
    let when = if class == Class::DelayedSubmitted { When::After(Span::seconds(5)) } else { When::Now };
    with!(submit(1), policy, when, deadline: expires.then_some(When::After(Span::seconds(5))))
}

/// A world with execution 1 in a class, and the fence of the caller.
pub(super) fn world_in(class: Class, retries_left: bool) -> (World, Fence) {
    let mut world = World::new(1);
    let mut fence = Fence { execution: id(1), lease: LeaseId(10), epoch: 1, attempt: 1 };
    if class == Class::Absent {
        return (world, fence);
    }
    world.submit(work(class, retries_left));
    match class {
        Class::Absent | Class::ReadyFirst | Class::DelayedSubmitted => {}
        Class::ReadyTooLate => world.pass(Span::seconds(5)),
        Class::DelayedOperator => {
            world.operate(41, id(1), Act::Reschedule(act::Reschedule::from(When::After(Span::seconds(5)))));
        }
        Class::Held => drop(world.operate(41, id(1), Act::Pause(act::Pause { reason: "look".into() }))),
        Class::ReadyReclaim => drop(world.lose(id(1), 10)),
        Class::DelayedReclaim => [10, 11, 12].into_iter().for_each(|lease| drop(world.lose(id(1), lease))),
        Class::ActiveOther => {
            world.lose(id(1), 10);
            world.claim(id(1), 11);
        }
        Class::ActiveResumed => {
            let first = world.claim(id(1), 9).fence;
            world.accept(&make::delay(39, first, When::Now));
            fence = world.claim(id(1), 10).fence;
            world.pass(Span::seconds(1));
        }
        claimed => {
            world.claim(id(1), 10);
            after_claim(&mut world, claimed, fence);
        }
    }
    assert_eq!(class_of(world.find(id(1)), world.now), class);
    (world, fence)
}

/// What becomes of an execution after its first claim.
fn after_claim(world: &mut World, class: Class, fence: Fence) {
    match class {
        Class::ReadyRetry | Class::DelayedRetry => drop(world.accept(&make::fail(40, fence))),
        Class::HeldExhausted => drop(world.accept(&make::fail(40, fence))),
        Class::Suspended | Class::SuspendedOver => {
            let new = NewSuspension { timeout: Some(Span::seconds(5)), ..NewSuspension::new(make::one("approval")) };
            world.accept(&make::suspend(40, fence, new));
            world.pass(Span::seconds(if class == Class::Suspended { 1 } else { 5 }));
        }
        Class::ReadyReturned => drop(world.accept(&make::unclaim(40, fence))),
        Class::ReadyResume => drop(world.accept(&make::delay(40, fence, When::Now))),
        Class::DelayedWorker => drop(world.accept(&make::delay(40, fence, When::After(Span::seconds(5))))),
        Class::ActiveOnward => {
            world.accept(&make::delay(40, fence, When::Now));
            world.claim(id(1), 11);
        }
        Class::ActiveMine => world.pass(Span::seconds(1)),
        Class::ActiveLapsed => world.pass(TTL),
        Class::ActiveTimedOut | Class::ActiveTooLate => world.pass(Span::seconds(5)),
        Class::ActiveAsked | Class::ActiveStopOver => {
            world.operate(41, id(1), make::ask(Span::seconds(5)));
            world.pass(Span::seconds(if class == Class::ActiveAsked { 1 } else { 5 }));
        }
        Class::Completed => drop(world.accept(&make::complete(40, fence))),
        Class::ReadyReplay => {
            world.accept(&make::complete(40, fence));
            world.operate(41, id(1), make::replay());
        }
        Class::Stub => {
            world.accept(&make::complete(40, fence));
            world.operate(41, id(1), Act::Purge(act::Purge {}));
        }
        Class::Failed => drop(world.accept(&make::fail_as(40, fence, Category::permanent()))),
        Class::Cancelled => drop(world.accept(&make::cancel(40, fence))),
        Class::Expired => drop(world.when_due(id(1))),
        other => panic!("{other:?} is not reached by a claim"),
    }
}
