//! The kit for testing handlers keeps its promises: held time, one attempt after the other, equal runs.

use onward::testing::{TestClock, TestKit};
use onward::{AttemptKind, Context, Failed, PublicState, RetryPolicy, Span, Worker};
use std::time::Duration;

async fn flaky(ctx: Context, until: u32) -> Result<u32, Failed> {
    if ctx.attempt() < until { Err(Failed::transient("not yet")) } else { Ok(ctx.attempt()) }
}

#[tokio::test]
async fn equal_seeds_give_equal_runs() {
    let run = async |seed| {
        let kit = TestKit::with_seed(seed).await.unwrap();
        let worker = Worker::new(kit.client()).on("flaky", flaky);
        let id = kit.client().submit("flaky", &4).await.unwrap().id;
        let mut trace = Vec::new();
        while kit.client().result::<u32>(id).await.unwrap().is_none() {
            kit.run_until_idle(&worker).await.unwrap();
            trace.push(kit.client().get(id).await.unwrap().unwrap());
            kit.advance(Duration::from_millis(250)).await.unwrap();
        }
        trace
    };
    let first = run(7).await;
    assert_eq!(first, run(7).await);
    assert_ne!(first[0].id, run(8).await[0].id);
    assert_eq!(first.last().unwrap().attempts, 4);
}

#[tokio::test]
async fn work_that_makes_work_is_run_to_the_end() {
    let kit = TestKit::new().await.unwrap();
    let count = async |ctx: Context, left: u32| {
        if left > 0 {
            ctx.client().submit("count", &(left - 1)).await?;
        }
        Ok::<_, Failed>(())
    };
    let worker = Worker::new(kit.client()).on("count", count);
    kit.client().submit("count", &9).await.unwrap();
    assert_eq!(kit.run_until_idle(&worker).await.unwrap(), 10);
    assert_eq!(kit.run_until_idle(&worker).await.unwrap(), 0);
}

#[tokio::test]
async fn a_handler_that_takes_longer_than_its_lease_loses_it() {
    let kit = TestKit::new().await.unwrap();
    let clock: TestClock = kit.clock().clone();
    let slow = move |ctx: Context, (): ()| {
        let clock = clock.clone();
        async move {
            if ctx.attempt() == 1 {
                clock.advance(Span::minutes(1));
            }
            Ok::<_, Failed>(ctx.attempt_kind())
        }
    };
    let worker = Worker::new(kit.client()).on("slow", slow);
    let id = kit.client().submit("slow", &()).await.unwrap().id;
    assert_eq!(kit.run_until_idle(&worker).await.unwrap(), 2);
    assert_eq!(kit.client().result::<AttemptKind>(id).await.unwrap(), Some(AttemptKind::Reclaim));
}

#[tokio::test]
async fn a_year_of_retries_takes_no_time() {
    let kit = TestKit::new().await.unwrap();
    let worker = Worker::new(kit.client()).on("flaky", flaky);
    let policy = RetryPolicy::fixed(52, Span::days(7));
    let id = kit.client().submit("flaky", &53).retry(policy).await.unwrap().id;
    for _ in 0..52 {
        assert_eq!(kit.run_until_idle(&worker).await.unwrap(), 1);
        kit.advance(Duration::from_secs(7 * 24 * 3_600)).await.unwrap();
    }
    assert_eq!(kit.client().get(id).await.unwrap().unwrap().state, PublicState::Waiting);
    kit.run_until_idle(&worker).await.unwrap();
    assert_eq!(kit.client().result::<u32>(id).await.unwrap(), Some(53));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_with_several_threads_is_refused() {
    let error = TestKit::new().await.unwrap_err();
    assert_eq!(error.code(), "invalid_argument");
    assert!(error.to_string().contains("one thread"), "{error}");
}
