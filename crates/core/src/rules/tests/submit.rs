//! Accepting new work.

use crate::record::{
    Format, LaneQueues, LaneState, Next, Readiness, Record, State, StoredPayload, Waiting, WhyDelayed,
};
use crate::rules::world::World;
use crate::rules::world::make::{self, HOME, after, class, id, lane, namespace, submit, with};
use crate::{
    Arrival, Blob, Category, Command, CommandId, Event, Key, Millis, PartitionId, Payload, Policy, Rejection, Reply,
    RetryPolicy, Span, Subject, Submit, Submitted, What, When, Window, limits,
};

fn command(submit: Submit) -> Command {
    Command::Submit(submit)
}

#[test]
fn new_work_is_ready_at_once_and_its_class_is_registered() {
    let mut world = World::new(1);
    let done = world.home(&command(with!(submit(1), requires: class(&["gpu"]), priority: 5)));
    assert_eq!(done.result, Ok(Reply::Submit(Submitted { id: id(1), created: true, signalled: None })));
    assert_eq!(done.window, Window::default());
    let what = What::Submitted { kind: "work".parse().unwrap(), delayed_until: None };
    let (at, format) = (world.now, Format);
    let subject = Subject::Execution { namespace: namespace(), lane: lane(), execution: id(1) };
    let event = Event { format, at, subject, by: None, what };
    assert_eq!(done.events, [event]);
    let execution = world.execution(id(1));
    let since = world.now;
    let ready = Waiting { readiness: Readiness::Ready { since }, next: Next::Initial };
    assert_eq!(execution.state, State::Waiting(ready));
    assert_eq!((execution.created_at, execution.changed_at), (since, since));
    assert_eq!(execution.place, Some(Arrival::at(since, 0)));
    assert_eq!((execution.attempts, execution.retries, execution.reclaims, execution.epoch), (0, 0, 0, 0));
    assert_eq!((execution.started_at, &execution.last, &execution.result), (None, &None, &None));
    assert!(matches!(&execution.input, StoredPayload::Json(json) if json.as_str() == "null"));
    let key = Key::Queues(namespace(), lane(), HOME);
    let registry = LaneQueues::of(&"work".parse().unwrap(), &class(&["gpu"]), world.now);
    assert_eq!(world.record(&key), Some(&Record::Queues(registry)));

    let again = world.home(&command(with!(submit(2), requires: class(&["gpu"]))));
    assert!(!again.step.writes.contains(&key), "a known queue is not written again");
}

#[test]
fn a_repeat_gets_the_first_answer_whatever_happened_since() {
    let mut world = World::new(1);
    let first = command(with!(submit(1), when: When::At(world.now + Span(5))));
    let answer = world.accept(&first);
    world.pass(Span::days(2));
    world.lane_is(LaneState::Draining);
    let done = world.home(&first);
    assert_eq!(done.result, Ok(answer));
    assert!(done.step.writes.is_empty() && done.events.is_empty());
    let other = command(Submit { command: CommandId(99), ..submit(1) });
    assert_eq!(world.refuse(&other), Rejection::ExecutionExists(id(1)));
}

#[test]
fn the_requested_time_decides_between_ready_and_delayed() {
    let start = after(Span(0));
    let hour = Span::hours(1);
    let delayed = |until: Millis| Readiness::Delayed { until, why: WhyDelayed::Submitted };
    let ready = || Readiness::Ready { since: start };
    let until = |time: Millis| Some(time + limits::PAST_GRACE + Span(1));
    let from = |time: Millis| Window { not_before: Some(time), not_after: until(time) };
    let before = |time: Millis| Window { not_before: None, not_after: until(time) };
    let free = Window::default();
    for (when, readiness, window) in [
        (When::Now, ready(), free),
        (When::After(Span(0)), ready(), free),
        (When::After(hour), delayed(start + hour), free),
        (When::At(start + Span(1)), delayed(start + Span(1)), before(start + Span(1))),
        (When::At(start), ready(), from(start)),
        (When::At(start - Span(1)), ready(), from(start - Span(1))),
        (When::At(start - limits::PAST_GRACE), ready(), from(start - limits::PAST_GRACE)),
        (When::At(start + limits::FUTURE_MAX), delayed(start + limits::FUTURE_MAX), before(start + limits::FUTURE_MAX)),
    ] {
        let queued = matches!(readiness, Readiness::Ready { .. }).then_some(Arrival::at(start, 0));
        let mut world = World::new(1);
        let done = world.home(&command(with!(submit(1), when)));
        assert!(done.result.is_ok(), "{when:?}");
        assert_eq!(done.window, window, "{when:?}");
        let execution = world.execution(id(1));
        assert_eq!(execution.state, State::Waiting(Waiting { readiness, next: Next::Initial }), "{when:?}");
        assert_eq!(execution.place, queued, "{when:?}");
        let What::Submitted { delayed_until, .. } = done.events[0].what else { panic!("{when:?}") };
        assert_eq!(delayed_until, execution.due(), "{when:?}");
    }
}

#[test]
fn a_time_too_long_past_is_refused_only_if_the_store_agrees() {
    let mut world = World::new(1);
    let at = world.now - limits::PAST_GRACE - Span(1);
    let done = world.home(&command(with!(submit(1), when: When::At(at))));
    let ago = Span(limits::PAST_GRACE.0 + 1);
    assert_eq!(done.result, Err(Rejection::TimeInPast { field: "run_at", ago }));
    assert_eq!(done.window, Window { not_before: Some(world.now), not_after: None });
}

#[test]
fn arguments_outside_their_limits_are_refused_by_name() {
    let policy = |retry: RetryPolicy| Policy { retry: Some(retry), ..Policy::default() };
    let categories = vec![Category::transient(); limits::CATEGORIES_MAX + 1];
    let too_long = Span(limits::BACKOFF_MAX.0 + 1);
    let tags = (0..=limits::TAGS_MAX).map(|n| (format!("k{n}").parse().unwrap(), "v".parse().unwrap())).collect();
    let blob = Blob { content_type: "text/plain".into(), bytes: "x".into() };
    let window = |span: Span| Policy { dedup_window: Some(span), ..Policy::default() };
    for (submit, field) in [
        (with!(submit(1), priority: limits::PRIORITY_MAX + 1), "priority"),
        (with!(submit(1), tags), "tags"),
        (with!(submit(1), policy: make::retry(limits::RETRIES_MAX + 1, Span(0))), "max_retries"),
        (with!(submit(1), policy: policy(RetryPolicy { categories, ..RetryPolicy::default() })), "categories"),
        (with!(submit(1), policy: policy(RetryPolicy::fixed(1, too_long))), "first_pause"),
        (
            with!(submit(1), policy: policy(RetryPolicy { longest_pause: too_long, ..RetryPolicy::default() })),
            "longest_pause",
        ),
        (with!(submit(1), policy: window(Span(limits::DEDUP_WINDOW_MIN.0 - 1))), "dedup_window"),
        (with!(submit(1), policy: window(Span(limits::DEDUP_WINDOW_MAX.0 + 1))), "dedup_window"),
        (with!(submit(1), when: When::After(Span(limits::FUTURE_MAX.0 + 1))), "run_at"),
        (with!(submit(1), when: When::At(Millis(u64::MAX))), "run_at"),
        (with!(submit(1), delay: Some(Span(5)), run_at: Some(after(Span(5)))), "run_at"),
        (with!(submit(1), expires_after: Some(Span(5)), expires_at: Some(after(Span(5)))), "expires_at"),
        (with!(submit(1), input: Payload::null(), input_bytes: Some(blob)), "input"),
        (Submit { id: make::id_in(1, PartitionId(1)), ..submit(1) }, "id"),
    ] {
        let mut world = World::new(2);
        match world.refuse(&command(submit)) {
            Rejection::InvalidArgument { field: named, .. } | Rejection::Payload { field: named, .. } => {
                assert_eq!(named, field);
            }
            other => panic!("{field}: {other}"),
        }
        assert!(world.records.is_empty(), "{field}");
    }
}

#[test]
fn arguments_at_their_limits_are_accepted() {
    let categories = vec![Category::transient(); limits::CATEGORIES_MAX];
    let retry =
        RetryPolicy { categories, jitter: true, ..RetryPolicy::fixed(limits::RETRIES_MAX, limits::BACKOFF_MAX) };
    let mut world = World::new(1);
    let policy = Policy {
        retry: Some(retry),
        attempt_timeout: Some(limits::ATTEMPT_TIMEOUT_MAX),
        max_reclaims: Some(limits::RECLAIMS_MAX),
        max_replays: Some(limits::REPLAYS_MAX),
        retention: Some(limits::RETENTION_MAX),
        dedup_window: Some(limits::DEDUP_WINDOW_MAX),
        on_exhausted: None,
    };
    let tags = (0..limits::TAGS_MAX).map(|n| (format!("k{n}").parse().unwrap(), "v".parse().unwrap())).collect();
    world.submit(with!(submit(1), priority: limits::PRIORITY_MAX, tags, policy));
    assert_eq!(
        world.execution(id(1)).ready_rank(),
        Arrival::at(world.now, 0).bits(),
        "the highest priority ranks by time alone"
    );
}

#[test]
fn a_paused_lane_takes_submissions_and_a_draining_one_does_not() {
    for (state, taken) in [(LaneState::Open, true), (LaneState::Paused, true), (LaneState::Draining, false)] {
        let mut world = World::new(1);
        world.lane_is(state);
        let done = world.home(&command(submit(1)));
        let refused = Err(Rejection::LaneDraining(lane()));
        let expected =
            if taken { Ok(Reply::Submit(Submitted { id: id(1), created: true, signalled: None })) } else { refused };
        assert_eq!(done.result, expected, "{state:?}");
        assert!(done.step.reads.contains(&Key::LaneCopy(namespace(), lane(), HOME)), "a refusal keeps its reads");
    }
}
