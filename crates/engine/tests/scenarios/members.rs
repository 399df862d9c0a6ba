//! Processes that share the partitions of a store: who runs what, and what happens when one comes, goes, dies or jumps.
//!
//! A store that has one owner at a time, such as a file, shares them out as well: all to one.

use crate::kit::{PARTITIONS, World, eventually, state, submit, work, worker};
use futures_util::FutureExt;
use futures_util::future::select_all;
use onward_core::{ExecutionId, NewExecution, PartitionId, Span, index};
use onward_engine::{Engine, Wants};
use onward_store::{Home, IndexName, Partition, Partitions, Range, Store, Version};
use std::collections::{BTreeMap, BTreeSet};

/// The longest that a process waits before it says again that it lives.
const BEAT: Span = Span::seconds(2);
/// Beats after which the partitions of a dead process have been taken over.
const DEAD_AFTER: u32 = 5;

/// The records of members and their versions, which change while the members live.
async fn members(store: &dyn Store) -> BTreeMap<onward_store::Key, Version> {
    let (index, place) = (IndexName::new(index::MEMBERS), Partition(0));
    let page = store.scan(&index, &Partitions::Some(vec![place]), Range::default(), 100).await.expect("answered");
    let keys: Vec<_> = page.items.into_iter().map(|found| found.key).collect();
    let rows = store.load(place, &keys).await.expect("answered");
    rows.into_iter().flatten().map(|row| (row.key, row.version)).collect()
}

/// Moves the clock on and waits until each of these engines has said that it lives, where they do.
async fn pass(world: &World, engines: &[Engine], span: Span) {
    let store = engines[0].store();
    let before = members(&**store).await;
    world.clock.advance(span);
    let alive = engines.len().min(before.len());
    let looks = std::cell::Cell::new(0);
    eventually("everybody alive says so", async || {
        // Who was still busy with the last time sleeps from now on. Not at each look: whoever is slow must not seem dead to
        // those that are quick.
        looks.set(looks.get() + 1);
        if looks.get() % 8 == 0 {
            world.clock.advance(Span(BEAT.0 / 20));
        }
        let after = members(&**store).await;
        before.iter().filter(|(key, version)| after.get(key).is_some_and(|now| now != *version)).count() >= alive
    })
    .await;
}

/// Whether every partition is the home of exactly one of these engines.
fn are_shared_out(engines: &[Engine]) -> bool {
    let mut homes: Vec<PartitionId> = engines.iter().flat_map(Engine::homes).collect();
    homes.sort();
    homes == (0..PARTITIONS).map(PartitionId).collect::<Vec<_>>()
}

/// Waits until they are; each look takes as long as the store takes to answer, so that none of its answers is outrun.
async fn shared_out(engines: &[Engine]) {
    eventually("the partitions are shared out", async || {
        members(&**engines[0].store()).await;
        are_shared_out(engines)
    })
    .await;
}

/// Waits until one of the stores says that it may be a home: an owner that has gone is noticed by the others in time.
async fn some_home(engines: &[Engine]) {
    let homes = engines.iter().map(|engine| {
        let mut home = engine.store().home();
        Box::pin(async move { home.wait_for(|home| *home != Home::Nowhere).await.is_ok() })
    });
    assert!(select_all(homes).await.0, "a store was closed");
}

/// Several engines that know each other.
async fn party(world: &World) -> Vec<Engine> {
    let engines = vec![world.engine().await, world.engine().await, world.engine().await];
    for _ in 0..3 {
        pass(world, &engines, BEAT).await;
    }
    shared_out(&engines).await;
    engines
}

/// Takes the engine out that runs most of the partitions.
fn busiest(engines: &mut Vec<Engine>) -> Engine {
    let at = (0..engines.len()).max_by_key(|at| engines[*at].homes().len()).expect("there are engines");
    engines.remove(at)
}

pub(crate) async fn three_engines_share_the_partitions(world: World) {
    let mut engines = party(&world).await;
    let shares = |engines: &[Engine]| engines.iter().map(Engine::homes).collect::<Vec<_>>();
    let before = shares(&engines);
    for _ in 0..10 {
        pass(&world, &engines, BEAT).await;
        assert_eq!(shares(&engines), before, "nothing moves while nobody comes or goes");
    }
    engines.push(world.engine().await);
    for _ in 0..3 {
        pass(&world, &engines, BEAT).await;
    }
    shared_out(&engines).await;
    for (engine, before) in engines.iter().zip(&before) {
        assert!(engine.homes().iter().all(|home| before.contains(home)), "only what the newcomer runs has moved");
    }
}

pub(crate) async fn the_timers_of_a_dead_engine_are_taken_over(world: World) {
    let mut engines = party(&world).await;
    let mut ids = Vec::new();
    for _ in 0..4 * PARTITIONS {
        let delay = Some(Span::seconds(3));
        ids.push(submit(&engines[0], NewExecution { delay, ..work("later") }).await);
    }
    let dead = busiest(&mut engines);
    assert!(ids.iter().any(|id| dead.homes().contains(&id.partition())));
    dead.abort();
    dead.store().close().await.expect("closed");
    some_home(&engines).await;
    for _ in 0..DEAD_AFTER {
        pass(&world, &engines, BEAT).await;
    }
    for id in ids {
        eventually("its time comes", async || state(&engines[0], id).await == "waiting").await;
    }
    shared_out(&engines).await;
}

pub(crate) async fn an_engine_that_shuts_down_leaves_at_once(world: World) {
    let mut engines = party(&world).await;
    let leaving = busiest(&mut engines);
    leaving.shutdown().await;
    leaving.store().close().await.expect("closed");
    some_home(&engines).await;
    pass(&world, &engines, BEAT).await;
    shared_out(&engines).await;
}

pub(crate) async fn a_clock_that_jumps_kills_nobody(world: World) {
    let engines = party(&world).await;
    let before: Vec<_> = engines.iter().map(Engine::homes).collect();
    for _ in 0..5 {
        pass(&world, &engines, Span::hours(1)).await;
        for _ in 0..100 {
            let homes: Vec<_> = engines.iter().map(Engine::homes).collect();
            assert_eq!(homes, before);
            tokio::task::yield_now().await;
        }
    }
}

/// Several engines that know each other and of each other that they work the same lane, and ready work in all partitions.
async fn colleagues(world: &World) -> (Vec<Engine>, BTreeSet<ExecutionId>) {
    let engines = party(world).await;
    for engine in &engines {
        let nothing = engine.claim(&worker("w"), Span(0)).await.expect("answered");
        assert!(nothing.is_empty());
    }
    for _ in 0..2 {
        pass(world, &engines, BEAT).await;
    }
    let mut ids = BTreeSet::new();
    for n in 0..4 * PARTITIONS {
        let idempotency_key = Some(format!("spread-{n}").parse().expect("a key"));
        ids.insert(submit(&engines[0], NewExecution { idempotency_key, ..work("x") }).await);
    }
    (engines, ids)
}

pub(crate) async fn work_that_its_process_leaves_is_taken_by_others(world: World) {
    let (engines, mut ids) = colleagues(&world).await;
    let patient = Wants { lease: Span::hours(1), ..worker("w") };
    while !ids.is_empty() {
        let claim = engines[1].claim(&patient, Span::hours(1));
        let mut claim = std::pin::pin!(claim);
        let claimed = loop {
            match claim.as_mut().now_or_never() {
                Some(claimed) => break claimed.expect("answered"),
                None => {
                    world.clock.advance(Span(1));
                    tokio::task::yield_now().await;
                }
            }
        };
        assert!(claimed.iter().all(|claimed| ids.remove(&claimed.fence.execution)), "each is claimed once");
    }
}

pub(crate) async fn whoever_does_not_wait_gets_what_others_leave_too(world: World) {
    let (engines, ids) = colleagues(&world).await;
    let ids = std::cell::RefCell::new(ids);
    let patient = Wants { lease: Span::hours(1), max: 3, ..worker("w") };
    eventually("all work is claimed", async || {
        world.clock.advance(Span(10));
        for claimed in engines[2].claim(&patient, Span(0)).await.expect("answered") {
            assert!(ids.borrow_mut().remove(&claimed.fence.execution), "each is claimed once");
        }
        ids.borrow().is_empty()
    })
    .await;
}
