//! Lanes that are paused, drained and opened, and the messages that carry the decision.

use crate::kit::{World, claim_now, claim_soon, eventually, submit, work, worker};
use onward_core::record::{Format, LaneState, Outbox, PublicState, Record};
use onward_core::{Key, Lane, LaneChange, Namespace, PartitionId, Span, codec};
use onward_engine::{FindFilter, Wants};
use onward_store as store;
use onward_store::{Batch, IndexName, Outcome, Partition, Partitions, Range, Version};

async fn set(engine: &onward_engine::Engine, state: LaneState) {
    let settings = LaneChange { state: Some(state), defaults: None };
    engine.set_lane(&Namespace::default(), &Lane::default(), settings).await.expect("every partition has it");
}

pub(crate) async fn a_paused_lane_keeps_its_work_and_an_opened_one_gives_it_out(world: World) {
    let engine = world.engine().await;
    submit(&engine, work("before")).await;
    set(&engine, LaneState::Paused).await;
    for _ in 0..20 {
        submit(&engine, work("during")).await;
    }
    assert!(engine.claim(&worker("w"), Span(0)).await.expect("answered").is_empty());
    let parked = tokio::spawn({
        let engine = engine.clone();
        async move { claim_soon(&engine, &worker("w")).await }
    });
    tokio::task::yield_now().await;
    set(&engine, LaneState::Open).await;
    parked.await.expect("the parked worker gets work");
    for _ in 0..20 {
        claim_soon(&engine, &worker("w")).await;
    }
    assert!(engine.claim(&worker("w"), Span(0)).await.expect("answered").is_empty());
}

pub(crate) async fn a_draining_lane_takes_no_submissions(world: World) {
    let engine = world.engine().await;
    submit(&engine, work("before")).await;
    set(&engine, LaneState::Draining).await;
    for _ in 0..16 {
        let refused = engine.submit(work("late")).await.expect_err("draining");
        assert_eq!(refused.code(), "lane_draining");
    }
    claim_now(&engine, &worker("w")).await;
    set(&engine, LaneState::Open).await;
    submit(&engine, work("after")).await;
    let master = engine.lane(&Namespace::default(), &Lane::default()).await.expect("answered").expect("exists");
    assert_eq!((master.settings.state, master.owed.len()), (LaneState::Open, 0));
}

/// Messages are due at once, before all work; a listing of running work goes on behind them.
pub(crate) async fn running_work_is_listed_behind_messages(world: World) {
    let engine = world.engine().await;
    for call in 0..3 {
        let many = (0..40).map(|n| work(&format!("{call}.{n}"))).collect();
        for answer in engine.submit_many(many).await.expect("answered") {
            answer.expect("accepted");
        }
    }
    let claimed = engine.claim(&Wants { max: 120, ..worker("w") }, Span(0)).await.expect("answered");
    assert_eq!(claimed.len(), 120);
    // Nobody delivers them, because their queue does not know of them.
    let (from, to) = (PartitionId(0), PartitionId(1));
    let row = |seq| store::Record {
        key: store::Key::new(Key::Message(from, to, seq).to_string()),
        version: Version(99),
        body: "{\"v\":99}".into(),
        entries: Vec::new(),
        due: Some(0),
    };
    let mut batch = Batch::new(Partition(0), Version(99));
    batch.put = (0..150).map(row).collect();
    batch.expect = batch.put.iter().map(|row| (row.key.clone(), None)).collect();
    engine.store().commit(vec![batch]).await.expect("committed");
    let filter = FindFilter { states: [PublicState::Active].into(), ..FindFilter::default() };
    let first = engine.find(&Namespace::default(), &filter, None, 100).await.expect("found");
    assert_eq!((first.executions.len(), first.scanned), (100, 100));
    let rest = engine.find(&Namespace::default(), &filter, first.next.as_deref(), 100).await.expect("found");
    assert_eq!((rest.executions.len(), rest.next), (20, None));
}

pub(crate) async fn a_poisoned_message_is_set_aside_and_its_pair_moves_on(world: World) {
    let store = world.store().await;
    let from = PartitionId::of_gates(&Namespace::default(), 8);
    let to = PartitionId(if from.0 == 3 { 4 } else { 3 });
    let (outbox, poison) = (Key::Outbox(from, to), Key::Message(from, to, 0));
    let id = Version(77);
    let mut batch = Batch::new(Partition(from.0), id);
    let row = |key: &Key, body: bytes::Bytes, due| onward_store::Record {
        key: onward_store::Key::new(key.to_string()),
        version: id,
        body,
        entries: Vec::new(),
        due,
    };
    let next = Record::Outbox(Outbox { format: Format, first: 0, next: 1 });
    batch.expect = [&outbox, &poison].map(|key| (onward_store::Key::new(key.to_string()), None)).to_vec();
    batch.put = vec![row(&outbox, codec::encode(&next), None), row(&poison, "\0 no message".into(), Some(1))];
    let outcomes = store.commit(vec![batch]).await.expect("committed");
    assert!(matches!(outcomes[0], Outcome::Committed { .. }));
    store.close().await.expect("closed");

    let engine = world.engine().await;
    let clock = world.clock.clone();
    let decided = tokio::spawn({
        let engine = engine.clone();
        async move { set(&engine, LaneState::Paused).await }
    });
    eventually("the decision passes the poisoned message", async || {
        clock.advance(Span(50));
        // A look that asks the store takes its time, so that the disk is not outrun.
        engine.lane(&Namespace::default(), &Lane::default()).await.expect("answered");
        decided.is_finished()
    })
    .await;
    decided.await.expect("every partition has it");
    assert_eq!(engine.metrics().messages_dead, 1);
    let dead = engine.store().scan(&IndexName::new("dead"), &Partitions::All, Range::default(), 10).await;
    assert_eq!(dead.expect("answered").items.len(), 1);
}
