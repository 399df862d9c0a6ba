//! Owning an execution, losing it, and getting it back.

use crate::kit::{World, claim_now, claim_soon, eventually, state, submit, work, worker};
use onward_core::record::AttemptKind;
use onward_core::{Payload, Span};
use std::cell::RefCell;

pub(crate) async fn a_lost_worker_is_noticed_and_its_work_done_again(world: World) {
    let engine = world.engine().await;
    let id = submit(&engine, work("import")).await;
    let lost = claim_now(&engine, &worker("crashed")).await;
    let next = tokio::spawn({
        let engine = engine.clone();
        async move { claim_soon(&engine, &worker("rescuer")).await }
    });
    world.clock.advance(Span::seconds(10));
    let again = next.await.expect("claimed");
    assert_eq!((again.fence.execution, again.fence.attempt, again.fence.epoch), (id, 2, 2));
    assert_eq!(again.attempt_kind, AttemptKind::Reclaim);
    let late = engine.complete(lost.fence, Payload::null()).await.expect_err("fenced");
    assert_eq!(late.code(), "stale_lease");
    engine.complete(again.fence, Payload::null()).await.expect("completed");
    assert_eq!(engine.metrics().lease_expiry, 1);
}

pub(crate) async fn a_renewed_lease_lives_and_a_stale_one_is_fenced(world: World) {
    let engine = world.engine().await;
    let id = submit(&engine, work("render")).await;
    let claimed = claim_now(&engine, &worker("w1")).await;
    for _ in 0..4 {
        world.clock.advance(Span::seconds(6));
        let renewed = engine.renew(&[claimed.fence], Span::seconds(10)).await;
        assert!(renewed[0].is_ok(), "{renewed:?}");
    }
    assert_eq!(state(&engine, id).await, "active");
    world.clock.advance(Span::seconds(11));
    eventually("it is ready again", async || state(&engine, id).await == "waiting").await;
    let dead = engine.renew(&[claimed.fence], Span::seconds(10)).await.remove(0).expect_err("the lease ran out");
    assert_eq!(dead.code(), "execution_not_active");
}

pub(crate) async fn work_that_nobody_receives_is_given_back(world: World) {
    let engine = world.engine().await;
    submit(&engine, work("warm-up")).await;
    let first = claim_now(&engine, &worker("w0")).await;
    engine.complete(first.fence, Payload::null()).await.expect("completed");
    for round in 0..20 {
        let gone = tokio::spawn({
            let engine = engine.clone();
            async move { claim_soon(&engine, &worker("gone")).await }
        });
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        let id = submit(&engine, work("letter")).await;
        gone.abort();
        if let Ok(received) = gone.await {
            engine.complete(received.fence, Payload::null()).await.expect("it was there in time after all");
            continue;
        }
        // Whoever was gone when the work arrived must not keep it: without the clock moving, no lease can expire.
        let claimed = RefCell::new(Vec::new());
        eventually("it is given back", async || {
            let found = engine.claim(&worker("here"), Span(0)).await.expect("answered");
            claimed.borrow_mut().extend(found);
            !claimed.borrow().is_empty()
        })
        .await;
        let claimed = claimed.into_inner();
        assert_eq!(claimed[0].fence.execution, id);
        engine.complete(claimed[0].fence, Payload::null()).await.expect("completed");
        let execution = engine.get(id).await.expect("answered").expect("exists");
        assert_eq!(execution.reclaims, 0, "giving back is not losing");
    }
}

pub(crate) async fn a_restarted_engine_finds_everything(world: World) {
    let engine = world.engine().await;
    let waiting = submit(&engine, work("a")).await;
    let running = {
        let claimed = claim_now(&engine, &worker("w1")).await;
        assert_eq!(claimed.fence.execution, waiting);
        claimed
    };
    let second = submit(&engine, work("b")).await;
    engine.abort();
    engine.store().close().await.expect("closed");
    drop(engine);
    let engine = world.engine().await;
    assert_eq!(claim_now(&engine, &worker("w2")).await.fence.execution, second);
    engine.complete(running.fence, Payload::null()).await.expect("the lease outlives the process that gave it");
    assert_eq!(state(&engine, waiting).await, "completed");
    world.clock.advance(Span::seconds(10));
    assert_eq!(claim_soon(&engine, &worker("w3")).await.fence.execution, second);
}
