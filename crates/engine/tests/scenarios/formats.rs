//! Records of a newer build: they are left as they are, no process spins on them, and other work goes on.

use crate::kit::{World, claim_now, claim_soon, eventually, start, submit_to, work, worker};
use onward_core::{ExecutionId, NewExecution, PartitionId, Span};
use onward_engine::Options;
use onward_store::{Batch, Home, Key, Outcome, Partition, Record, Store, Version};

/// Where everything is, so that newer and older work wait in one queue.
const HOME: PartitionId = PartitionId(3);

async fn record(store: &dyn Store, id: ExecutionId) -> Record {
    let found = store.load(Partition(HOME.0), &[Key::new(id.to_string())]).await.expect("answered");
    found.into_iter().next().flatten().expect("the record is there")
}

/// Writes an execution as a build of the future might.
async fn rewrite(store: &dyn Store, id: ExecutionId, version: u128) -> Record {
    let old = record(store, id).await;
    let body = String::from_utf8(old.body.to_vec()).expect("readable");
    let newer = body.replacen("\"v\":1", "\"v\":99,\"news\":true", 1);
    assert_ne!(body, newer);
    let mut batch = Batch::new(Partition(HOME.0), Version(version));
    batch.expect.push((old.key.clone(), Some(old.version)));
    batch.put.push(Record { version: batch.id, body: newer.into(), ..old });
    let outcomes = store.commit(vec![batch]).await.expect("answered");
    assert!(matches!(outcomes[..], [Outcome::Committed { .. }]), "{outcomes:?}");
    record(store, id).await
}

pub(crate) async fn work_of_a_newer_build_is_left_alone(world: World) {
    let store = world.store().await;
    let first = world.engine().await;
    let running = submit_to(&first, work("runs"), HOME).await;
    assert_eq!(claim_now(&first, &worker("w")).await.fence.execution, running);
    let waiting = submit_to(&first, work("waits"), HOME).await;
    first.shutdown().await;
    let newer = [rewrite(&*store, running, 0xf00).await, rewrite(&*store, waiting, 0xf01).await];

    let engine = world.engine().await;
    let (working, w) = (engine.clone(), worker("v"));
    let claim = tokio::spawn(async move { claim_soon(&working, &w).await });
    // Past the lease of what runs, and past many sweeps. Each step waits for a commit: a clock that moved by minutes while
    // the engine's own commits are in flight would put them outside their windows.
    let (began, sweeps) = (engine.metrics(), 12);
    for step in 0_u128.. {
        let metrics = engine.metrics();
        if metrics.sweeps - began.sweeps >= sweeps && metrics.commands > began.commands {
            break;
        }
        assert!(step < 20_000, "the engine sweeps and reads the newer records");
        world.clock.advance(Span(500));
        store.commit(vec![Batch::new(Partition(HOME.0), Version(0xa000 + step))]).await.expect("answered");
        // A store in memory answers at once, so the engine needs a turn of its own.
        tokio::task::yield_now().await;
    }
    let metrics = engine.metrics();
    let (commands, swept) = (metrics.commands - began.commands, metrics.sweeps - began.sweeps);
    assert!(commands <= 8 * (swept + 2), "{commands} commands in {swept} sweeps");

    let ours = submit_to(&engine, work("ours"), HOME).await;
    assert_eq!(claim.await.expect("claimed").fence.execution, ours, "it waits for what this build understands");
    for before in newer {
        let id = before.key.as_str().parse().expect("an id");
        assert_eq!(record(&*store, id).await, before);
        assert_eq!(engine.get(id).await.expect_err("refused").code(), "record_unreadable");
    }
    engine.shutdown().await;
}

/// On a file the first process has the lock, whatever it reads.
#[tokio::test]
async fn the_home_of_a_file_goes_to_the_process_that_reads_the_newest_format() {
    let world = World::sqlite();
    let store = world.store().await;
    let first = world.engine_on(store.clone()).await;
    let waiting = submit_to(&first, NewExecution { delay: Some(Span::hours(1)), ..work("waits") }, HOME).await;
    first.shutdown().await;
    store.close().await.expect("the store closes");
    let (old_store, new_store) = (world.store().await, world.store().await);
    let (old_home, mut new_home) = (old_store.home(), new_store.home());
    assert_eq!((*old_home.borrow(), *new_home.borrow()), (Home::Everywhere, Home::Nowhere));
    let knows = |formats_known| Options { formats_known, ..world.options() };
    let old = start(old_store.clone(), knows(98)).await;
    let new = start(new_store.clone(), knows(99)).await;
    let newer = rewrite(&*old_store, waiting, 0xf00).await;

    // The older one finds out when the record is due, and leaves the lock to the other one, which tries for it by real time.
    let mut step = 0;
    while *old_home.borrow() != Home::Nowhere {
        assert!(step < 20_000, "the home moves");
        step += 1;
        world.clock.advance(Span::minutes(1));
        old_store.commit(vec![Batch::new(Partition(HOME.0), Version(0xa000 + step))]).await.expect("answered");
        tokio::task::yield_now().await;
    }
    new_home.wait_for(|home| *home == Home::Everywhere).await.expect("the store is open");
    assert_eq!((*old_home.borrow(), old.homes().is_empty()), (Home::Nowhere, true));
    eventually("the newer one is the home", async || !new.homes().is_empty()).await;
    let began = new.metrics().commands;
    while new.metrics().commands == began {
        step += 1;
        world.clock.advance(Span::minutes(1));
        old_store.commit(vec![Batch::new(Partition(HOME.0), Version(0xa000 + step))]).await.expect("answered");
        tokio::task::yield_now().await;
    }
    assert_eq!(*new_home.borrow(), Home::Everywhere, "what a process should be able to read is no reason to leave");
    assert_eq!(record(&*new_store, waiting).await, newer);
    old.shutdown().await;
    new.shutdown().await;
}
