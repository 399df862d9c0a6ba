//! Keys that stand for one unfinished execution at a time.

use crate::record::{OnTimeout, Record, SignalEffect, UniqueRecord, WaitAddress};
use crate::rules::world::World;
use crate::rules::world::make::{self, id, namespace, submit, with};
use crate::{
    Category, Command, CommandId, Due, Key, Looked, NewSignal, NewSuspension, Payload, Rejection, Reply, Span, Submit,
    Submitted, Verb, When, Window, act, index, limits,
};

fn unique(n: u128) -> Submit {
    with!(submit(n), unique_key: Some("customer/7".parse().unwrap()), policy: make::retry(1, Span(0)))
}

fn key() -> Key {
    Key::Unique(namespace(), "customer/7".parse().unwrap())
}

fn command(submit: Submit) -> Command {
    Command::Submit(submit)
}

#[test]
fn until_it_ends_a_second_submit_returns_it() {
    let mut world = World::new(1);
    world.submit(unique(1));
    let record = Record::Unique(UniqueRecord::held(id(1)));
    assert_eq!(world.record(&key()), Some(&record));
    let other = with!(unique(2), input: Payload::json("1").unwrap(), when: When::After(Span(9)));
    for second in [unique(2), other] {
        let done = world.home(&command(second));
        assert_eq!(done.result, Ok(Reply::Submit(Submitted { id: id(1), created: false, signalled: None })));
        assert!(done.step.writes.is_empty() && done.events.is_empty());
        assert_eq!(done.window, Window::default(), "time has no part in it");
        assert!(done.step.reads.contains(&key()));
    }
    assert_eq!(world.submit(submit(3)), id(3), "without the key it is another");
    let elsewhere = with!(unique(4), namespace: "other".parse().unwrap());
    assert_eq!(world.submit(elsewhere), id(4), "a key belongs to its namespace");
    let first = world.accept(&command(unique(1)));
    assert_eq!(
        first,
        Reply::Submit(Submitted { id: id(1), created: true, signalled: None }),
        "the first call gets its answer"
    );
}

#[test]
fn a_signal_that_comes_with_a_submit_after_the_time_of_the_holder_is_for_a_new_execution() {
    for (then, wait) in [(OnTimeout::Fail, "approval"), (OnTimeout::Cancel, "other"), (OnTimeout::Expire, "approval#1")]
    {
        let mut world = World::new(1);
        let fence = world.running(unique(1), 10);
        let timeout = Some(Span::seconds(5));
        let new = NewSuspension { timeout, on_timeout: then, ..NewSuspension::new(make::one("approval")) };
        world.accept(&make::suspend(60, fence, new));
        let along = |n| with!(unique(n), signal: Some(Box::new(NewSignal::new(make::wait("approval").name))));
        let told = world.accept(&command(along(2)));
        assert_eq!(
            told,
            Reply::Submit(Submitted { id: id(1), created: false, signalled: Some(SignalEffect::Resumed) })
        );
        let fence = world.claim(id(1), 11).fence;
        let new = NewSuspension { timeout, on_timeout: then, ..NewSuspension::new(make::one("approval#2")) };
        world.accept(&make::suspend(61, fence, new));
        // No timer has fired yet. A repeat changes nothing.
        world.pass(Span::seconds(6));
        let repeat = world.home(&command(along(2)));
        assert!(repeat.step.writes.is_empty() && repeat.result == Ok(told), "{then:?}");
        let signal = NewSignal::new(wait.parse::<WaitAddress>().unwrap());
        let late = world.home(&command(with!(unique(3), signal: Some(Box::new(signal)))));
        let told = Submitted { id: id(3), created: true, signalled: Some(SignalEffect::Buffered) };
        assert_eq!(late.result, Ok(Reply::Submit(told)), "{then:?}");
        assert!(world.execution(id(1)).is_finished() && late.window.not_before.is_some());
        assert_eq!(world.record(&key()), Some(&Record::Unique(UniqueRecord::held(id(3)))));
    }
}

#[test]
fn it_is_held_through_everything_but_an_end() {
    let mut world = World::new(1);
    world.submit(unique(1));
    let held = |world: &mut World, what: &str| {
        let answer = world.accept(&command(unique(99)));
        assert_eq!(answer, Reply::Submit(Submitted { id: id(1), created: false, signalled: None }), "{what}");
    };
    world.lose(id(1), 10);
    held(&mut world, "lost");
    let fence = world.claim(id(1), 11).fence;
    held(&mut world, "running");
    world.accept(&make::delay(50, fence, When::After(Span::days(1))));
    held(&mut world, "paused");
    world.when_due(id(1));
    let fence = world.claim(id(1), 12).fence;
    world.accept(&make::fail(51, fence));
    held(&mut world, "retrying");
    world.operate(52, id(1), crate::Act::Reschedule(act::Reschedule::from(When::After(Span::days(30)))));
    world.pass(Span::days(20));
    held(&mut world, "put off");
}

#[test]
fn every_end_frees_it() {
    for how in ["completed", "failed", "cancelled", "ended", "expired", "timed out", "lost for good", "stopped"] {
        let mut world = World::new(1);
        let policy = crate::Policy {
            attempt_timeout: (how == "timed out").then_some(Span::seconds(1)),
            max_reclaims: Some(0),
            ..make::retry(0, Span(0))
        };
        let deadline = (how == "expired").then_some(When::After(Span::seconds(1)));
        let fence = world.running(with!(unique(1), policy, deadline), 10);
        let done = match how {
            "completed" => world.home(&make::complete(50, fence)),
            "failed" => world.home(&make::fail_as(50, fence, Category::permanent())),
            "cancelled" => world.home(&make::cancel(50, fence)),
            "ended" => world.home(&make::operate(50, id(1), make::end())),
            "stopped" => {
                world.operate(49, id(1), make::ask(Span(0)));
                world.when_due(id(1))
            }
            _ => world.when_due(id(1)),
        };
        assert!(done.step.writes.contains(&key()), "{how}: in the same commit");
        assert_eq!(world.record(&key()), Some(&Record::Unique(UniqueRecord::freed(id(1), world.now))), "{how}");
        assert_eq!(world.submit(unique(2)), id(2), "{how}");
    }
}

/// Absence has no version: a batch in flight that expects the key to be absent, and whose command was refused meanwhile,
/// would be written if the key were ever absent again within its life.
#[test]
fn a_freed_key_is_absent_only_after_the_repeat_window() {
    let mut world = World::new(1);
    world.submit(unique(1));
    world.operate(50, id(1), make::end());
    let (freed_at, removed_at) = (world.now, world.now + limits::REPEAT_WINDOW);
    let freed = Record::Unique(UniqueRecord::freed(id(1), freed_at));
    assert_eq!(index::due_rank(&freed), Some(index::DueKind::Housekeeping.rank(removed_at)), "nothing waits for it");
    let due = Command::Due(Due { key: key() });
    world.now = removed_at - Span(1);
    assert_eq!(world.accept(&due), Reply::Due(Looked { acted: false, next: Some(removed_at) }));
    assert_eq!(world.record(&key()), Some(&freed));
    world.now = removed_at;
    let done = world.home(&due);
    assert_eq!(done.result, Ok(Reply::Due(Looked { acted: true, next: None })));
    assert_eq!(done.window.not_before, Some(removed_at), "by the store's clock, not by ours");
    assert_eq!(world.record(&key()), None);
    // The end and a batch behind it may both be late.
    const { assert!(limits::BATCH_LIFE.0 * 2 < limits::REPEAT_WINDOW.0) };
}

#[test]
fn a_key_that_is_held_again_is_not_removed() {
    let mut world = World::new(1);
    world.submit(unique(1));
    world.operate(50, id(1), make::end());
    world.submit(unique(2));
    world.pass(limits::REPEAT_WINDOW);
    assert_eq!(world.accept(&Command::Due(Due { key: key() })), Reply::Due(Looked { acted: false, next: None }));
    assert_eq!(world.record(&key()), Some(&Record::Unique(UniqueRecord::held(id(2)))));
}

#[test]
fn a_replay_takes_it_again_if_it_is_free() {
    let mut world = World::new(1);
    world.submit(unique(1));
    world.operate(50, id(1), make::end());
    world.submit(unique(2));
    let refused = world.refuse(&make::operate(51, id(1), make::replay()));
    assert_eq!(refused, Rejection::UniqueKeyTaken { existing: id(2) });
    world.operate(52, id(2), make::end());
    world.operate(53, id(1), make::replay());
    assert_eq!(world.submit(unique(3)), id(1));
    assert!(matches!(world.refuse(&make::operate(54, id(2), make::replay())), Rejection::UniqueKeyTaken { .. }));
}

#[test]
fn an_end_frees_only_its_own_key() {
    let mut world = World::new(1);
    world.submit(unique(1));
    // As after a store that lost its last second: the key stands for another execution.
    let other = Record::Unique(UniqueRecord::held(id(2)));
    world.put(key(), other.clone());
    world.operate(50, id(1), make::end());
    assert_eq!(world.record(&key()), Some(&other));
}

#[test]
fn two_keys_cannot_place_one_execution() {
    let mut world = World::new(1);
    let both = with!(unique(1), idempotency_key: Some("order".parse().unwrap()));
    assert_eq!(world.refuse(&command(both.clone())), Rejection::TwoKeys);
    assert!(both.keys(id(1).partition()).iter().all(|key| !matches!(key, Key::Unique(..) | Key::Idempotency(..))));
    world.submit(Submit { command: CommandId(7), ..unique(1) });
}

/// A call that named itself gets its first answer, whoever holds the key by then.
#[test]
fn a_named_call_finds_what_it_made() {
    let named = |n, call| with!(unique(n), call: Some(CommandId(call)));
    let mut world = World::new(1);
    let made = |id, created| Ok(Reply::Submit(Submitted { id, created, signalled: None }));
    assert_eq!(world.home(&command(named(1, 70))).result, made(id(1), true));
    assert_eq!(world.home(&command(named(2, 70))).result, made(id(1), true), "a repeat");
    assert_eq!(world.home(&command(named(2, 71))).result, made(id(1), false), "another call");
    world.operate(50, id(1), make::end());
    assert_eq!(world.home(&command(named(3, 70))).result, made(id(1), true), "it has ended");
    assert_eq!(world.home(&command(named(3, 71))).result, made(id(3), true), "a duplicate is not remembered");
    assert_eq!(world.home(&command(named(4, 70))).result, made(id(1), true), "the key is taken again");
    let other = with!(named(4, 70), input: Payload::json("7").unwrap());
    let refused = world.refuse(&command(other));
    assert_eq!(refused, Rejection::IdempotencyMismatch { existing: id(1), field: "input".into() });
    world.pass(limits::REPEAT_WINDOW - Span(1));
    assert_eq!(world.home(&command(named(5, 70))).result, made(id(1), true), "until the window is over");
    world.pass(Span(1));
    assert_eq!(world.home(&command(named(5, 70))).result, made(id(3), false), "forgotten after the window");
    assert_eq!(world.home(&command(named(5, 71))).result, made(id(3), true), "what has not ended is remembered");
}

#[test]
fn a_key_remembers_eight_calls() {
    let mut world = World::new(1);
    for n in 1..=10 {
        world.submit(with!(unique(n), call: Some(CommandId(70 + n))));
        world.operate(100 + n, id(n), make::end());
    }
    let Some(Record::Unique(record)) = world.record(&key()) else { panic!("there is a record") };
    let known: Vec<u128> = (1..=10).filter(|n| record.call(CommandId(70 + n)).is_some()).collect();
    assert_eq!(known, (3..=10).collect::<Vec<_>>());
}

/// Whether a call is right does not depend on who holds its key.
#[test]
fn a_wrong_submit_is_refused_while_its_key_is_held_too() {
    let mut world = World::new(1);
    world.submit(unique(1));
    let deep = format!("{}{}", "[".repeat(limits::JSON_DEPTH_MAX + 1), "]".repeat(limits::JSON_DEPTH_MAX + 1));
    let deep = Payload::Json(serde_json::from_str(&deep).unwrap());
    let refused = world.refuse(&Command::Submit(with!(unique(2), input: deep)));
    assert_eq!(refused.code(), "payload_too_deep");
    let refused = world.refuse(&Command::Submit(with!(unique(2), priority: limits::PRIORITY_MAX + 1)));
    assert_eq!(refused.code(), "invalid_argument");
}
