//! Several engines on one store, as several processes would be.

use crate::kit::{World, claim_soon, submit, work, worker};
use onward_core::{IdempotencyKey, Name, NewExecution, Payload, Span};
use onward_engine::Wants;
use std::collections::BTreeSet;

pub(crate) async fn two_engines_share_a_store(world: World) {
    let (one, two) = (world.engine().await, world.engine().await);
    // The clock below runs much faster than the disk, and the lease must outlast that.
    let patient = Wants { lease: Span::hours(1), ..worker("w2") };
    let parked = tokio::spawn({
        let two = two.clone();
        async move { claim_soon(&two, &patient).await }
    });
    let id = submit(&one, work("x")).await;
    // The second engine learns of it by a hint, or by its sweep when the hint is lost.
    let claimed = loop {
        if parked.is_finished() {
            break parked.await.expect("claimed");
        }
        world.clock.advance(Span(1));
        tokio::task::yield_now().await;
    };
    assert_eq!(claimed.fence.execution, id);
    one.complete(claimed.fence, Payload::null()).await.expect("either engine takes the answer");
}

pub(crate) async fn contended_keys_are_resolved_by_versions(world: World) {
    let engines = [world.engine().await, world.engine().await];
    let key = |n: usize| IdempotencyKey::parse(&format!("order-{n}")).expect("a key");
    let calls: Vec<_> = (0..60)
        .map(|n| {
            let engine = engines[n % 2].clone();
            let new = NewExecution { idempotency_key: Some(key(n % 5)), ..work("charge") };
            tokio::spawn(async move { engine.submit(new).await })
        })
        .collect();
    let (mut ids, mut created) = (BTreeSet::new(), 0);
    for call in calls {
        while !call.is_finished() {
            world.clock.advance(Span(1));
            tokio::task::yield_now().await;
        }
        let submitted = call.await.expect("ended").expect("accepted");
        ids.insert(submitted.id);
        created += usize::from(submitted.created);
    }
    assert_eq!((ids.len(), created), (5, 5), "one execution for each key, whoever asked");
}
