//! What a batch of commands leaves in a view: reads, writes, windows, needs.

use crate::record::{LaneState, Record};
use crate::rules::world::World;
use crate::rules::world::make::{self, HOME, TTL, claim, due, id, lane, namespace, set_lane, submit, with};
use crate::{
    Act, Blob, Bury, Command, CommandId, Deliver, Forget, Key, PartitionId, Payload, Rejection, Reply, Span, Stop,
    Submit, Verb, View, When, Window, act, apply, end, limits,
};
use bytes::Bytes;

fn view_of(world: &World) -> View<'static> {
    let mut view = View::new(HOME, world.partitions);
    for (key, record) in &world.records {
        view.supply(key.clone(), Some(record.clone()));
    }
    view
}

/// Work whose attempts may take as long as a lease.
fn timed(n: u128) -> Submit {
    with!(submit(n), policy: crate::Policy { attempt_timeout: Some(TTL), ..crate::Policy::default() })
}

#[test]
fn a_refused_command_leaves_its_reads_and_its_neighbours_alone() {
    let mut world = World::new(1);
    let fence = world.running(timed(1), 10);
    world.submit(submit(2));
    world.now = world.now + TTL;
    let lapsed_at = world.now;
    let mut view = view_of(&world);
    for absent in [Key::Execution(id(3)), Key::Execution(id(4)), Key::LaneCopy(namespace(), lane(), HOME)] {
        view.supply(absent, None);
    }
    let renamed = Submit { command: CommandId(99), ..submit(2) };
    for (command, accepted) in [
        (Command::Submit(submit(3)), true),
        (make::complete(50, fence), false),
        (Command::Claim(claim(id(3), 20)), true),
        (Command::Submit(renamed), false),
        (Command::Claim(claim(id(3), 21)), false),
        (Command::Claim(claim(id(4), 22)), false),
    ] {
        let events = view.events().len();
        let result = apply(&mut view, &command, world.now);
        assert_eq!(result.is_ok(), accepted, "{command:?}: {result:?}");
        assert_eq!(view.step().writes.is_empty(), !accepted);
        assert_eq!(view.events().len(), events + usize::from(accepted));
        assert!(!view.step().reads.is_empty());
    }
    let written: Vec<Key> = view.writes().map(|(key, _)| key.clone()).collect();
    assert_eq!(written, [Key::Execution(id(3))], "its class was known");
    for read in [id(1), id(2), id(3), id(4)] {
        assert!(view.reads().any(|key| *key == Key::Execution(read)), "{read} was read");
    }
    let window = Window { not_before: Some(lapsed_at), not_after: Some(world.now + TTL) };
    assert_eq!(view.window(), window, "the refusal's bound and the claim's");
}

#[test]
fn a_later_refusal_does_not_take_an_earlier_write_back() {
    let world = World::new(1);
    let mut view = View::new(HOME, 1);
    let nameless = Payload::Bytes(Blob { content_type: "".into(), bytes: Bytes::new() });
    for absent in [1, 2].map(|n| Key::Execution(id(n))) {
        view.supply(absent, None);
    }
    let queues = Key::Queues(namespace(), lane(), HOME);
    for absent in [queues.clone(), Key::LaneCopy(namespace(), lane(), HOME)] {
        view.supply(absent, None);
    }
    let refused = apply(&mut view, &Command::Submit(with!(submit(1), input: nameless.clone())), world.now);
    assert!(matches!(refused, Err(Stop::Refuse(Rejection::Payload { field: "input", .. }))));
    assert_eq!(view.writes().count(), 0, "the queue had been written and is not any more");
    apply(&mut view, &Command::Submit(submit(1)), world.now).unwrap();
    apply(&mut view, &Command::Submit(with!(submit(2), input: nameless)), world.now).unwrap_err();
    let written: Vec<&Key> = view.writes().map(|(key, _)| key).collect();
    assert_eq!(written.len(), 2, "{written:?}");
    assert!(written.contains(&&queues) && written.contains(&&Key::Execution(id(1))));
}

#[test]
fn windows_narrow_with_every_command() {
    let mut world = World::new(1);
    let long = world.running(timed(1), 10);
    world.pass(Span::seconds(5));
    let late = world.running(timed(2), 11);
    world.submit(with!(submit(3), when: When::After(Span(3))));
    world.submit(with!(submit(4), when: When::After(Span(7))));
    world.submit(with!(submit(5), when: When::After(Span(5))));
    let short = world.running(timed(6), 12);
    world.pass(Span(10));
    let mut view = view_of(&world);
    for (command, window) in [
        (due(id(3)), (Some(7), None)),
        (make::renew(late, TTL), (Some(7), Some(TTL.0 - 10))),
        (make::complete(50, long), (Some(7), Some(TTL.0 - 5_010))),
        (due(id(4)), (Some(3), Some(TTL.0 - 5_010))),
        (due(id(5)), (Some(3), Some(TTL.0 - 5_010))),
        (make::renew(short, TTL), (Some(3), Some(TTL.0 - 5_010))),
    ] {
        apply(&mut view, &command, world.now).unwrap();
        let (before, after) = window;
        let not_before = before.map(|ago| world.now - Span(ago));
        let not_after = after.map(|ahead| world.now + Span(ahead));
        assert_eq!(view.window(), Window { not_before, not_after }, "{}", command.name());
    }
}

#[test]
fn what_a_broken_rule_did_is_taken_back() {
    let mut world = World::new(1);
    world.submit(submit(1));
    world.lane_is(LaneState::Open);
    let mut view = view_of(&world);
    apply(&mut view, &Command::Claim(claim(id(1), 10)), world.now).unwrap();
    let (told, written) = (view.events().len(), view.writes().count());
    view.supply(Key::Execution(id(2)), None);
    apply(&mut view, &Command::Submit(submit(2)), world.now).unwrap();
    view.abandon();
    assert_eq!((view.events().len(), view.writes().count()), (told, written), "only the newest command is undone");
    assert!(view.step().writes.is_empty() && view.step().reads.contains(&Key::Execution(id(2))));
    apply(&mut view, &Command::Submit(submit(2)), world.now).unwrap();
    assert_eq!(view.events().len(), told + 1);
}

/// Every kind of command, in a world where each is accepted or at least gets to its end.
fn commands(world: &mut World) -> Vec<Command> {
    let large = Payload::json(format!("\"{}\"", "a".repeat(3_000))).unwrap();
    let idempotency_key = Some("key".parse().unwrap());
    let keyed = with!(submit(1), idempotency_key, input: large.clone(), policy: make::retry(5, Span(0)));
    let fence = world.running(keyed.clone(), 10);
    world.accept(&make::fail(40, fence));
    let second = world.claim(id(1), 11).fence;
    world.accept(&set_lane(1, LaneState::Open));
    let messages: Vec<_> = world.outgoing(HOME, HOME).into_iter().map(|(_, message)| message).collect();
    let forgotten = messages.iter().map(|message| message.id).collect();
    let other = world.running(with!(submit(2), policy: make::retry(5, Span(0))), 12);
    let third = world.running(submit(3), 13);
    world.submit(with!(submit(4), input: large.clone()));
    let complete = make::report(60, second, end::Complete { result: large });
    vec![
        Command::Submit(Submit { id: id(5), command: CommandId(5), ..keyed.clone() }),
        Command::Submit(Submit { id: id(6), ..with!(keyed, idempotency_key: None) }),
        Command::Claim(claim(id(4), 14)),
        make::renew(second, TTL),
        make::fail(40, fence),
        complete,
        make::fail(61, other),
        make::unclaim(62, third),
        make::delay(63, third, When::After(Span(5))),
        make::progress(third, Some(5), Some("half")),
        make::cancel(64, third),
        due(id(3)),
        Command::Deliver(Deliver { from: HOME, messages }),
        Command::Forget(Forget { to: HOME, through: 0, ids: forgotten }),
        Command::Bury(Bury { to: PartitionId(1), seq: 0, body: Bytes::from_static(b"x") }),
        set_lane(2, LaneState::Paused),
    ]
    .into_iter()
    .chain(operations(world))
    .collect()
}

/// Every act of an operator, where it reads and writes as much as it can: a unique key, payloads beside, older attempts,
/// a full page of history.
fn operations(world: &mut World) -> Vec<Command> {
    let large = Payload::json(format!("\"{}\"", "a".repeat(3_000))).unwrap();
    let work = |n| {
        let unique_key = Some(format!("unique-{n}").parse().unwrap());
        with!(submit(n), unique_key, input: large.clone(), policy: make::retry(50, Span(0)))
    };
    for n in 20..24 {
        world.submit(work(n));
    }
    for n in 0..limits::HISTORY_PAGE as u128 / 2 {
        for slot in 20..24 {
            let fence = world.claim(id(slot), 1_000 * slot + n).fence;
            world.accept(&make::fail(2_000 * slot + n, fence));
        }
    }
    world.claim(id(21), 30);
    for n in [22, 23] {
        let fence = world.claim(id(n), 10 + n).fence;
        world.accept(&make::report(70, fence, end::Complete { result: large.clone() }));
    }
    [
        (20, make::end()),
        (20, Act::Reschedule(act::Reschedule::from(When::After(Span(9))))),
        (20, Act::Prioritise(act::Prioritise { priority: 9 })),
        (20, make::tag(&[("a", "b")], &[])),
        (21, make::end()),
        (21, make::ask(Span::seconds(9))),
        (21, make::revoke()),
        (22, make::replay()),
        (23, Act::Purge(act::Purge {})),
    ]
    .map(|(n, act)| make::operate(80, id(n), act))
    .into()
}

#[test]
fn a_rule_with_nothing_at_hand_asks_until_it_has_everything() {
    let mut world = World::new(3);
    let mut seen = std::collections::BTreeSet::new();
    for command in commands(&mut world) {
        let mut loaded = world.clone();
        let with_keys = loaded.run(HOME, &command);
        let mut bare = world.clone();
        let done = bare.run_from_nothing(HOME, &command);
        assert_eq!(done.result, with_keys.result, "{}", command.name());
        assert_eq!((&done.step, done.window), (&with_keys.step, with_keys.window), "{}", command.name());
        assert_eq!(bare.records, loaded.records, "{}", command.name());
        assert!(with_keys.rounds < done.rounds && done.rounds <= limits::NEED_ROUNDS_MAX);
        let known = command.keys(HOME);
        let read = known.iter().all(|key| done.step.reads.contains(key));
        assert!(read || done.step.writes.is_empty(), "{} loads what it does not read", command.name());
        println!("{:9} asks {} times, {} with its keys loaded", command.name(), done.rounds, with_keys.rounds);
        seen.insert(command.name());
    }
    // The owner and operators both cancel.
    assert_eq!(seen.len(), 20, "every kind of command and act: {seen:?}");
}

#[test]
fn a_key_of_a_fresh_id_is_the_only_one_assumed_absent() {
    let mut world = World::new(2);
    for command in commands(&mut world) {
        let expected = match &command {
            Command::Submit(submit) => Some(Key::Execution(submit.id)),
            _ => None,
        };
        assert_eq!(command.fresh_key(), expected);
    }
}

#[test]
fn records_that_cannot_be_read_stop_every_rule_and_stay() {
    let mut world = World::new(2);
    for command in commands(&mut world) {
        let reads = world.clone().run(HOME, &command).step.reads;
        for key in reads {
            let mut world = world.clone();
            let broken = Record::Unreadable(Bytes::from_static(b"{\"v\":2}"));
            world.put(key.clone(), broken.clone());
            let done = world.run(HOME, &command);
            let overwritten = done.step.writes.contains(&key);
            match (&command, &key) {
                // It is moved aside with its bytes, which is the point of the command.
                (Command::Bury(_), Key::Message(..)) => assert_eq!(done.result, Ok(Reply::Bury(()))),
                // It was delivered, so its content matters no more.
                (Command::Forget(_), Key::Message(..)) => assert_eq!(done.result, Ok(Reply::Forget(()))),
                // What is removed is not looked at, as long as the execution itself can be read.
                (Command::Operate(operate), _)
                    if matches!(operate.act, Act::Purge(act::Purge {}) | Act::Replay(_))
                        && matches!(key, Key::Payload(..) | Key::Attempt(..) | Key::History(..)) =>
                {
                    assert!(done.result.is_ok(), "{} and {key}", command.name());
                }
                _ => {
                    let refused = Err(Rejection::RecordUnreadable { key: key.to_string() });
                    assert_eq!(done.result, refused, "{} and {key}", command.name());
                    assert!(!overwritten && world.record(&key) == Some(&broken));
                }
            }
        }
    }
}
