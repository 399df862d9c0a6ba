//! Events: a reader that dies again and again sees each one once, in order; old ones go, and so does ended work.

use crate::kit::{PARTITIONS, World, eventually, start, submit, submit_to, work};
use onward_core::{Act, ExecutionId, Namespace, NewExecution, PartitionId, Policy, Reason, Span, act};
use onward_engine::{Engine, EventFilter, FindFilter, Options, Subscription, Told};
use onward_store::Cursor;
use std::collections::BTreeMap;

/// How many executions the reader follows; each makes two events. A server that syncs every commit gets fewer.
fn executions(world: &World) -> usize {
    if world.is_served() { 5_000 } else { 50_000 }
}

fn chance(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// Submits and cancels in calls of 1,000.
async fn churn(engine: Engine, executions: usize) {
    for _ in 0..executions / 1_000 {
        let answers = engine.submit_many(vec![work("w"); 1_000]).await.expect("accepted");
        let ids: Vec<ExecutionId> = answers.into_iter().map(|answer| answer.expect("submitted").id).collect();
        let act = Act::from(act::Cancel::default());
        for answer in engine.operate_many(engine.command_id(), &Namespace::default(), &ids, None, &act).await {
            answer.expect("cancelled");
        }
    }
}

async fn next(reader: &mut Subscription) -> (onward_core::Event, String) {
    match reader.next().await.expect("readable") {
        Some(Told::Event { event, cursor }) => (event, cursor),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn a_reader_that_dies_again_and_again_sees_every_event_once(world: World) {
    let engine = world.engine().await;
    let executions = executions(&world);
    let writing = tokio::spawn(churn(engine.clone(), executions));
    let (mut seed, mut kept) = (7, None::<String>);
    let mut seen: BTreeMap<ExecutionId, Vec<&'static str>> = BTreeMap::new();
    let (mut events, mut lives) = (0, 0);
    while events < 2 * executions {
        lives += 1;
        let mut reader = engine.subscribe(EventFilter::default(), kept.clone());
        // It dies in the middle of a page as likely as anywhere, knowing nothing but what it kept.
        for _ in 0..=chance(&mut seed) % (executions as u64 / 25) {
            let (event, cursor) = next(&mut reader).await;
            seen.entry(event.execution().expect("of an execution")).or_default().push(event.what.name());
            kept = Some(cursor);
            events += 1;
            if events == 2 * executions {
                break;
            }
        }
    }
    writing.await.expect("it wrote everything");
    assert_eq!(seen.len(), executions);
    assert!(seen.values().all(|names| names[..] == ["submitted", "cancelled"]), "each once and in order");
    assert!(lives > 20, "{lives} lives");
    let mut reader = engine.subscribe(EventFilter::default(), kept);
    assert_eq!(reader.next_now().await.expect("readable"), None, "and nothing else");
    eprintln!("{events} events were seen once by a reader with {lives} lives");
}

pub(crate) async fn a_reader_gets_what_it_asked_for_and_waits_for_more(world: World) {
    let engine = world.engine().await;
    let endings = EventFilter { endings: true, ..EventFilter::default() };
    let mut reader = engine.subscribe(endings, None);
    let first = submit(&engine, work("a")).await;
    assert_eq!(reader.next_now().await.expect("readable"), None, "a submit ends nothing");
    let waiting = tokio::spawn(async move { next(&mut reader).await.0 });
    let act = act::Cancel { reason: Reason::new("enough"), grace: None };
    engine.operate(&Namespace::default(), first, act).await.expect("cancelled");
    let event = waiting.await.expect("woken");
    assert_eq!((event.execution(), event.what.name()), (Some(first), "cancelled"));
    let foreign = engine.subscribe(EventFilter::default(), Some("no cursor".into())).next_now().await;
    assert_eq!(foreign.expect_err("refused").code(), "invalid_argument");
}

pub(crate) async fn old_events_and_ended_work_go(world: World) {
    let options = Options { event_retention: Span::minutes(10), ..world.options() };
    let engine = start(world.store().await, options).await;
    let policy = Policy { retention: Some(Span::minutes(10)), ..Policy::default() };
    let mut ids = Vec::new();
    for _ in 0..100 {
        ids.push(submit(&engine, NewExecution { policy: policy.clone(), ..work("short") }).await);
    }
    let act = Act::from(act::Cancel::default());
    for answer in engine.operate_many(engine.command_id(), &Namespace::default(), &ids, None, &act).await {
        answer.expect("cancelled");
    }
    // Within twice its retention everything is gone: records, entries, history and events.
    for _ in 0..40 {
        world.clock.advance(Span::seconds(30));
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }
    let gone = async {
        for id in &ids {
            while engine.get(*id).await.expect("answered").is_some() {
                world.clock.advance(Span::seconds(1));
                tokio::task::yield_now().await;
            }
        }
    };
    gone.await;
    let found = engine.find(&Namespace::default(), &FindFilter::default(), None, 10).await.expect("found");
    assert!(found.executions.is_empty());
    // The newest event of a store, or of each of its partitions, is never trimmed, so that positions go on.
    while left(&engine).await > usize::from(PARTITIONS) {
        world.clock.advance(Span::seconds(30));
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn old_events_go_whatever_is_new_beside_them(world: World) {
    let options = Options { event_retention: Span::minutes(10), ..world.options() };
    let engine = start(world.store().await, options).await;
    for partition in (0..PARTITIONS).cycle().take(1_000) {
        submit_to(&engine, work("old"), PartitionId(partition)).await;
    }
    world.clock.advance(Span::minutes(11));
    let new = usize::from(PARTITIONS);
    for partition in 0..PARTITIONS {
        submit_to(&engine, work("new"), PartitionId(partition)).await;
    }
    // One round of trimming, long before the new ones are old.
    world.clock.advance(Span::minutes(2));
    eventually("old events go", async || left(&engine).await <= new + usize::from(PARTITIONS)).await;
    assert!(left(&engine).await >= new);
}

/// How many commits' events can be read; those of one commit come and go together.
async fn left(engine: &Engine) -> usize {
    let (mut cursor, mut commits) = (Cursor::start(), 0);
    loop {
        let page = engine.store().read_feed(&cursor, 1_000).await.expect("readable");
        if page.events.is_empty() {
            return commits;
        }
        commits += page.events.len();
        cursor = page.cursor;
    }
}
