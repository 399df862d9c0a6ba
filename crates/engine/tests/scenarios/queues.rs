//! Who gets what, in which order, and what happens when there is a lot of it.

use crate::kit::{World, capabilities, claim_now, claim_soon, eventually, lane, submit, work, worker};
use onward_core::{Because, Namespace, NewExecution, Payload, Served, Span, limits};
use onward_engine::clock::Clock;
use onward_engine::{Engine, Wants};
use onward_store::Home;
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) async fn priority_goes_first_then_age(world: World) {
    let engine = world.engine().await;
    let mut expected = Vec::new();
    for (priority, name) in [(0, "old"), (5, "urgent"), (0, "young"), (9_000, "most urgent"), (5, "urgent too")] {
        let id = submit(&engine, NewExecution { priority, ..work(name) }).await;
        expected.push((std::cmp::Reverse(priority), expected.len(), id));
        world.clock.advance(Span(1));
    }
    expected.sort();
    for (_, _, id) in expected {
        assert_eq!(claim_now(&engine, &worker("w")).await.fence.execution, id);
    }
}

/// One process serves work in the order in which it came, whatever partition it went to: the items of one call, calls that
/// were acknowledged one after another, and work that waited for one instant.
pub(crate) async fn work_is_claimed_in_the_order_of_its_arrival(world: World) {
    let engine = world.engine().await;
    let mut expected: Vec<String> = (0..1_000).map(|n| format!("one call, {n}")).collect();
    let labelled = |label: &str| NewExecution::new(work("x").kind, Payload::of(&label).expect("JSON"));
    let many = expected.iter().map(|label| labelled(label)).collect();
    for answer in engine.submit_many(many).await.expect("answered") {
        answer.expect("accepted");
    }
    for n in 0..100 {
        let label = format!("its own call, {n}");
        submit(&engine, labelled(&label)).await;
        expected.push(label);
    }
    let instant = world.clock.now() + Span::hours(1);
    for n in 0..100 {
        let label = format!("later, {n}");
        submit(&engine, NewExecution { run_at: Some(instant), ..labelled(&label) }).await;
        expected.push(label);
    }
    world.clock.advance(Span::hours(1));
    let ready = async || engine.counts(&Namespace::default()).await.expect("counted").waiting.n;
    eventually("all are ready", async || ready().await == expected.len() as u64).await;
    let mut claimed = Vec::new();
    while claimed.len() < expected.len() {
        let wants = Wants { max: 100, ..worker("w") };
        let more = engine.claim(&wants, Span(0)).await.expect("answered");
        assert!(!more.is_empty(), "{} of {} were claimed", claimed.len(), expected.len());
        claimed.extend(more.into_iter().map(|one| one.input.read::<String>().expect("a label")));
    }
    assert_eq!(claimed, expected);
}

pub(crate) async fn capabilities_decide_who_gets_what(world: World) {
    let engine = world.engine().await;
    let gpu = submit(&engine, NewExecution { requires: capabilities(&["gpu"]), ..work("train") }).await;
    let both = submit(&engine, NewExecution { requires: capabilities(&["gpu", "eu"]), ..work("train-eu") }).await;
    let many: Vec<String> = (0..30).map(|n| format!("capability-{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let odd = submit(&engine, NewExecution { requires: capabilities(&many), ..work("odd") }).await;
    let with = |names: &[&str]| Wants { capabilities: capabilities(names), ..worker("w") };
    assert!(engine.claim(&worker("plain"), Span(0)).await.expect("answered").is_empty());
    assert!(engine.claim(&with(&["eu"]), Span(0)).await.expect("answered").is_empty());
    assert_eq!(claim_now(&engine, &with(&["gpu"])).await.fence.execution, gpu);
    assert!(engine.claim(&with(&["gpu"]), Span(0)).await.expect("answered").is_empty());
    assert_eq!(claim_now(&engine, &with(&["gpu", "eu", "fast"])).await.fence.execution, both);
    assert_eq!(claim_now(&engine, &with(&many)).await.fence.execution, odd);
}

pub(crate) async fn a_backlog_beyond_memory_is_served_completely(world: World) {
    let engine = world.engine().await;
    let mut open = BTreeSet::new();
    for _ in 0..3 {
        let many = (0..1_000).map(|_| work("bulk")).collect();
        for submitted in engine.submit_many(many).await.expect("accepted") {
            open.insert(submitted.expect("accepted").id);
        }
    }
    let wants = Wants { max: 500, ..worker("w") };
    while !open.is_empty() {
        let claimed = engine.claim(&wants, Span(0)).await.expect("answered");
        assert!(!claimed.is_empty(), "{} executions were never offered", open.len());
        for work in claimed {
            assert!(open.remove(&work.fence.execution), "offered twice");
        }
    }
    assert!(engine.submit_many((0..1_001).map(|_| work("bulk")).collect()).await.is_err());
}

/// A worker gets the kinds that it names and no others, whether it looks, waits, or comes after a restart; a hundred queues
/// are found with few reads.
pub(crate) async fn a_worker_gets_the_kinds_that_it_names(world: World) {
    let engine = world.engine().await;
    let of = |kinds: &[&str]| Wants {
        kinds: Some(Arc::new(kinds.iter().map(|kind| work(kind).kind).collect())),
        ..worker("w")
    };
    for n in 0..100 {
        submit(&engine, work(&format!("k{n}"))).await;
        world.clock.advance(Span(1));
    }
    assert!(engine.claim(&of(&["unknown"]), Span(0)).await.expect("answered").is_empty());
    let kinds = async |engine: &Engine, wants: &Wants| {
        let claimed = engine.claim(wants, Span(0)).await.expect("answered");
        claimed.into_iter().map(|one| one.kind.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(kinds(&engine, &of(&["k93", "k7"])).await, ["k7"], "the older one first");
    assert_eq!(kinds(&engine, &of(&["k93", "k7"])).await, ["k93"]);
    assert_eq!(kinds(&engine, &of(&["k93", "k7"])).await, [""; 0]);
    assert_eq!(kinds(&engine, &worker("all")).await, ["k0"], "without kinds it gets all");

    let waiting = tokio::spawn({
        let (engine, wants) = (engine.clone(), of(&["late"]));
        async move { claim_soon(&engine, &wants).await }
    });
    submit(&engine, work("other")).await;
    let late = submit(&engine, work("late")).await;
    assert_eq!(waiting.await.expect("claimed").fence.execution, late, "a parked worker waits for its own kind");
    for empty in [Vec::new(), (0..1_001).map(|n| format!("k{n}")).collect()] {
        let names: Vec<&str> = empty.iter().map(String::as_str).collect();
        let refused = engine.claim(&of(&names), Span(0)).await.expect_err("refused");
        assert_eq!(refused.code(), "invalid_argument");
    }

    engine.abort();
    engine.store().close().await.expect("closed");
    drop(engine);
    let engine = world.engine().await;
    let before = engine.store().stats().reads;
    assert_eq!(kinds(&engine, &of(&["k42"])).await, ["k42"]);
    let some: Vec<String> = (50..99).map(|n| format!("k{n}")).collect();
    let some: Vec<&str> = some.iter().map(String::as_str).collect();
    assert_eq!(kinds(&engine, &of(&some)).await, ["k50"]);
    let reads = engine.store().stats().reads - before;
    assert!(reads <= 8, "two claims that know no queue read {reads} times");
}

/// `why` says when no worker asks for such work, as far as the process can know.
pub(crate) async fn work_that_no_worker_asks_for_says_so(world: World) {
    let engine = world.engine().await;
    let id = submit(&engine, work("nobody's")).await;
    let served = async |id| {
        let execution = engine.get(id).await.expect("answered").expect("exists");
        match engine.why(&execution).await.expect("explained").reason {
            Because::WaitingForWorker { served, .. } => served,
            other => panic!("{other}"),
        }
    };
    let wants = Wants { kinds: Some(Arc::new([work("other").kind].into())), ..worker("w") };
    assert!(engine.claim(&wants, Span(0)).await.expect("answered").is_empty());
    // Processes that are members know of each other's workers; a file does not tell.
    let members = *engine.store().home().borrow() == Home::ByMembership;
    let alone = if members { Served::No } else { Served::NotHere };
    eventually("it is known who asks", async || served(id).await == alone).await;
    let other = submit(&engine, work("other")).await;
    assert_eq!(served(other).await, Served::Yes);
    assert_eq!(served(id).await, alone);
}

/// A namespace has so many lanes and not more; the lanes of others do not count.
pub(crate) async fn lanes_are_limited_for_each_namespace(world: World) {
    let engine = world.engine().await;
    let in_lane = |n: usize, namespace: &str| NewExecution {
        lane: lane(&format!("lane-{n}")),
        namespace: namespace.parse().expect("a namespace"),
        ..work("x")
    };
    for chunk in 0..limits::LANES_MAX / 1_000 {
        let many = (0..1_000).map(|n| in_lane(chunk * 1_000 + n, "many")).collect();
        for submitted in engine.submit_many(many).await.expect("answered") {
            submitted.expect("accepted");
        }
    }
    let refused = engine.submit(in_lane(limits::LANES_MAX, "many")).await.expect_err("one too many");
    assert_eq!(refused.code(), "too_many_lanes");
    engine.submit(in_lane(5, "many")).await.expect("a lane that is there");
    engine.submit(in_lane(limits::LANES_MAX, "other")).await.expect("another namespace");
}

pub(crate) async fn a_worker_serves_several_lanes(world: World) {
    let engine = world.engine().await;
    let lanes = ["emails", "reports", "imports"].map(lane);
    let wants = Wants { lanes: lanes.to_vec(), ..worker("w") };
    for lane in &lanes {
        submit(&engine, NewExecution { lane: lane.clone(), ..work("x") }).await;
    }
    submit(&engine, NewExecution { lane: lane("other"), ..work("x") }).await;
    let mut served = BTreeSet::new();
    for _ in 0..3 {
        served.insert(claim_now(&engine, &wants).await.lane);
    }
    assert_eq!(served.len(), 3);
    assert!(engine.claim(&wants, Span(0)).await.expect("answered").is_empty());
}

pub(crate) async fn shutdown_answers_what_was_accepted(world: World) {
    let engine = world.engine().await;
    let calls: Vec<_> = (0..200)
        .map(|_| {
            let engine = engine.clone();
            tokio::spawn(async move { engine.submit(work("x")).await })
        })
        .collect();
    let parked = tokio::spawn({
        let engine = engine.clone();
        let wants = Wants { lanes: vec![lane("empty")], ..worker("w") };
        async move { engine.claim(&wants, Span::days(1)).await }
    });
    tokio::task::yield_now().await;
    engine.shutdown().await;
    let mut accepted = 0;
    for call in calls {
        match call.await.expect("the call ended") {
            Ok(_) => accepted += 1,
            Err(error) => assert_eq!(error.code(), "shutting_down"),
        }
    }
    match parked.await.expect("the worker was let go") {
        Ok(claimed) => assert!(claimed.is_empty()),
        Err(error) => assert_eq!(error.code(), "shutting_down"),
    }
    engine.store().close().await.expect("closed");
    let engine = world.engine().await;
    let mut found = 0;
    loop {
        let claimed = engine.claim(&Wants { max: 1_000, ..worker("w") }, Span(0)).await.expect("answered");
        if claimed.is_empty() {
            break;
        }
        for work in claimed {
            engine.complete(work.fence, Payload::null()).await.expect("completed");
            found += 1;
        }
    }
    assert_eq!(found, accepted, "what was acknowledged is there, and nothing else");
}
