//! Waits that a suspension leaves open: their signals come back, and a condition that comes again gets the same answer.

use crate::record::{HowOver, OnTimeout, SignalEffect};
use crate::rules::world::World;
use crate::rules::world::make::{self, count, id, one, submit, wait};
use crate::{Act, Condition, Distinct, Fence, NewSuspension, Reply, Signal, SignalId, Span, Suspended, Woken, act};

fn suspends(world: &mut World, command: u128, fence: Fence, condition: Condition) -> Option<Woken> {
    match world.accept(&make::suspend(command, fence, NewSuspension::new(condition))) {
        Reply::Suspend(Suspended { met }) => met.map(|met| *met),
        other => panic!("{other:?}"),
    }
}

fn running() -> (World, Fence) {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    (world, fence)
}

fn sent(world: &mut World, signal: Signal) -> (SignalId, SignalEffect) {
    match world.accept(&signal.into()) {
        Reply::Signal(signalled) => (signalled.signal, signalled.effect),
        other => panic!("{other:?}"),
    }
}

fn mail(world: &World) -> Vec<SignalId> {
    let waits = world.execution(id(1)).waits.as_ref().unwrap();
    waits.mail.iter().map(|mail| mail.signal).collect()
}

fn both() -> Condition {
    Condition::All { of: vec![one("a"), one("b")] }
}

#[test]
fn what_counted_for_a_suspension_that_ends_with_its_execution_is_there_for_the_replay() {
    type End = fn(&mut World);
    let ends: [(&str, End); 3] = [
        ("cancelled", |world| {
            world.operate(80, id(1), make::end());
        }),
        ("timed out", |world| drop(world.when_due(id(1)))),
        ("held and cancelled", |world| {
            world.operate(80, id(1), act::Pause::default().into());
            world.operate(81, id(1), make::end());
        }),
    ];
    for (name, end) in ends {
        let (mut world, fence) = running();
        let early = sent(&mut world, make::signal(70, id(1), "b#2")).0;
        let (timeout, on_timeout) = (Some(Span::seconds(9)), OnTimeout::Fail);
        let new = NewSuspension { timeout, on_timeout, ..NewSuspension::new(both()) };
        world.accept(&make::suspend(60, fence, new));
        let (counted, effect) = sent(&mut world, make::signal(71, id(1), "a"));
        assert_eq!(effect, SignalEffect::Counted);
        let late = sent(&mut world, make::signal(72, id(1), "c")).0;
        assert_eq!(mail(&world), [early, late]);
        end(&mut world);
        assert!(world.execution(id(1)).is_finished(), "{name}");
        assert_eq!(mail(&world), [early, counted, late], "{name}: in the order in which they came");
        world.operate(90, id(1), make::replay());
        let again = world.claim(id(1), 11).fence;
        assert_eq!(suspends(&mut world, 61, again, both()), None);
        assert_eq!(sent(&mut world, make::signal(73, id(1), "b")).1, SignalEffect::Resumed, "{name}");
        let woke = world.claim(id(1), 12).woke.unwrap();
        assert_eq!(woke.waits[0].signals[0].id, counted);
    }
}

#[test]
fn what_counted_for_an_alternative_that_was_not_met_is_there_when_it_is_waited_for_again() {
    let two = || count(2, Distinct::Signals, &["a"]);
    // The other alternative comes later, or has come before.
    for early in [false, true] {
        let (mut world, fence) = running();
        let first = early.then(|| sent(&mut world, make::signal(70, id(1), "a")).0);
        let any = Condition::Any { of: vec![two(), one("b")] };
        let fence = if early {
            sent(&mut world, make::signal(71, id(1), "b"));
            let met = suspends(&mut world, 60, fence, any).expect("b has come");
            assert_eq!(met.waits.iter().map(|end| end.wait.clone()).collect::<Vec<_>>(), [wait("b")]);
            fence
        } else {
            assert_eq!(suspends(&mut world, 60, fence, any), None);
            assert_eq!(sent(&mut world, make::signal(70, id(1), "a")).1, SignalEffect::Counted);
            assert_eq!(sent(&mut world, make::signal(71, id(1), "b")).1, SignalEffect::Resumed);
            world.claim(id(1), 11).fence
        };
        assert_eq!(mail(&world).len(), 1);
        assert!(first.is_none_or(|first| mail(&world) == [first]));
        assert_eq!(suspends(&mut world, 61, fence, two()), None);
        assert_eq!(sent(&mut world, make::signal(72, id(1), "a")).1, SignalEffect::Resumed);
        assert_eq!(world.claim(id(1), 12).woke.unwrap().waits[0].signals.len(), 2);
    }
}

#[test]
fn a_condition_that_was_met_gets_the_same_answer_again_whatever_else_its_waits_meet() {
    // With both waits over, the second alternative is met too, although no signal has its name.
    let named = |to: &str, name: &str| Condition::Wait {
        wait: wait(to),
        names: vec![name.parse().unwrap()],
        timeout: None,
        until: None,
    };
    let alternatives =
        Condition::Any { of: vec![named("a", "no"), Condition::All { of: vec![named("a", "yes"), one("b")] }] };
    let (mut world, fence) = running();
    sent(&mut world, make::signal(70, id(1), "b"));
    let b = suspends(&mut world, 60, fence, one("b")).expect("it has come");
    let mut no = make::signal(71, id(1), "a");
    no.signal.name = Some("no".parse().unwrap());
    sent(&mut world, no);
    let met = suspends(&mut world, 61, fence, alternatives.clone()).expect("a has come");
    let over: Vec<_> = met.waits.iter().map(|end| (end.wait.to_string(), end.how)).collect();
    assert_eq!(over, [("a#1".to_owned(), HowOver::Signals), ("b#1".to_owned(), HowOver::Signals)]);
    assert_eq!(met.waits[1], b.waits[0]);
    assert_eq!(suspends(&mut world, 61, fence, alternatives.clone()), Some(met.clone()), "a repeat");
    assert_eq!(suspends(&mut world, 62, fence, alternatives), Some(met), "another call");
}

#[test]
fn an_operator_that_ends_a_hold_finds_it_beneath() {
    let (mut world, fence) = running();
    suspends(&mut world, 60, fence, both());
    world.operate(80, id(1), act::Pause::default().into());
    sent(&mut world, make::signal(70, id(1), "a"));
    world.operate(81, id(1), Act::from(act::Resume::default()));
    assert_eq!(sent(&mut world, make::signal(71, id(1), "b")).1, SignalEffect::Resumed);
}
