//! Messages that this build cannot read, and what is left of those that were delivered.

use crate::kit::{World, eventually};
use bytes::Bytes;
use onward_core::record::{Format, LaneSettings, LaneState, Message, MessageBody, Outbox, Record};
use onward_core::{Key, Lane, LaneChange, MessageId, Millis, Name, Namespace, PartitionId, Span, codec};
use onward_engine::Engine;
use onward_store::{self as store, Batch, Home, IndexName, Outcome, Partition, Partitions, Range, Store, Version};

const FROM: PartitionId = PartitionId(2);
const TO: PartitionId = PartitionId(5);

fn lane() -> Lane {
    Lane::parse("other").expect("a lane")
}

/// A message that a lane is paused.
fn message(revision: u64) -> Bytes {
    let settings = LaneSettings { state: LaneState::Paused, ..LaneSettings::default() };
    let body = MessageBody::LaneChanged { namespace: Namespace::default(), lane: lane(), settings, revision };
    let id = MessageId(u128::from(revision));
    codec::encode(&Record::Message(Message { format: Format, id, sent_at: Millis(1), body }))
}

/// Writes bodies under keys of the sender's partition, over what is there.
async fn write(store: &dyn Store, version: u128, bodies: Vec<(Key, Bytes)>) {
    let names: Vec<_> = bodies.iter().map(|(key, _)| store::Key::new(key.to_string())).collect();
    let there = store.load(Partition(FROM.0), &names).await.expect("loaded");
    let mut batch = Batch::new(Partition(FROM.0), Version(version));
    for ((key, body), there) in bodies.into_iter().zip(there) {
        let name = store::Key::new(key.to_string());
        batch.expect.push((name.clone(), there.map(|row| row.version)));
        let due = matches!(key, Key::Message(..)).then_some(0);
        batch.put.push(store::Record { key: name, version: batch.id, body, entries: Vec::new(), due });
    }
    let outcomes = store.commit(vec![batch]).await.expect("answered");
    assert!(matches!(outcomes[..], [Outcome::Committed { .. }]), "{outcomes:?}");
}

/// The revision of the receiver's copy.
async fn copied(store: &dyn Store) -> Option<u64> {
    let key = Key::LaneCopy(Namespace::default(), lane(), TO);
    let found = store.load(Partition(TO.0), &[store::Key::new(key.to_string())]).await.expect("loaded").remove(0);
    found.map(|row| match codec::decode(&key, &row.body) {
        Record::LaneCopy(copy) => copy.revision,
        other => panic!("{other:?}"),
    })
}

/// Messages that are stored.
async fn stored(store: &dyn Store) -> usize {
    let page = store.due(&Partitions::All, Range::between(0, 1), 4_000).await.expect("read");
    page.items.iter().filter(|found| matches!(found.key.as_str().parse(), Ok(Key::Message(..)))).count()
}

/// Lets the engine pause and try again until something is so. What it leaves to other processes comes back by real time.
async fn tried(world: &World, engine: &Engine, what: &str, done: impl AsyncFn() -> bool) {
    let home = engine.store().home();
    eventually(what, async || {
        home.clone().wait_for(|home| *home != Home::Nowhere).await.expect("the store is open");
        world.clock.advance(Span(50));
        // A look that asks the store takes its time, so that the disk is not outrun.
        engine.lane(&Namespace::default(), &lane()).await.expect("answered");
        done().await
    })
    .await;
}

pub(crate) async fn a_newer_message_rests_and_nothing_overtakes_it(world: World) {
    let store = world.store().await;
    let key = |seq| Key::Message(FROM, TO, seq);
    let outbox = Record::Outbox(Outbox { format: Format, first: 0, next: 3 });
    let newer_format = String::from_utf8(message(1).to_vec()).expect("readable").replace("\"v\":1", "\"v\":99");
    let unknown_kind = String::from_utf8(message(2).to_vec()).expect("readable").replace("lane_changed", "gate_moved");
    let planted = vec![
        (Key::Outbox(FROM, TO), codec::encode(&outbox)),
        (key(0), newer_format.into()),
        (key(1), unknown_kind.into()),
        (key(2), message(3)),
    ];
    write(&*store, 0xa0, planted).await;
    let engine = world.engine_on(store.clone()).await;
    let rests = async |times| {
        let before = engine.metrics().messages_resting;
        let rested = async || engine.metrics().messages_resting >= before + times;
        tried(&world, &engine, "it rests and is tried again", rested).await;
        assert_eq!((engine.metrics().messages_dead, stored(&*store).await > 0), (0, true));
    };
    rests(5).await;
    assert_eq!(copied(&*store).await, None, "nothing is delivered behind it");
    // As if this build had learned the format, and then the kind.
    write(&*store, 0xa1, vec![(key(0), message(1))]).await;
    tried(&world, &engine, "the first is delivered", async || copied(&*store).await == Some(1)).await;
    rests(4).await;
    assert_eq!(copied(&*store).await, Some(1), "an unknown kind rests as well");
    write(&*store, 0xa2, vec![(key(1), message(2))]).await;
    tried(&world, &engine, "all are delivered", async || copied(&*store).await == Some(3)).await;
    tried(&world, &engine, "all are removed", async || stored(&*store).await == 0).await;
    let dead = store.scan(&IndexName::new("dead"), &Partitions::All, Range::default(), 10).await.expect("read");
    assert!(dead.items.is_empty() && engine.metrics().messages_dead == 0);
    engine.shutdown().await;
}

pub(crate) async fn delivered_messages_are_soon_gone(world: World) {
    let engine = world.engine().await;
    let set = async |state| {
        let change = LaneChange { state: Some(state), defaults: None };
        engine.set_lane(&Namespace::default(), &lane(), change).await.expect("every partition has it");
    };
    for _ in 0..40 {
        set(LaneState::Paused).await;
        set(LaneState::Open).await;
    }
    assert!(stored(&**engine.store()).await <= 2 * 8 * 64, "a pair keeps no more than its receiver remembers");
    let none = async || stored(&**engine.store()).await == 0;
    tried(&world, &engine, "idle pairs keep nothing", none).await;
    engine.shutdown().await;
}

pub(crate) async fn a_home_that_takes_over_finds_the_messages_of_the_one_before(world: World) {
    let first = world.engine().await;
    for state in [LaneState::Paused, LaneState::Open] {
        let change = LaneChange { state: Some(state), defaults: None };
        first.set_lane(&Namespace::default(), &lane(), change).await.expect("every partition has it");
    }
    first.abort();
    drop(first);
    let engine = world.engine().await;
    let none = async || stored(&**engine.store()).await == 0;
    tried(&world, &engine, "what was delivered is removed", none).await;
    let master = engine.lane(&Namespace::default(), &lane()).await.expect("read").expect("exists");
    assert_eq!((master.settings.state, master.owed.len()), (LaneState::Open, 0));
    engine.shutdown().await;
}
