//! Choosing when an execution runs, before whom, and under which labels.

use crate::index::{self, Entry};
use crate::record::{Next, PublicState, Readiness, Record, WhyDelayed};
use crate::rules::world::World;
use crate::rules::world::make::{self, due, id, namespace, submit, tag, tags, with};
use crate::{
    Act, ActOutcome, Arrival, Category, Key, Looked, Millis, Rejection, Reply, Span, What, When, Window, act, limits,
};

fn at(when: When) -> Act {
    Act::Reschedule(act::Reschedule::from(when))
}

/// Executions 1 to 6 wait, each in another way.
fn waiting() -> World {
    let mut world = World::new(1);
    let work = |n| with!(submit(n), policy: make::retry(3, Span::seconds(5)));
    world.submit(work(1));
    world.submit(with!(work(2), when: When::After(Span::seconds(5))));
    for n in 3..=6 {
        let fence = world.running(work(n), n);
        match n {
            3 => drop(world.accept(&make::fail(50, fence))),
            4 => drop(world.accept(&make::delay(50, fence, When::After(Span::seconds(5))))),
            5 => drop(world.accept(&make::delay(50, fence, When::Now))),
            _ => {
                world.accept(&make::complete(50, fence));
                world.operate(51, id(n), make::replay());
            }
        }
    }
    world
}

#[test]
fn waiting_work_runs_when_an_operator_says() {
    let start = make::after(Span(0));
    let later =
        |span: Span| (Some(start + span), Readiness::Delayed { until: start + span, why: WhyDelayed::Operator });
    let now = || (None, Readiness::Ready { since: start });
    let past = start - limits::PAST_GRACE;
    for n in 1..=6 {
        for (when, (until, readiness), not_before) in [
            (When::Now, now(), None),
            (When::After(Span(0)), now(), None),
            (When::After(Span::hours(1)), later(Span::hours(1)), None),
            (When::At(start + Span(1)), later(Span(1)), None),
            (When::At(past), now(), Some(past)),
        ] {
            let mut world = waiting();
            let before = world.execution(id(n)).clone();
            let next = world.waiting(id(n)).next.clone();
            let done = world.home(&make::operate(60, id(n), at(when)));
            assert_eq!(done.result, Ok(Reply::Operate(ActOutcome::Rescheduled { until })), "{n} {when:?}");
            let not_after = match when {
                When::At(at) => Some(at + limits::PAST_GRACE + Span(1)),
                When::Now | When::After(_) => None,
            };
            assert_eq!(done.window, Window { not_before, not_after }, "{n} {when:?}");
            assert_eq!((done.events.len(), &done.events[0].what), (1, &What::Rescheduled { until }));
            let waiting = world.waiting(id(n));
            assert_eq!((&waiting.readiness, &waiting.next), (&readiness, &next), "{n} {when:?}: its attempt stays");
            let after = world.execution(id(n));
            let place = before.place.or(until.is_none().then_some(Arrival::at(start, 0)));
            assert_eq!(after.place, place, "{n}: a place is kept");
            assert_eq!((after.attempts, after.retries, after.epoch), (before.attempts, before.retries, before.epoch));
        }
    }
}

#[test]
fn what_was_put_off_comes_back_in_time_and_as_what_it_was() {
    let mut world = waiting();
    for n in 1..=6 {
        world.operate(60, id(n), at(When::After(Span::hours(1))));
    }
    world.pass(Span::hours(1));
    for n in 1..=6 {
        assert_eq!(world.accept(&due(id(n))), Reply::Due(Looked { acted: true, next: None }), "{n}");
        let kind = world.waiting(id(n)).next.kind();
        let claimed = world.claim(id(n), 100 + n);
        assert_eq!((claimed.attempt_kind, claimed.resumed), (kind, matches!(n, 4 | 5)), "{n}");
    }
}

#[test]
fn a_time_that_cannot_be_is_refused() {
    let mut world = waiting();
    let (grace, ahead) = (limits::PAST_GRACE, limits::FUTURE_MAX);
    let past = When::At(world.now - grace - Span(1));
    let refused = world.refuse(&make::operate(60, id(1), at(past)));
    assert_eq!(refused, Rejection::TimeInPast { field: "run_at", ago: Span(grace.0 + 1) });
    for when in [When::After(Span(ahead.0 + 1)), When::At(Millis(u64::MAX))] {
        let refused = world.refuse(&make::operate(60, id(1), at(when)));
        assert!(matches!(refused, Rejection::InvalidArgument { field: "run_at", .. }), "{when:?}");
    }
    world.operate(60, id(1), at(When::After(ahead)));
}

#[test]
fn only_what_waits_can_be_rescheduled() {
    let mut world = World::new(1);
    world.running(submit(1), 10);
    let fence = world.running(submit(2), 11);
    world.accept(&make::fail_as(50, fence, Category::permanent()));
    for (n, state) in [(1, PublicState::Active), (2, PublicState::Failed)] {
        let refused = world.refuse(&make::operate(60, id(n), at(When::Now)));
        assert_eq!(refused, Rejection::NotWaiting { execution: id(n), state });
    }
    assert_eq!(world.refuse(&make::operate(60, id(9), at(When::Now))), Rejection::ExecutionNotFound(id(9)));
}

#[test]
fn priority_moves_waiting_work_at_once_and_running_work_when_it_waits_again() {
    let mut world = waiting();
    let place = |world: &World, n| world.execution(id(n)).ready_rank();
    for n in [1, 2, 3, 4] {
        let before = place(&world, n);
        let done = world.home(&make::operate(60, id(n), Act::Prioritise(act::Prioritise { priority: 7 })));
        assert_eq!(done.result, Ok(Reply::Operate(ActOutcome::Prioritised { before: 0 })), "{n}");
        assert_eq!(done.events[0].what, What::PriorityChanged { before: 0, after: 7 });
        assert_eq!(before - place(&world, n), 7 << 50, "{n}: before everything of lower priority");
    }
    let fence = world.claim(id(1), 90).fence;
    world.operate(61, id(1), Act::Prioritise(act::Prioritise { priority: 9_000 }));
    assert_eq!(world.active(id(1)).lease.id, fence.lease, "it goes on");
    world.accept(&make::unclaim(62, fence));
    assert_eq!(place(&world, 1), world.execution(id(1)).place.unwrap().bits());
    let refused = world.refuse(&make::operate(63, id(1), Act::Prioritise(act::Prioritise { priority: 9_001 })));
    assert!(matches!(refused, Rejection::InvalidArgument { field: "priority", .. }));
    world.operate(64, id(1), make::end());
    let refused = world.refuse(&make::operate(65, id(1), Act::Prioritise(act::Prioritise { priority: 1 })));
    assert_eq!(refused, Rejection::Finished { execution: id(1), state: PublicState::Cancelled });
}

#[test]
fn labels_are_set_replaced_and_removed_together() {
    let mut world = World::new(1);
    world.submit(with!(submit(1), tags: tags(&[("a", "1"), ("b", "2")])));
    let done = world.home(&make::operate(60, id(1), tag(&[("b", "3"), ("c", "4")], &["a", "missing"])));
    assert_eq!(done.result, Ok(Reply::Operate(ActOutcome::Tagged)));
    assert_eq!((done.events.len(), &done.events[0].what), (1, &What::TagsChanged));
    assert_eq!(world.execution(id(1)).tags, tags(&[("b", "3"), ("c", "4")]));
    let entries = index::entries(&Key::Execution(id(1)), &Record::Execution(world.execution(id(1)).clone().into()));
    let rank = world.now.0;
    for (key, value, listed) in [("a", "1", false), ("b", "2", false), ("b", "3", true), ("c", "4", true)] {
        let name = index::tag(&namespace(), key, value);
        assert_eq!(entries.contains(&Entry { name, rank }), listed, "{key}={value}");
    }
}

#[test]
fn labels_that_cannot_be_are_refused_all_together() {
    let mut world = World::new(1);
    let many: Vec<String> = (0..limits::TAGS_MAX).map(|n| format!("k{n}")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|key| (key.as_str(), "v")).collect();
    world.submit(with!(submit(1), tags: tags(&many)));
    for act in [tag(&[("one-more", "v")], &[]), tag(&[("k0", "w")], &["k0"]), tag(&[("x", "v"), ("y", "v")], &["k1"])] {
        let before = world.execution(id(1)).clone();
        let refused = world.refuse(&make::operate(60, id(1), act));
        assert!(matches!(refused, Rejection::InvalidArgument { field: "tags", .. }));
        assert_eq!(*world.execution(id(1)), before);
    }
    world.operate(60, id(1), tag(&[("x", "v"), ("k0", "w")], &["k1"]));
    assert_eq!(world.execution(id(1)).tags.len(), limits::TAGS_MAX, "one for another");
}

#[test]
fn labels_change_in_every_state_and_postpone_nothing() {
    let mut world = waiting();
    let fence = world.running(submit(7), 80);
    let running = world.running(submit(8), 81);
    world.accept(&make::complete(52, fence));
    world.pass(Span::seconds(1));
    for n in 1..=8 {
        let (state, due) = (world.execution(id(n)).state.clone(), world.execution(id(n)).due());
        assert_eq!(world.operate(60, id(n), tag(&[("a", "b")], &[])), ActOutcome::Tagged, "{n}");
        assert_eq!((&world.execution(id(n)).state, world.execution(id(n)).due()), (&state, due), "{n}");
    }
    world.accept(&make::complete(61, running));
    assert!(matches!(world.waiting(id(5)).next, Next::Resume(_)));
}
