//! Due times: what is looked at, and what is left alone.

use crate::record::{
    DeadLetter, Format, Inbox, LaneState, Next, Outbox, PayloadBytes, PublicState, Readiness, Record, State, Waiting,
};
use crate::rules::world::World;
use crate::rules::world::make::{self, HOME, due, id, lane, namespace, submit, with};
use crate::{
    Arrival, Command, Due, Key, Looked, Millis, PartitionId, PayloadSlot, Rejection, Reply, Span, What, When, Window,
    index,
};
use bytes::Bytes;

#[test]
fn delayed_work_becomes_ready_when_its_time_comes() {
    let mut world = World::new(1);
    let until = world.now + Span::hours(1);
    world.submit(with!(submit(1), when: When::At(until)));
    world.now = until - Span(1);
    assert_eq!(world.accept(&due(id(1))), Reply::Due(Looked { acted: false, next: Some(until) }));
    world.now = until + Span::seconds(2);
    let done = world.home(&due(id(1)));
    assert_eq!(done.result, Ok(Reply::Due(Looked { acted: true, next: None })));
    assert_eq!(done.window, Window { not_before: Some(until), not_after: None });
    assert_eq!((done.events.len(), &done.events[0].what), (1, &What::Ready));
    let execution = world.execution(id(1));
    let since = world.now;
    let waiting = Waiting { readiness: Readiness::Ready { since }, next: Next::Initial };
    assert_eq!(execution.state, State::Waiting(waiting));
    assert_eq!(
        execution.place,
        Some(Arrival::at(until, 0)),
        "its place is by its own time, not by when somebody looked"
    );

    let again = world.home(&due(id(1)));
    assert_eq!(again.result, Ok(Reply::Due(Looked { acted: false, next: None })));
    assert!(again.step.writes.is_empty(), "looking twice changes nothing");
}

#[test]
fn a_paused_lane_does_not_stop_time() {
    let mut world = World::new(1);
    world.submit(with!(submit(1), when: When::After(Span(5))));
    world.lane_is(LaneState::Paused);
    world.when_due(id(1));
    assert_eq!(world.execution(id(1)).public_state(), PublicState::Waiting);
}

#[test]
fn what_is_never_due_is_left_alone() {
    let mut world = World::new(2);
    world.submit(submit(1));
    let (from, to) = (HOME, PartitionId(1));
    world.put(Key::Payload(id(1), PayloadSlot::Input), Record::Payload(PayloadBytes(Bytes::from_static(b"bytes"))));
    world.put(Key::Outbox(from, to), Record::Outbox(Outbox { format: Format, first: 0, next: 0 }));
    world.put(Key::Inbox(from, to), Record::Inbox(Inbox { format: Format, applied: [].into() }));
    world.put(Key::Dead(from, to, 1), Record::Dead(DeadLetter(Bytes::from_static(b"\xff"))));
    world.lane_is(LaneState::Open);
    world.pass(Span::days(100));
    for key in [
        Key::Execution(id(1)),
        Key::Execution(id(2)),
        Key::Payload(id(1), PayloadSlot::Input),
        Key::Outbox(from, to),
        Key::Inbox(from, to),
        Key::Dead(from, to, 1),
        Key::LaneCopy(namespace(), lane(), HOME),
    ] {
        let done = world.home(&Command::Due(Due { key: key.clone() }));
        assert_eq!(done.result, Ok(Reply::Due(Looked { acted: false, next: None })), "{key}");
        assert!(done.step.writes.is_empty() && done.events.is_empty(), "{key}");
        assert_eq!(done.window, Window::default(), "{key}");
        assert_eq!(world.record(&key).and_then(index::due), None, "{key}");
    }
}

#[test]
fn a_message_stays_due_until_it_is_delivered() {
    let mut world = World::new(1);
    world.accept(&make::set_lane(1, LaneState::Paused));
    world.pass(Span::hours(1));
    let key = Key::Message(HOME, HOME, 0);
    assert_eq!(world.accept(&Command::Due(Due { key })), Reply::Due(Looked { acted: false, next: Some(Millis(0)) }));
}

#[test]
fn a_record_that_cannot_be_read_is_refused_not_forgotten() {
    let mut world = World::new(1);
    for key in [Key::Execution(id(1)), Key::Idempotency(namespace(), "k".parse().unwrap())] {
        world.put(key.clone(), Record::Unreadable(Bytes::from_static(br#"{"v":2}"#)));
        let refused = world.refuse(&Command::Due(Due { key: key.clone() }));
        assert_eq!(refused, Rejection::RecordUnreadable { key: key.to_string() });
    }
}
