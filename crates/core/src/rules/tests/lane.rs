//! Lane settings from the master to every copy and back.

use crate::record::{Format, LaneCopy, LaneSettings, LaneState, Message, MessageBody, Record};
use crate::rules::world::World;
use crate::rules::world::make::{HOME, claim, id, id_in, lane, namespace, set_lane, submit};
use crate::{
    Command, CommandId, Deliver, Key, MessageId, Millis, PartitionId, Rejection, Reply, Span, Submit, What, Window,
    limits,
};

fn everyone(world: &World) -> Vec<PartitionId> {
    (0..world.partitions).map(PartitionId).collect()
}

fn copy(world: &World, partition: PartitionId) -> Option<(LaneState, u64)> {
    match world.record(&Key::LaneCopy(namespace(), lane(), partition)) {
        Some(Record::LaneCopy(copy)) => Some((copy.settings.state, copy.revision)),
        _ => None,
    }
}

/// The revision of the n-th decision in a world whose clock stands: it starts at the time and grows by one.
fn nth(n: u64) -> u64 {
    World::new(1).now.0 + n - 1
}

fn owed(world: &World) -> Vec<PartitionId> {
    world.master(&namespace(), &lane()).owed.iter().copied().collect()
}

#[test]
fn a_decision_reaches_every_copy_and_the_master_knows_it() {
    let mut world = World::new(3);
    let done = world.home(&set_lane(1, LaneState::Paused));
    assert_eq!(done.result, Ok(Reply::SetLane(nth(1))));
    assert_eq!(done.events[0].what, What::LaneChanged { state: LaneState::Paused, revision: nth(1) });
    assert_eq!((done.events.len(), done.events[0].execution(), done.window), (1, None, Window::default()));
    assert_eq!(owed(&world), everyone(&world));
    let last = PartitionId(2);
    world.run(last, &Command::Submit(Submit { id: id_in(1, last), ..submit(1) }));
    for to in everyone(&world) {
        assert_eq!(copy(&world, to), None, "not before the message arrives");
        assert_eq!(world.deliver(HOME, to), 1);
        assert_eq!(copy(&world, to), Some((LaneState::Paused, nth(1))));
    }
    let refused = world.run(last, &Command::Claim(claim(id_in(1, last), 5))).result;
    assert_eq!(refused, Err(Rejection::LanePaused(lane())), "the copy is in force before the master knows");
    assert_eq!(owed(&world), everyone(&world));
    for (n, from) in everyone(&world).into_iter().enumerate() {
        assert_eq!(world.deliver(from, HOME), 1);
        assert_eq!(owed(&world), everyone(&world)[n + 1..]);
    }
    let left = world.records.keys().filter(|key| matches!(key, Key::Message(..))).count();
    assert_eq!(left, 0, "nothing is on its way any more");
}

#[test]
fn the_newest_decision_wins_in_whatever_order_messages_arrive() {
    let (one, two) = (HOME, PartitionId(1));
    let mut world = World::new(2);
    world.accept(&set_lane(1, LaneState::Paused));
    world.accept(&set_lane(2, LaneState::Draining));
    let messages: Vec<Message> = world.outgoing(one, two).into_iter().map(|(_, message)| message).collect();
    let newest_first = Deliver { from: one, messages: messages.iter().rev().cloned().collect() };
    assert_eq!(world.run(two, &Command::Deliver(newest_first)).result, Ok(Reply::Deliver(2)));
    assert_eq!(copy(&world, two), Some((LaneState::Draining, nth(2))));

    let answers = world.outgoing(two, one);
    assert_eq!(answers.len(), 2, "a stale decision is acknowledged too");
    world.deliver(two, one);
    assert_eq!(owed(&world), [one], "only the newest decision counts");
    world.settle();
    assert_eq!(owed(&world), []);
    assert_eq!(
        (copy(&world, one), copy(&world, two)),
        (Some((LaneState::Draining, nth(2))), Some((LaneState::Draining, nth(2))))
    );
}

#[test]
fn an_answer_to_an_older_decision_settles_nothing() {
    let mut world = World::new(2);
    world.accept(&set_lane(1, LaneState::Paused));
    for to in everyone(&world) {
        world.deliver(HOME, to);
    }
    world.accept(&set_lane(2, LaneState::Open));
    assert_eq!(world.deliver(PartitionId(1), HOME), 1);
    assert_eq!(owed(&world), everyone(&world));
    world.settle();
    assert_eq!((owed(&world).len(), copy(&world, PartitionId(1))), (0, Some((LaneState::Open, nth(2)))));
}

#[test]
fn a_repeat_never_undoes_a_later_decision() {
    let mut world = World::new(1);
    let kept = limits::OPERATOR_COMMANDS_KEPT as u128;
    for n in 1..=kept + 1 {
        let state = if n % 2 == 0 { LaneState::Open } else { LaneState::Paused };
        assert_eq!(world.accept(&set_lane(n, state)), Reply::SetLane(nth(n as u64)));
        for earlier in n.saturating_sub(kept - 1).max(1)..=n {
            let done = world.home(&set_lane(earlier, LaneState::Draining));
            assert_eq!(done.result, Ok(Reply::SetLane(nth(earlier as u64))));
            assert!(done.step.writes.is_empty() && done.events.is_empty());
        }
    }
    let master = world.master(&namespace(), &lane());
    assert_eq!((master.changed_by, master.earlier.len()), (CommandId(kept + 1), limits::OPERATOR_COMMANDS_KEPT - 1));
}

#[test]
fn a_decision_is_never_older_than_the_one_before() {
    let mut world = World::new(1);
    world.accept(&set_lane(1, LaneState::Paused));
    let first = world.now;
    world.now = Millis(7);
    world.accept(&set_lane(2, LaneState::Open));
    assert_eq!(world.master(&namespace(), &lane()).changed_at, first);
    assert_eq!(world.events.last().unwrap().at, first);
}

#[test]
fn the_largest_store_changes_a_lane_in_a_few_rounds() {
    let mut world = World::new(limits::PARTITIONS_MAX);
    let done = world.run_from_nothing(HOME, &set_lane(1, LaneState::Paused));
    assert_eq!(done.result, Ok(Reply::SetLane(nth(1))));
    assert!(done.rounds <= 3, "{} rounds", done.rounds);
    let rows: usize = done.step.writes.iter().filter_map(|key| world.record(key).map(|record| rows(key, record))).sum();
    assert!(rows + done.events.len() <= limits::BATCH_ROWS_MAX, "{rows} rows");
    world.settle();
    assert_eq!(owed(&world), []);
}

fn rows(key: &Key, record: &Record) -> usize {
    1 + crate::index::entries(key, record).len() + usize::from(crate::index::due(record).is_some())
}

#[test]
fn an_answer_about_an_unknown_lane_is_skipped() {
    let mut world = World::new(2);
    let body = MessageBody::LaneCopied { namespace: namespace(), lane: lane(), revision: 1, by: PartitionId(1) };
    let message = Message { format: Format, id: MessageId(5), sent_at: world.now, body };
    let deliver = Command::Deliver(Deliver { from: PartitionId(1), messages: vec![message] });
    let done = world.home(&deliver);
    assert_eq!(done.result, Ok(Reply::Deliver(1)));
    assert_eq!(done.step.writes.len(), 1, "only the inbox");
}

#[test]
fn a_copy_of_a_newer_version_is_not_overwritten() {
    let mut world = World::new(1);
    world.accept(&set_lane(1, LaneState::Paused));
    let key = Key::LaneCopy(namespace(), lane(), HOME);
    world.put(key.clone(), Record::Unreadable(bytes::Bytes::from_static(br#"{"v":2}"#)));
    let messages = world.outgoing(HOME, HOME).into_iter().map(|(_, message)| message).collect();
    let refused = world.refuse(&Command::Deliver(Deliver { from: HOME, messages }));
    assert_eq!(refused, Rejection::RecordUnreadable { key: key.to_string() });
    let settings = LaneSettings::default();
    world.put(key, Record::LaneCopy(LaneCopy { format: Format, settings, revision: 0 }));
    world.settle();
    assert_eq!(copy(&world, HOME), Some((LaneState::Paused, nth(1))));
}

#[test]
fn pausing_and_opening_again_costs_waiting_work_nothing() {
    let mut world = World::new(1);
    world.submit(submit(1));
    let before = world.execution(id(1)).clone();
    world.accept(&set_lane(1, LaneState::Paused));
    world.settle();
    world.pass(Span::hours(1));
    world.refuse(&Command::Claim(claim(id(1), 10)));
    world.accept(&set_lane(2, LaneState::Open));
    world.settle();
    assert_eq!(world.execution(id(1)), &before, "waiting work is not rewritten");
    world.claim(id(1), 10);
}
