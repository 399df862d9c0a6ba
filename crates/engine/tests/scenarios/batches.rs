//! What shares a commit: how much fits one batch, and ready work that goes to workers in the batch that makes it ready.

use crate::kit::{World, claim_soon, eventually, submit_to, work, worker};
use onward_core::{ExecutionId, NewExecution, PartitionId, Payload, Span, Submit, limits};
use onward_engine::clock::Clock;
use onward_engine::{Engine, Wants};
use tokio::task::{JoinHandle, yield_now};
use uuid::Uuid;

const HOME: PartitionId = PartitionId(3);

/// A submit to one partition; ids are in the order of `n`.
fn numbered(engine: &Engine, n: u128, new: NewExecution) -> Submit {
    let uuid = Uuid::from_u128((0x0192_f0c8_0000_7000_8000_u128 << 48) | n);
    Submit { id: ExecutionId::new(uuid, HOME), ..engine.address(new) }
}

/// Submits in one call to one partition; returns how many batches that took, and the most rows and bytes of one on average.
async fn submitted_together(engine: &Engine, all: Vec<Submit>) -> u64 {
    let before = engine.store().stats().batches;
    for answer in engine.run_many(all.into_iter()).await {
        answer.expect("accepted");
    }
    engine.store().stats().batches - before
}

#[tokio::test]
async fn a_batch_ends_at_its_bytes_and_at_its_rows() {
    let engine = World::memory().engine().await;
    submit_to(&engine, work("warm-up"), HOME).await;
    let small = (0..200).map(|n| numbered(&engine, n, work("small"))).collect();
    assert_eq!(submitted_together(&engine, small).await, 1, "four rows each");
    let large = Payload::bytes("image/png", vec![7; limits::BATCH_BYTES_MAX / 4]).expect("a payload");
    let large = |n| numbered(&engine, n, NewExecution::new(work("large").kind, large.clone()));
    let batches = submitted_together(&engine, (1_000..1_020).map(large).collect()).await;
    assert!((5..=7).contains(&batches), "a quarter of the bytes of a batch each: {batches}");
    let tags = |n: u128| (0..16).map(move |tag| (format!("t{tag}").parse().unwrap(), format!("{n}").parse().unwrap()));
    let tagged = |n| numbered(&engine, n, NewExecution { tags: tags(n).collect(), ..work("tagged") });
    let batches = submitted_together(&engine, (2_000..2_250).map(tagged).collect()).await;
    assert!((3..=4).contains(&batches), "twenty rows each: {batches}");
    engine.shutdown().await;
}

/// A claim that waits on the board.
async fn parked(engine: &Engine) -> JoinHandle<ExecutionId> {
    let (own, wants) = (engine.clone(), Wants { lease: Span::hours(1), ..worker("w") });
    let claim = tokio::spawn(async move { claim_soon(&own, &wants).await.fence.execution });
    // A store in memory answers at once.
    for _ in 0..100 {
        yield_now().await;
    }
    claim
}

#[tokio::test]
async fn a_batch_hands_out_its_most_urgent_work() {
    let engine = World::memory().engine().await;
    let warm = submit_to(&engine, work("warm-up"), HOME).await;
    assert_eq!(parked(&engine).await.await.expect("claimed"), warm);
    let claim = parked(&engine).await;
    let before = engine.metrics().hand_offs;
    let urgent = NewExecution { priority: 5, ..work("urgent") };
    // The first by key is not the first by rank.
    let both = vec![numbered(&engine, 1, work("usual")), numbered(&engine, 2, urgent)];
    let expected = both[1].id;
    assert_eq!(submitted_together(&engine, both).await, 1);
    assert_eq!(engine.metrics().hand_offs, before + 1);
    assert_eq!(claim.await.expect("claimed"), expected);
    engine.shutdown().await;
}

#[tokio::test]
async fn a_hand_off_that_lacks_a_record_reads_it_first() {
    let world = World::memory();
    let first = world.engine().await;
    let delayed = NewExecution { delay: Some(Span::minutes(1)), ..work("delayed") };
    let id = submit_to(&first, delayed, HOME).await;
    first.shutdown().await;
    // A new engine has nothing at hand: the settings of the lane must be read for the claim.
    let engine = world.engine().await;
    let claim = parked(&engine).await;
    world.clock.advance(Span::minutes(1));
    eventually("it becomes ready", async || engine.metrics().delayed_promoter == 1).await;
    assert_eq!(claim.await.expect("claimed"), id);
    assert_eq!(engine.metrics().hand_offs, 1, "in the commit that made it ready, at {}", world.clock.now());
    engine.shutdown().await;
}
