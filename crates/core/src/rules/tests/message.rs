//! Messages: sent with their cause, applied once, removed when delivered, set aside when they cannot be.

use crate::record::{DeadLetter, Format, LaneSettings, LaneState, Message, MessageBody, Outbox, Record};
use crate::rules::outbox::{self, Cause};
use crate::rules::world::World;
use crate::rules::world::make::{HOME, lane, namespace, set_lane};
use crate::{Bury, Command, Deliver, Forget, Key, Lane, MessageId, Millis, PartitionId, Reply, View, Window, limits};
use bytes::Bytes;
use std::sync::Arc;

const OTHER: PartitionId = PartitionId(1);

fn changed(id: u128, lane: Lane, revision: u64) -> Message {
    let settings = LaneSettings { state: LaneState::Paused, ..LaneSettings::default() };
    let body = MessageBody::LaneChanged { namespace: namespace(), lane, settings, revision };
    Message { format: Format, id: MessageId(id), sent_at: Millis(1), body }
}

fn deliver(messages: Vec<Message>) -> Command {
    Command::Deliver(Deliver { from: HOME, messages })
}

fn applied(world: &mut World, command: &Command) -> usize {
    match world.run(OTHER, command).result {
        Ok(Reply::Deliver(applied)) => applied,
        other => panic!("{other:?}"),
    }
}

fn outbox(world: &World) -> (u64, u64) {
    match world.record(&Key::Outbox(HOME, OTHER)) {
        Some(Record::Outbox(Outbox { first, next, .. })) => (*first, *next),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_message_is_applied_once() {
    let mut world = World::new(2);
    let messages: Vec<Message> = (1..=3).map(|n| changed(n, lane(), n as u64)).collect();
    let twice = [messages.clone(), messages.clone()].concat();
    assert_eq!(applied(&mut world, &deliver(twice)), 3, "duplicates in one delivery");
    let done = world.run(OTHER, &deliver(messages.clone()));
    assert_eq!(done.result, Ok(Reply::Deliver(0)));
    assert!(done.step.writes.is_empty() && done.events.is_empty(), "a redelivery changes nothing");
    assert_eq!(done.window, Window::default());
    let overlapping = vec![messages[2].clone(), changed(4, lane(), 4), messages[0].clone()];
    assert_eq!(applied(&mut world, &deliver(overlapping)), 1);
    assert_eq!(applied(&mut world, &deliver(Vec::new())), 0);
    assert_eq!(world.outgoing(OTHER, HOME).len(), 4, "one answer for each");
}

#[test]
fn as_many_ids_are_remembered_as_one_delivery_holds() {
    let mut world = World::new(2);
    let many = limits::MESSAGES_MAX as u128;
    let batch = |from: u128| deliver((from..from + many).map(|n| changed(n, lane(), n as u64)).collect());
    assert_eq!(applied(&mut world, &batch(0)), limits::MESSAGES_MAX);
    assert_eq!(applied(&mut world, &batch(0)), 0);
    assert_eq!(applied(&mut world, &batch(many)), limits::MESSAGES_MAX);
    assert_eq!(applied(&mut world, &batch(many)), 0);
    let Some(Record::Inbox(inbox)) = world.record(&Key::Inbox(OTHER, HOME)) else { panic!("there is an inbox") };
    assert_eq!(inbox.applied.len(), limits::MESSAGES_MAX);
    let too_many = deliver((1_000..1_000 + 2 * many).map(|n| changed(n, lane(), n as u64)).collect());
    assert_eq!(applied(&mut world, &too_many), limits::MESSAGES_MAX, "the rest waits for the next delivery");
}

#[test]
fn even_a_forgotten_duplicate_does_no_harm() {
    let mut world = World::new(2);
    let many = limits::MESSAGES_MAX as u128 + 1;
    for n in 0..many {
        applied(&mut world, &deliver(vec![changed(n, lane(), n as u64 + 1)]));
    }
    let before = world.record(&Key::LaneCopy(namespace(), lane(), OTHER)).cloned();
    assert_eq!(applied(&mut world, &deliver(vec![changed(0, lane(), 1)])), 1);
    assert_eq!(world.record(&Key::LaneCopy(namespace(), lane(), OTHER)).cloned(), before);
}

#[test]
fn a_full_delivery_about_many_lanes_needs_few_rounds() {
    let mut world = World::new(2);
    let name = |n: usize| format!("lane-{n}").parse::<Lane>().unwrap();
    let messages = (0..limits::MESSAGES_MAX).map(|n| changed(n as u128, name(n), 1)).collect();
    let done = world.run_from_nothing(OTHER, &deliver(messages));
    assert_eq!(done.result, Ok(Reply::Deliver(limits::MESSAGES_MAX)));
    assert!(done.rounds <= 4, "{} rounds", done.rounds);
    let answers = world.outgoing(OTHER, HOME);
    assert!(answers.iter().map(|(seq, _)| *seq).eq(0..limits::MESSAGES_MAX as u64), "dense, in order");
    let ids: std::collections::BTreeSet<_> = answers.iter().map(|(_, message)| message.id).collect();
    assert_eq!(ids.len(), limits::MESSAGES_MAX, "each with an id of its own");
}

#[test]
fn delivered_messages_are_removed_a_delivery_at_a_time() {
    let mut world = World::new(2);
    for n in 0..100 {
        world.accept(&set_lane(n + 1, LaneState::Paused));
    }
    assert_eq!(outbox(&world), (0, 100));
    let ids: Vec<MessageId> = world.outgoing(HOME, OTHER).iter().map(|(_, message)| message.id).collect();
    let forget = |through| Command::Forget(Forget { to: OTHER, through, ids: ids.clone() });
    let done = world.run_from_nothing(HOME, &forget(9));
    assert_eq!(done.result, Ok(Reply::Forget(())));
    assert!(done.rounds <= 2 && done.events.is_empty(), "{} rounds", done.rounds);
    assert_eq!((outbox(&world), world.outgoing(HOME, OTHER)[0].0), ((10, 100), 10));
    for through in [0, 9] {
        let done = world.home(&forget(through));
        assert_eq!(done.result, Ok(Reply::Forget(())));
        assert!(done.step.writes.is_empty(), "what is gone stays gone");
    }
    world.accept(&forget(99));
    assert_eq!(outbox(&world), (10 + limits::MESSAGES_MAX as u64, 100));
    world.accept(&forget(u64::MAX));
    assert_eq!(outbox(&world), (100, 100), "never past what was sent");
    assert!(world.outgoing(HOME, OTHER).is_empty());
    world.accept(&set_lane(500, LaneState::Open));
    assert_eq!(world.outgoing(HOME, OTHER)[0].0, 100, "a sequence is not used twice");
}

#[test]
fn a_message_that_was_not_delivered_is_not_removed() {
    let mut world = World::new(2);
    for n in 1..=3 {
        world.accept(&set_lane(n, LaneState::Paused));
    }
    let sent: Vec<MessageId> = world.outgoing(HOME, OTHER).iter().map(|(_, message)| message.id).collect();
    let forget = |ids: &[MessageId]| Command::Forget(Forget { to: OTHER, through: 2, ids: ids.to_vec() });
    world.accept(&forget(&[sent[0], MessageId(7), sent[2]]));
    assert_eq!(outbox(&world), (1, 3), "another message stands under the second sequence");
    let left: Vec<u64> = world.outgoing(HOME, OTHER).iter().map(|(seq, _)| *seq).collect();
    assert_eq!(left, [1]);
    world.accept(&forget(&sent));
    assert_eq!(outbox(&world), (3, 3));
}

#[test]
fn forgetting_what_was_never_sent_changes_nothing() {
    let mut world = World::new(2);
    for through in [0, 7, u64::MAX] {
        let done = world.home(&Command::Forget(Forget { to: OTHER, through, ids: vec![MessageId(1)] }));
        assert_eq!(done.result, Ok(Reply::Forget(())));
        assert!(done.step.writes.is_empty());
    }
}

#[test]
fn a_message_that_cannot_be_delivered_is_set_aside_with_its_bytes() {
    let mut world = World::new(2);
    world.accept(&set_lane(1, LaneState::Paused));
    world.accept(&set_lane(2, LaneState::Open));
    let body = Bytes::from_static(b"\x00\xff not json");
    world.put(Key::Message(HOME, OTHER, 0), Record::Unreadable(body.clone()));
    let bury = Command::Bury(Bury { to: OTHER, seq: 0, body: body.clone() });
    let done = world.home(&bury);
    assert_eq!(done.result, Ok(Reply::Bury(())));
    assert_eq!(world.record(&Key::Message(HOME, OTHER, 0)), None);
    assert_eq!(world.record(&Key::Dead(HOME, OTHER, 0)), Some(&Record::Dead(DeadLetter(body))));
    let again = world.home(&bury);
    assert_eq!(again.result, Ok(Reply::Bury(())));
    assert!(again.step.writes.is_empty(), "burying twice changes nothing");

    assert_eq!(world.deliver(HOME, OTHER), 1, "the queue moves on");
    assert_eq!(outbox(&world), (2, 2), "the gap is forgotten with its neighbours");
}

#[test]
fn the_same_cause_sends_the_same_ids_and_other_causes_others() {
    let ids = |command: u128| {
        let mut world = World::new(3);
        world.accept(&set_lane(command, LaneState::Paused));
        world.sent_ids()
    };
    assert_eq!(ids(1), ids(1));
    let all: std::collections::BTreeSet<_> = (1..=50).flat_map(ids).collect();
    assert_eq!(all.len(), 50 * 3, "no two messages share an id");
}

#[test]
fn two_messages_of_one_cause_to_one_partition_both_arrive() {
    let sent = |nths: [u32; 2]| {
        let mut view = View::new(HOME, 2);
        view.supply(Key::Outbox(HOME, OTHER), None);
        view.begin(None);
        for (nth, name) in nths.into_iter().zip(["first", "second"]) {
            let Message { body, .. } = changed(0, name.parse().unwrap(), 1);
            outbox::send(&mut view, OTHER, Cause { id: MessageId(5), nth }, body, Millis(1)).unwrap();
        }
        let messages = view.writes().filter_map(|(_, record)| match record.map(Arc::as_ref) {
            Some(Record::Message(message)) => Some(message.clone()),
            _ => None,
        });
        messages.collect::<Vec<_>>()
    };
    let both = sent([0, 1]);
    assert_eq!(both, sent([0, 1]), "a cause that runs twice sends the same messages");
    let mut world = World::new(2);
    assert_eq!(applied(&mut world, &deliver(both)), 2);
    for name in ["first", "second"] {
        let key = Key::LaneCopy(namespace(), name.parse().unwrap(), OTHER);
        assert!(world.record(&key).is_some(), "{name} arrived");
    }
    assert_eq!(applied(&mut World::new(2), &deliver(sent([0, 0]))), 1, "without a number the second is a repeat");
}

#[test]
fn every_kind_may_be_applied_late_and_out_of_order() {
    let mut world = World::new(2);
    for n in 1..=3 {
        world.accept(&set_lane(n, if n == 3 { LaneState::Open } else { LaneState::Paused }));
    }
    let old: Vec<(PartitionId, PartitionId, Message)> = [(HOME, HOME), (HOME, OTHER)]
        .into_iter()
        .flat_map(|(from, to)| world.outgoing(from, to).into_iter().map(move |(_, message)| (from, to, message)))
        .collect();
    world.settle();
    let answers = old.iter().filter(|(_, to, _)| *to == OTHER).map(|(from, to, message)| {
        let MessageBody::LaneChanged { namespace, lane, revision, .. } = message.body.clone() else { unreachable!() };
        let body = MessageBody::LaneCopied { namespace, lane, revision, by: *to };
        (*to, *from, Message { id: MessageId(message.id.0 ^ 1), body, ..message.clone() })
    });
    let all: Vec<_> = old.iter().cloned().chain(answers).collect();
    let lasting = |world: &World| {
        let kept = |key: &Key| matches!(key, Key::LaneMaster(..) | Key::LaneCopy(..));
        world.records.iter().filter(|(key, _)| kept(key)).map(|(key, record)| (key.clone(), record.clone())).collect()
    };
    let before: Vec<_> = lasting(&world);
    for (from, to, message) in all.into_iter().rev() {
        // The inbox has forgotten everything.
        world.records.remove(&Key::Inbox(to, from));
        let again = Command::Deliver(Deliver { from, messages: vec![message] });
        assert_eq!(world.run(to, &again).result, Ok(Reply::Deliver(1)));
        assert_eq!(lasting(&world), before);
    }
    world.settle();
    assert_eq!(lasting(&world), before);
}

impl World {
    /// The ids of what the home partition has sent.
    fn sent_ids(&self) -> Vec<MessageId> {
        let to = (0..self.partitions).map(PartitionId);
        to.flat_map(|to| self.outgoing(HOME, to)).map(|(_, message)| message.id).collect()
    }
}
