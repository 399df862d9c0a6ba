//! Keys that make a second submit return the first execution.

use crate::record::Record;
use crate::rules::world::World;
use crate::rules::world::make::{class, id, namespace, submit, trace, with};
use crate::{
    Command, Due, Key, Looked, Payload, Policy, Rejection, Reply, RetryPolicy, Span, Submit, Submitted, TraceContext,
    When, Window, limits,
};

fn keyed(n: u128) -> Submit {
    with!(submit(n), idempotency_key: Some("order/17".parse().unwrap()))
}

fn key() -> Key {
    Key::Idempotency(namespace(), "order/17".parse().unwrap())
}

fn command(submit: Submit) -> Command {
    Command::Submit(submit)
}

#[test]
fn the_second_submit_with_a_key_returns_the_first_execution() {
    let mut world = World::new(1);
    world.submit(keyed(1));
    let done = world.home(&command(keyed(2)));
    assert_eq!(done.result, Ok(Reply::Submit(Submitted { id: id(1), created: false, signalled: None })));
    assert!(done.step.writes.is_empty() && done.events.is_empty());
    let until = world.now + limits::DEDUP_WINDOW_DEFAULT;
    assert_eq!(done.window, Window { not_before: None, not_after: Some(until) });
    assert!(world.find(id(2)).is_none());
    assert_eq!(world.submit(submit(3)), id(3), "without the key it is another");
    let elsewhere = with!(keyed(4), namespace: "other".parse().unwrap());
    assert_eq!(world.submit(elsewhere), id(4), "a key belongs to its namespace");
}

#[test]
fn other_arguments_under_the_same_key_are_refused() {
    let tags = [("a".parse().unwrap(), "b".parse().unwrap())];
    let policy = Policy { retry: Some(RetryPolicy::never()), ..Policy::default() };
    let at = crate::Millis(1_900_000_000_000);
    for (other, what) in [
        (with!(keyed(2), lane: "other".parse().unwrap()), "lane"),
        (with!(keyed(2), kind: "other".parse().unwrap()), "kind"),
        (with!(keyed(2), input: Payload::json("1").unwrap()), "input"),
        (with!(keyed(2), input: Payload::bytes("text/plain", "null").unwrap()), "input"),
        (with!(keyed(2), priority: 1), "priority"),
        (with!(keyed(2), requires: class(&["gpu"])), "requires"),
        (with!(keyed(2), policy), "policy"),
        (with!(keyed(2), tags: tags.into()), "tags"),
        (with!(keyed(2), when: When::After(Span::hours(1))), "delay"),
        (with!(keyed(2), when: When::At(at)), "run_at"),
        (with!(keyed(2), deadline: Some(When::After(Span::hours(1)))), "expires_after"),
        (with!(keyed(2), deadline: Some(When::At(at))), "expires_at"),
    ] {
        let mut world = World::new(1);
        world.submit(keyed(1));
        let done = world.home(&command(other));
        assert_eq!(done.result, Err(Rejection::IdempotencyMismatch { existing: id(1), field: what.into() }));
        assert!(done.step.reads.contains(&key()) && done.window.not_after.is_some(), "{what}");
    }
}

#[test]
fn arguments_are_compared_by_what_they_mean() {
    let json = |text: &str| Payload::json(text).unwrap();
    let mut world = World::new(1);
    world.submit(with!(keyed(1), input: json(r#"{"to":"é","n":[1,2.50]}"#)));
    assert_eq!(world.submit(with!(keyed(2), input: json(" { \"n\": [1, 2.50], \"to\": \"\\u00e9\" } "))), id(1));
    let other = with!(keyed(3), input: json(r#"{"to":"é","n":[1,2.5]}"#));
    assert_eq!(
        world.refuse(&command(other)),
        Rejection::IdempotencyMismatch { existing: id(1), field: "input".into() }
    );
}

#[test]
fn the_same_delay_said_later_is_the_same_request() {
    let mut world = World::new(1);
    world.submit(with!(keyed(1), when: When::After(Span::hours(1))));
    world.pass(Span::seconds(1));
    assert_eq!(world.submit(with!(keyed(2), when: When::After(Span::hours(1)))), id(1));
}

#[test]
fn a_repeat_from_another_trace_is_the_same_request() {
    let mut world = World::new(1);
    world.submit(with!(keyed(1), trace: Some(trace())));
    let another = Some(TraceContext::new(9, 9, 0).unwrap());
    assert_eq!(world.submit(with!(keyed(2), trace: another)), id(1));
    assert_eq!(world.submit(keyed(3)), id(1));
    assert_eq!(world.execution(id(1)).trace, Some(trace()), "it stays in the trace of the first");
}

#[test]
fn a_key_is_remembered_for_the_window_of_its_policy_and_no_longer() {
    let ten_minutes = Policy { dedup_window: Some(Span::minutes(10)), ..Policy::default() };
    for (policy, window) in [(Policy::default(), Span::hours(24)), (ten_minutes, Span::minutes(10))] {
        let mut world = World::new(1);
        let keyed = |n| with!(keyed(n), policy: policy.clone());
        world.submit(keyed(1));
        let end = world.now + window;
        world.now = end - Span(1);
        assert_eq!(world.submit(keyed(2)), id(1), "the last moment still counts");
        world.now = end;
        let done = world.home(&command(keyed(3)));
        assert_eq!(done.result, Ok(Reply::Submit(Submitted { id: id(3), created: true, signalled: None })));
        assert_eq!(done.window, Window { not_before: Some(end), not_after: None });
        let Some(Record::Idempotency(known)) = world.record(&key()) else { panic!("the key is remembered again") };
        assert_eq!((known.execution, known.expires_at), (id(3), end + window));
        assert_eq!(world.submit(keyed(4)), id(3));
    }
}

#[test]
fn a_key_is_removed_when_it_is_due() {
    let mut world = World::new(1);
    world.submit(keyed(1));
    // It is forgotten when its window ends, and absent only when no batch that found it absent before can be written.
    let end = world.now + limits::DEDUP_WINDOW_DEFAULT + limits::REPEAT_WINDOW;
    let due = Command::Due(Due { key: key() });
    assert_eq!(world.accept(&due), Reply::Due(Looked { acted: false, next: Some(end) }));
    world.now = end;
    let done = world.home(&due);
    assert_eq!(done.result, Ok(Reply::Due(Looked { acted: true, next: None })));
    assert_eq!(done.window, Window { not_before: Some(end), not_after: None });
    assert!(world.record(&key()).is_none() && done.events.is_empty());
    assert_eq!(world.accept(&due), Reply::Due(Looked { acted: false, next: None }));
    assert_eq!(world.submit(keyed(2)), id(2));
}
