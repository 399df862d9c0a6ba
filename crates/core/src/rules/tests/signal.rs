//! Signals: repeats, mail, distinct people, names, limits, and who may send them.

use crate::record::{PublicState, SignalEffect};
use crate::rules::world::World;
use crate::rules::world::make::{self, count, id, one, submit, wait, with};
use crate::{
    Condition, Distinct, Fence, NewSuspension, Payload, Proof, Rejection, Reply, Signal, SignalName, Signalled, Span,
    Suspended, What, When, Window, limits,
};

fn effect(world: &mut World, signal: Signal) -> SignalEffect {
    answer(world, signal).effect
}

fn answer(world: &mut World, signal: Signal) -> Signalled {
    match world.accept(&signal.into()) {
        Reply::Signal(signalled) => signalled,
        other => panic!("{other:?}"),
    }
}

fn suspended_on(condition: Condition) -> World {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    world.accept(&make::suspend(60, fence, NewSuspension::new(condition)));
    world
}

fn named(command: u128, name: &str) -> Signal {
    let mut signal = make::signal(command, id(1), "review");
    signal.signal.name = Some(name.parse().unwrap());
    signal
}

fn keyed(command: u128, wait: &str, key: &str) -> Signal {
    let mut signal = make::signal(command, id(1), wait);
    signal.signal.idempotency_key = Some(key.parse().unwrap());
    signal
}

fn proof(actor: &str, wait_for: &str, names: &[&str]) -> Proof {
    Proof {
        wait: format!("0.{wait_for}").parse().unwrap(),
        actor: actor.parse().unwrap(),
        names: names.iter().map(|name| name.parse::<SignalName>().unwrap()).collect(),
        not_after: make::after(Span::hours(1)),
        minted_by: None,
    }
}

#[test]
fn a_key_makes_a_repeat_whatever_followed() {
    let mut world = suspended_on(one("paid"));
    let first = answer(&mut world, keyed(70, "paid", "event-1"));
    assert_eq!(first.effect, SignalEffect::Resumed);
    let fence = world.claim(id(1), 11).fence;
    for (command, act) in [(71, 0), (72, 1), (73, 2)] {
        let done = world.home(&keyed(command, "paid", "event-1").into());
        assert_eq!(done.result, Ok(Reply::Signal(first.clone())), "after step {act}");
        assert!(done.step.writes.is_empty() && done.events.is_empty());
        match act {
            0 => drop(world.accept(&make::complete(61, fence))),
            1 => drop(world.operate(90, id(1), make::replay())),
            _ => {}
        }
    }
    assert_eq!(world.execution(id(1)).waits.as_ref().unwrap().signals, 1);
    assert_ne!(answer(&mut world, keyed(74, "other", "event-1")).signal, first.signal, "another wait, another signal");
}

#[test]
fn a_loop_over_one_name_gets_each_signal_once_and_in_order() {
    let mut world = World::new(1);
    let mut fence = world.running(submit(1), 10);
    let mut sent = Vec::new();
    for n in 0..3_u128 {
        sent.push(answer(&mut world, make::signal(70 + n, id(1), "event")).signal);
    }
    let mut got = Vec::new();
    for n in 1..=5_u128 {
        let call = make::suspend_on(60 + n, fence, &format!("event#{n}"));
        let Reply::Suspend(answer) = world.accept(&call) else { panic!() };
        let woke = match answer.met {
            Some(met) => met,
            None => {
                sent.push(self::answer(&mut world, make::signal(80 + n, id(1), "event")).signal);
                let claimed = world.claim(id(1), 10 + n);
                fence = claimed.fence;
                claimed.woke.unwrap()
            }
        };
        got.extend(woke.waits[0].signals.iter().map(|signal| signal.id));
    }
    assert_eq!(got, sent);
}

#[test]
fn distinct_people_count_once_each() {
    let mut world = suspended_on(count(2, Distinct::Actors, &["review"]));
    let by = |command, actor: &str| make::signal_by(command, id(1), "review", actor);
    assert_eq!(effect(&mut world, by(70, "ada")), SignalEffect::Counted);
    assert_eq!(effect(&mut world, by(71, "ada")), SignalEffect::Ignored);
    assert_eq!(effect(&mut world, make::signal(72, id(1), "review")), SignalEffect::Ignored, "nobody in particular");
    assert_eq!(world.execution(id(1)).public_state(), PublicState::Suspended);
    assert_eq!(effect(&mut world, by(73, "grace")), SignalEffect::Resumed);
    let claimed = world.claim(id(1), 11);
    let who: Vec<_> = claimed.woke.unwrap().waits[0].signals.iter().map(|one| one.actor.clone()).collect();
    assert_eq!(who, [Some("ada".parse().unwrap()), Some("grace".parse().unwrap())]);
}

#[test]
fn a_token_is_good_for_one_choice_of_one_wait() {
    let mut world = suspended_on(count(2, Distinct::Actors, &["review"]));
    let by = |command, actor: &str, name: &str| Signal {
        proof: Some(proof(actor, "review#1", &["yes", "no"])),
        by: Some("server".parse().unwrap()),
        ..named(command, name)
    };
    let first = answer(&mut world, by(70, "ada", "yes"));
    assert_eq!(first.effect, SignalEffect::Counted);
    for command in [71, 72] {
        assert_eq!(answer(&mut world, by(command, "ada", "no")), first, "the first choice stands");
    }
    assert_eq!(world.refuse(&by(73, "grace", "maybe").into()).code(), "invalid_argument");
    assert_eq!(effect(&mut world, by(74, "grace", "yes")), SignalEffect::Resumed);
    // Its wait is over: the next round needs tokens of its own.
    let closed = world.refuse(&by(75, "alan", "yes").into());
    assert_eq!(closed, Rejection::WaitpointClosed { wait: wait("review") });
    let fence = world.claim(id(1), 11).fence;
    world.accept(&make::suspend_on(61, fence, "review#2"));
    assert_eq!(world.refuse(&by(76, "alan", "yes").into()).code(), "waitpoint_closed");
    world.now = make::after(Span::hours(1));
    let late = Signal { proof: Some(proof("alan", "review#2", &[])), ..named(77, "yes") };
    let done = world.home(&late.into());
    assert_eq!(done.result, Err(Rejection::TokenExpired { at: make::after(Span::hours(1)) }));
    assert_eq!(done.window.not_before, Some(make::after(Span::hours(1))));
}

#[test]
fn names_choose_the_wait_and_the_rest_is_kept() {
    let names = vec!["approved".parse().unwrap()];
    let picky = Condition::Wait { wait: wait("review"), names, timeout: None, until: None };
    let mut world = suspended_on(picky);
    assert_eq!(effect(&mut world, named(70, "comment")), SignalEffect::Buffered);
    assert_eq!(effect(&mut world, make::signal(71, id(1), "review")), SignalEffect::Buffered);
    assert_eq!(effect(&mut world, named(72, "approved")), SignalEffect::Resumed);
    let fence = world.claim(id(1), 11).fence;
    let Reply::Suspend(answer) = world.accept(&make::suspend_on(61, fence, "review#2")) else { panic!() };
    let name = answer.met.unwrap().waits[0].signals[0].name.clone();
    assert_eq!(name.as_ref().map(SignalName::as_str), Some("comment"), "the oldest of what was kept");
}

#[test]
fn one_signal_may_serve_several_parts_and_counts_do_not_mix() {
    let both =
        Condition::All { of: vec![count(2, Distinct::Signals, &["a"]), count(1, Distinct::Actors, &["a"]), one("b")] };
    let mut world = suspended_on(both);
    assert_eq!(effect(&mut world, make::signal_by(70, id(1), "a", "ada")), SignalEffect::Counted);
    assert_eq!(effect(&mut world, make::signal_by(71, id(1), "a", "ada")), SignalEffect::Counted);
    assert_eq!(effect(&mut world, make::signal_by(72, id(1), "a", "ada")), SignalEffect::Ignored);
    assert_eq!(effect(&mut world, make::signal(73, id(1), "b")), SignalEffect::Resumed);
}

#[test]
fn payloads_come_back_as_they_were_sent() {
    let every = Payload::bytes("application/octet-stream", (0..=255).collect::<Vec<u8>>()).unwrap();
    let large = Payload::json(format!("\"{}\"", "a".repeat(20_000))).unwrap();
    let small = Payload::json("{\"a\" : 1.50}").unwrap();
    let mut world = suspended_on(count(3, Distinct::Signals, &["a"]));
    for (n, payload) in [&every, &large, &small].into_iter().enumerate() {
        let mut signal = make::signal(70 + n as u128, id(1), "a");
        signal.signal.set_payload(payload.clone());
        world.accept(&signal.into());
    }
    let woke = world.claim(id(1), 11).woke.unwrap();
    let carried: Vec<_> = woke.waits[0].signals.iter().filter_map(|signal| signal.carried()).collect();
    assert_eq!(carried, [every, large, small]);
}

#[test]
fn limits_refuse_and_change_nothing() {
    let mut world = World::new(1);
    let fence: Fence = world.running(submit(1), 10);
    for n in 0..limits::MAILBOX_MAX as u128 {
        assert_eq!(effect(&mut world, make::signal(100 + n, id(1), "a")), SignalEffect::Buffered);
    }
    assert_eq!(world.refuse(&make::signal(99, id(1), "b").into()), Rejection::MailboxFull(id(1)));
    world.accept(&make::suspend_on(60, fence, "b"));
    assert_eq!(effect(&mut world, make::signal(98, id(1), "b")), SignalEffect::Resumed, "what is waited for has room");
    let mut too_large = make::signal(97, id(1), "a");
    too_large.signal.payload = serde_json::from_str(&format!("\"{}\"", "a".repeat(limits::PAYLOAD_BYTES_MAX))).unwrap();
    assert_eq!(world.refuse(&too_large.into()).code(), "payload_too_large");
    let many = count(20, Distinct::Signals, &["many"]);
    let mut world = suspended_on(many);
    for n in 0..20_u128 {
        effect(&mut world, make::signal(100 + n, id(1), "many"));
    }
    let woke = world.claim(id(1), 11).woke.unwrap();
    let told = woke.waits[0].signals.iter().filter(|signal| signal.carried().is_some()).count();
    assert_eq!(
        (woke.waits[0].signals.len(), told),
        (20, limits::WOKE_PAYLOADS_MAX),
        "the others are read by their ids"
    );
}

#[test]
fn every_signal_is_told_in_the_feed_and_none_in_the_history() {
    let mut world = suspended_on(one("a"));
    effect(&mut world, make::signal_by(70, id(1), "b", "ada"));
    let event = world.events.last().unwrap();
    assert!(matches!(event.what, What::Signalled { effect: SignalEffect::Buffered, .. }));
    assert_eq!(event.by, Some("ada".parse().unwrap()));
    let history = &world.execution(id(1)).history;
    assert!(history.iter().all(|line| !matches!(line.what, What::Signalled { .. })));
}

#[test]
fn a_signal_at_or_after_the_timeout_does_not_resume() {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    let new = NewSuspension { timeout: Some(Span::seconds(5)), ..NewSuspension::new(one("a")) };
    world.accept(&make::suspend(60, fence, new));
    let at = world.now + Span::seconds(5);
    let before = world.clone().home(&make::signal(70, id(1), "a").into());
    assert_eq!(before.window.not_after, Some(at), "the commit must come before it");
    world.now = at;
    let done = world.home(&make::signal(70, id(1), "a").into());
    assert_eq!(done.window.not_before, Some(at));
    let Ok(Reply::Signal(signalled)) = done.result else { panic!("{:?}", done.result) };
    assert_eq!(signalled.effect, SignalEffect::Buffered, "time was first");
    let woke = world.claim(id(1), 11).woke.unwrap();
    assert_eq!((woke.by, woke.waits[0].signals.len()), (crate::record::HowOver::Timeout, 0));
}

#[test]
fn what_only_an_ended_wait_could_take_leaves_the_mailbox() {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    let mail = |world: &World| world.execution(id(1)).waits.as_ref().map_or(0, |waits| waits.mail.len());
    world.accept(&make::suspend_on(60, fence, "approval"));
    for (n, actor) in ["ada", "bob"].into_iter().enumerate() {
        let mut early = make::signal(70 + n as u128, id(1), "approval#2");
        early.by = Some(actor.parse().unwrap());
        world.accept(&early.into());
    }
    assert_eq!(mail(&world), 2, "kept for the second wait");
    world.accept(&make::signal(80, id(1), "approval").into());
    assert_eq!(mail(&world), 2, "the end of the first wait changes nothing");
    let fence = world.claim(id(1), 11).fence;
    let met = world.accept(&make::suspend_on(61, fence, "approval#2"));
    assert!(matches!(met, Reply::Suspend(Suspended { met: Some(_) })));
    assert_eq!(mail(&world), 0, "the second wait took one and is over, and nothing can take the other");
    world.accept(&make::signal(90, id(1), "approval#7").into());
    world.accept(&make::complete(91, fence));
    world.operate(92, id(1), make::replay());
    assert_eq!(mail(&world), 0, "another life waits for itself");
}

#[test]
fn a_signal_after_the_deadline_finds_the_execution_expired() {
    let mut world = World::new(1);
    let deadline = Some(When::After(Span::minutes(1)));
    let fence = world.running(with!(submit(1), deadline), 10);
    world.accept(&make::suspend_on(60, fence, "approval"));
    let due = world.now + Span::minutes(1);
    let in_time = world.clone().home(&make::signal(70, id(1), "approval").into());
    assert_eq!(in_time.window.not_after, Some(due));
    world.pass(Span::minutes(1));
    let late = world.home(&make::signal(70, id(1), "approval").into());
    assert_eq!(late.result.unwrap_err().code(), "execution_finished");
    assert_eq!(late.window, Window { not_before: Some(due), not_after: None }, "no other clock decides");
}
