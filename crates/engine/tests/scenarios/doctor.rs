//! Examinations: damage of every kind is found and set right, and a healthy store is left alone while work goes on.

use crate::kit::{World, claim_now, claim_soon, eventually, submit, work, worker};
use onward_core::record::LaneState;
use onward_core::{Key, Lane, LaneChange, Name, Namespace, NewExecution, PartitionId, Payload, Span, What, act};
use onward_engine::{Engine, EventFilter, Examination, Report, Told};
use onward_store::{Batch, Entry, IndexName, IndexPlace, Mend, Outcome, Partition, Record, Store, Version};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const LOOK: Examination = Examination { repair: false, restored: false };
const REPAIR: Examination = Examination { repair: true, restored: false };

fn tagged(kind: &str) -> NewExecution {
    let tags = BTreeMap::from([("colour".parse().expect("a name"), "red".parse().expect("a name"))]);
    NewExecution { tags, ..work(kind) }
}

/// Executions in every index: waiting, delayed, running, with a key, with parts, ended in two ways; and a changed lane.
async fn furnish(world: &World, engine: &Engine, store: &dyn Store) {
    for at in 0..4 {
        submit(engine, tagged("ends")).await;
        let claimed = claim_now(engine, &worker("w")).await;
        let large = Payload::bytes("text/plain", vec![b'x'; 3_000]).expect("answered");
        engine.complete(claimed.fence, large).await.expect("answered");
        let cancelled = submit(engine, work("cancelled")).await;
        engine.operate(&Namespace::default(), cancelled, act::Cancel::default()).await.expect("answered");
        submit(engine, NewExecution { delay: Some(Span::hours(1)), ..tagged("later") }).await;
        let unique_key = Some(format!("only {at}").parse().expect("a name"));
        submit(engine, NewExecution { unique_key, priority: 9, ..work("unique") }).await;
        claim_now(engine, &worker("w")).await;
        submit(engine, NewExecution { lane: Lane::parse("other").expect("a name"), ..tagged("waits") }).await;
    }
    let paused = LaneChange { state: Some(LaneState::Paused), defaults: None };
    engine.set_lane(&Namespace::default(), &Lane::parse("other").expect("a name"), paused).await.expect("answered");
    let is_message = |record: &Record| matches!(record.key.as_str().parse(), Ok(Key::Message(..)));
    let settled = async || {
        // Delivered messages are removed a little later.
        world.clock.advance(Span(50));
        !records(store).await.iter().any(|(_, record)| is_message(record))
    };
    eventually("every message is delivered and forgotten", settled).await;
}

/// Every record with the partition it lives in.
async fn records(store: &dyn Store) -> Vec<(Partition, Record)> {
    let (mut all, mut from) = (Vec::new(), None);
    loop {
        let page = store.audit(from.as_deref(), 100).await.expect("answered");
        all.extend(page.records);
        from = page.next;
        if from.is_none() {
            return all;
        }
    }
}

fn fresh() -> Version {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Version((0xd0c << 100) | u128::from(NEXT.fetch_add(1, Ordering::Relaxed)))
}

/// Writes behind the back of every engine.
async fn tamper(store: &dyn Store, batch: Batch) {
    let outcomes = store.commit(vec![batch]).await.expect("answered");
    assert!(matches!(outcomes[..], [Outcome::Committed { .. }]), "{outcomes:?}");
}

async fn list(store: &dyn Store, partition: Partition, record: &Record, place: IndexPlace, listed: bool) {
    let mut batch = Batch::new(partition, fresh());
    batch.expect.push((record.key.clone(), Some(record.version)));
    batch.mend.push(Mend { key: record.key.clone(), place, listed });
    tamper(store, batch).await;
}

async fn remove(store: &dyn Store, partition: Partition, record: &Record) {
    let mut batch = Batch::new(partition, fresh());
    batch.expect.push((record.key.clone(), Some(record.version)));
    batch.delete.push(record.key.clone());
    tamper(store, batch).await;
}

fn places(record: &Record) -> Vec<IndexPlace> {
    record.entries.iter().cloned().map(IndexPlace::Entry).chain(record.due.map(IndexPlace::Due)).collect()
}

/// The index, without what follows its first word.
fn family(place: &IndexPlace) -> String {
    match place {
        IndexPlace::Entry(entry) => entry.name.as_str().split('/').next().unwrap_or_default().to_owned(),
        IndexPlace::Due(_) => "due".to_owned(),
    }
}

async fn examine(engine: &Engine, how: Examination) -> Report {
    engine.examine(how, |_| ()).await.expect("the store answers")
}

fn found(report: &Report) -> Vec<(&'static str, u64, u64)> {
    report.tallies.iter().map(|(code, tally)| (*code, tally.found, tally.repaired)).collect()
}

pub(crate) async fn damage_in_each_index_is_found_and_repaired(world: World) {
    let (engine, store) = (world.engine().await, world.store().await);
    furnish(&world, &engine, &*store).await;
    let healthy = records(&*store).await;
    let mut families = BTreeSet::new();
    let mut damaged = 0;
    for (partition, record) in &healthy {
        for place in places(record) {
            families.insert(family(&place));
            let stray = match &place {
                IndexPlace::Entry(entry) => IndexPlace::Entry(Entry { rank: entry.rank + 7, ..entry.clone() }),
                IndexPlace::Due(due) => IndexPlace::Due(due + 7),
            };
            list(&*store, *partition, record, place, false).await;
            list(&*store, *partition, record, stray, true).await;
            damaged += 1;
        }
    }
    // Only a store that several processes may share keeps members.
    families.remove("members");
    let all = ["due", "ended", "lanes", "list", "parts", "queues", "ready", "state", "tag"];
    assert_eq!(families.iter().map(String::as_str).collect::<Vec<_>>(), all);

    let rows = store.stats().rows;
    let report = examine(&engine, LOOK).await;
    assert_eq!(found(&report), [("index_missing", damaged, 0), ("index_stray", damaged, 0)]);
    assert!(!report.is_healthy() && store.stats().rows == rows, "looking changes nothing");
    let report = examine(&engine, REPAIR).await;
    assert_eq!(found(&report), [("index_missing", damaged, damaged), ("index_stray", damaged, damaged)]);
    assert_eq!(found(&examine(&engine, LOOK).await), []);
    assert_eq!(records(&*store).await, healthy, "no record was written");
    println!("damaged and repaired: {damaged} places in {} indexes", families.len());
}

pub(crate) async fn a_record_listed_by_other_rules_is_listed_again(world: World) {
    let (engine, store) = (world.engine().await, world.store().await);
    furnish(&world, &engine, &*store).await;
    let all = records(&*store).await;
    let mut changed = 0;
    for (partition, record) in all.iter().filter(|(_, record)| !record.entries.is_empty()) {
        let mut batch = Batch::new(*partition, fresh());
        batch.expect.push((record.key.clone(), Some(record.version)));
        let entries = vec![Entry { name: IndexName::new("an index of old"), rank: 1 }];
        batch.put.push(Record { version: batch.id, entries, due: None, ..record.clone() });
        tamper(&*store, batch).await;
        changed += 1;
    }
    assert_eq!(found(&examine(&engine, REPAIR).await), [("index_differs", changed, changed)]);
    let again = records(&*store).await;
    let listed = |all: &[(Partition, Record)]| -> Vec<_> {
        all.iter().map(|(_, record)| (record.key.clone(), record.entries.clone(), record.due)).collect()
    };
    assert_eq!(listed(&again), listed(&all));
    assert_eq!(found(&examine(&engine, LOOK).await), []);
}

pub(crate) async fn records_that_contradict_each_other_are_set_right(world: World) {
    let (engine, store) = (world.engine().await, world.store().await);
    furnish(&world, &engine, &*store).await;
    let (mut queues, mut keys, mut copies, mut owners) = (0, 0, 0, 0);
    for (partition, record) in records(&*store).await {
        match record.key.as_str().parse::<Key>().expect("a key") {
            Key::Queues(..) => queues += 1,
            Key::Unique(..) => keys += 1,
            Key::LaneCopy(..) if copies < 3 => copies += 1,
            Key::Execution(_) if owners == 0 && record.body.windows(6).any(|text| text == b"beside") => owners += 1,
            _ => continue,
        }
        remove(&*store, partition, &record).await;
    }
    assert!(queues > 1 && keys == 4 && copies == 3 && owners == 1);
    let report = examine(&engine, LOOK).await;
    let told: Vec<_> = report.tallies.keys().copied().collect();
    assert_eq!(told, ["lane_copy_differs", "part_orphaned", "queue_missing", "unique_key_missing"]);
    assert_eq!(report.repaired(), 0);
    let report = examine(&engine, REPAIR).await;
    assert!(report.is_healthy(), "{report:?}");
    assert_eq!(report.tallies["unique_key_missing"].repaired, 4);
    assert_eq!(report.tallies["lane_copy_differs"].repaired, 3);
    assert_eq!(found(&examine(&engine, LOOK).await), []);
    let same = NewExecution { unique_key: Some("only 1".parse().expect("a name")), ..work("unique") };
    assert!(!engine.submit(same).await.expect("answered").created, "the unique key holds again");
}

pub(crate) async fn work_that_fell_out_of_its_queue_runs_after_a_repair(world: World) {
    let (engine, store) = (world.engine().await, world.store().await);
    let id = submit(&engine, work("lost")).await;
    let (partition, record) = (
        Partition(id.partition().0),
        store
            .load(Partition(id.partition().0), &[onward_store::Key::new(id.to_string())])
            .await
            .expect("answered")
            .remove(0),
    );
    let record = record.expect("submitted");
    for place in places(&record) {
        list(&*store, partition, &record, place, false).await;
    }
    // Another process knows only what the store says.
    let other = world.engine().await;
    assert!(other.claim(&worker("w"), Span(0)).await.expect("answered").is_empty(), "nobody finds it");
    let report = examine(&other, REPAIR).await;
    assert!(report.repaired() > 0 && report.is_healthy());
    assert_eq!(claim_soon(&other, &worker("w")).await.fence.execution, id);
}

pub(crate) async fn a_healthy_store_is_left_alone_while_work_goes_on(world: World) {
    let (engine, store) = (world.engine().await, world.store().await);
    furnish(&world, &engine, &*store).await;
    let (stop, stopped) = tokio::sync::watch::channel(false);
    let completed = Arc::new(AtomicU64::new(0));
    let working = tokio::spawn({
        let (engine, done) = (engine.clone(), completed.clone());
        async move {
            while !*stopped.borrow() {
                engine.submit_many(vec![tagged("busy"); 20]).await.expect("answered");
                for claimed in
                    engine.claim(&onward_engine::Wants { max: 20, ..worker("w") }, Span(0)).await.expect("answered")
                {
                    engine.complete(claimed.fence, Payload::null()).await.expect("answered");
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    });
    let examiner = world.engine_on(store.clone()).await;
    // Whoever shares a store with others has said that it lives.
    let rows = store.stats().rows;
    let mut examinations = 0;
    while examinations < 15 || completed.load(Ordering::Relaxed) < 300 {
        examinations += 1;
        tokio::task::yield_now().await;
        let report = examine(&examiner, REPAIR).await;
        assert_eq!((found(&report), report.ailments.as_slice()), (vec![], &[][..]));
        assert!(report.records > 0 && report.rows > 0);
    }
    assert_eq!(store.stats().rows, rows, "nothing was written");
    stop.send(true).expect("answered");
    working.await.expect("all work was done");
}

pub(crate) async fn damage_is_repaired_while_work_goes_on(world: World) {
    let (engine, store) = (world.engine().await, world.store().await);
    furnish(&world, &engine, &*store).await;
    let total = 300;
    let ids: BTreeSet<_> = engine
        .submit_many(vec![tagged("busy"); total])
        .await
        .expect("answered")
        .into_iter()
        .map(|answer| answer.expect("answered").id)
        .collect();
    let working = tokio::spawn({
        let engine = engine.clone();
        async move {
            let mut done = BTreeSet::new();
            while done.len() < total {
                let claimed = claim_soon(&engine, &worker("w")).await;
                done.insert(claimed.fence.execution);
                engine.complete(claimed.fence, Payload::null()).await.expect("answered");
            }
            done
        }
    });
    let mut damaged = 0;
    for (partition, record) in records(&*store).await {
        for place in places(&record) {
            let mut batch = Batch::new(partition, fresh());
            batch.expect.push((record.key.clone(), Some(record.version)));
            batch.mend.push(Mend { key: record.key.clone(), place, listed: false });
            // Whatever has moved on meanwhile stays whole.
            let outcomes = store.commit(vec![batch]).await.expect("answered");
            damaged += u32::from(matches!(outcomes[..], [Outcome::Committed { .. }]));
        }
    }
    assert!(damaged > 0);
    assert!(examine(&engine, REPAIR).await.is_healthy());
    assert_eq!(working.await.expect("answered"), ids);
    assert_eq!(found(&examine(&engine, LOOK).await), []);
}

pub(crate) async fn a_restored_store_tells_its_readers_and_its_lanes(world: World) {
    let (engine, store) = (world.engine().await, world.store().await);
    furnish(&world, &engine, &*store).await;
    let mut reader = engine.subscribe(EventFilter::default(), None);
    while reader.next_now().await.expect("answered").is_some() {}
    let copy = Key::LaneCopy(Namespace::default(), Lane::parse("other").expect("a name"), PartitionId(3));
    for (partition, record) in records(&*store).await {
        if record.key.as_str() == copy.to_string() {
            remove(&*store, partition, &record).await;
        }
    }
    let report = examine(&engine, Examination { repair: true, restored: true }).await;
    assert_eq!((report.feeds_raised, report.lanes_told), (8, 1));
    assert_eq!(found(&report), [("lane_copy_differs", 1, 1)]);
    let (mut gaps, mut restored) = (0, 0);
    while let Some(told) = reader.next_now().await.expect("answered") {
        match told {
            Told::Gap => gaps += 1,
            Told::Event { event, .. } => restored += u32::from(event.what == What::Restored),
        }
    }
    assert_eq!((gaps > 0, restored), (true, 8));
    let cursor = reader.cursor();
    submit(&engine, work("after")).await;
    let mut again = engine.subscribe(EventFilter::default(), cursor);
    assert!(matches!(again.next_now().await.expect("answered"), Some(Told::Event { .. })), "readers go on from there");
    eventually("a second examination finds nothing", async || found(&examine(&engine, LOOK).await).is_empty()).await;
}
