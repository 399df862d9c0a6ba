//! Submitting, claiming, completing, failing, waiting for a time.

use crate::kit::{World, claim_now, claim_soon, eventually, state, submit, submit_to, work, worker};
use onward_core::record::PublicState;
use onward_core::{
    Category, Failure, IdempotencyKey, Millis, Name, Namespace, NewExecution, PartitionId, Payload, PayloadSlot,
    Policy, Report, Reported, RetryPolicy, Span, end, limits,
};
use onward_engine::clock::Clock;
use onward_engine::{Engine, Error, FindFilter};
use std::collections::BTreeSet;

pub(crate) async fn submitted_work_is_claimed_and_completed(world: World) {
    let engine = world.engine().await;
    let id = submit(&engine, work("greet")).await;
    assert_eq!(state(&engine, id).await, "waiting");
    let claimed = claim_now(&engine, &worker("w1")).await;
    assert_eq!(claimed.fence.execution, id);
    assert_eq!(claimed.input.read::<String>().expect("the input is JSON"), "greet");
    assert_eq!(state(&engine, id).await, "active");
    engine.complete(claimed.fence, Payload::json("{\"ok\":true}").expect("JSON")).await.expect("completed");
    assert_eq!(state(&engine, id).await, "completed");
    let execution = engine.get(id).await.expect("answered").expect("exists");
    let result = engine.payload(&execution, PayloadSlot::Result).await.expect("answered").expect("a result");
    assert_eq!(result.as_bytes(), b"{\"ok\":true}");
    assert!(engine.claim(&worker("w1"), Span(0)).await.expect("answered").is_empty());
}

pub(crate) async fn a_parked_worker_gets_work_in_the_commit_that_submits_it(world: World) {
    let engine = world.engine().await;
    submit(&engine, work("warm-up")).await;
    let first = claim_now(&engine, &worker("w1")).await;
    engine.complete(first.fence, Payload::null()).await.expect("completed");
    let parked = tokio::spawn({
        let engine = engine.clone();
        async move { claim_soon(&engine, &worker("w1")).await }
    });
    let mut handed_off = false;
    for _ in 0..100 {
        // The submit may win the race against the parking; then the board serves the worker, without a hand-off.
        tokio::task::yield_now().await;
        let before = engine.metrics();
        let id = submit(&engine, work("next")).await;
        let after = engine.metrics();
        if after.hand_offs > before.hand_offs {
            assert_eq!(state(&engine, id).await, "active");
            handed_off = true;
            break;
        }
    }
    assert!(handed_off, "a parked worker is served within the submit's own commit");
    parked.await.expect("the worker got it");
}

fn patient(max_retries: u32) -> NewExecution {
    let retry = Some(RetryPolicy::fixed(max_retries, Span::seconds(5)));
    NewExecution { policy: Policy { retry, ..Policy::default() }, ..work("flaky") }
}

pub(crate) async fn a_failed_attempt_is_retried_after_its_pause(world: World) {
    let engine = world.engine().await;
    let id = submit(&engine, patient(1)).await;
    let first = claim_now(&engine, &worker("w1")).await;
    let after = engine
        .report(first.fence, end::Fail { failure: Failure::new(Category::transient(), "once") })
        .await
        .expect("answered");
    assert_eq!(after, Reported::again(engine.now() + Span::seconds(5)));
    assert_eq!(state(&engine, id).await, "delayed");
    world.clock.advance(Span::seconds(5));
    let second = claim_soon(&engine, &worker("w2")).await;
    assert_eq!((second.fence.execution, second.fence.attempt, second.retries), (id, 2, 1));
    let after = engine
        .report(second.fence, end::Fail { failure: Failure::new(Category::transient(), "twice") })
        .await
        .expect("answered");
    assert_eq!(after, Reported::ENDED);
    assert_eq!(state(&engine, id).await, "failed");
}

pub(crate) async fn a_permanent_failure_is_final(world: World) {
    let engine = world.engine().await;
    let id = submit(&engine, patient(5)).await;
    let claimed = claim_now(&engine, &worker("w1")).await;
    let after = engine
        .report(claimed.fence, end::Fail { failure: Failure::new(Category::permanent(), "no") })
        .await
        .expect("answered");
    assert_eq!((after, state(&engine, id).await), (Reported::ENDED, "failed"));
}

pub(crate) async fn delayed_work_becomes_ready_at_its_time(world: World) {
    let engine = world.engine().await;
    let late = submit(&engine, NewExecution { delay: Some(Span::hours(30)), ..work("late") }).await;
    let soon = submit(&engine, NewExecution { delay: Some(Span::seconds(3)), ..work("soon") }).await;
    assert_eq!((state(&engine, late).await, state(&engine, soon).await), ("delayed", "delayed"));
    assert!(engine.claim(&worker("w1"), Span(0)).await.expect("answered").is_empty());
    world.clock.advance(Span::seconds(3));
    assert_eq!(claim_soon(&engine, &worker("w1")).await.fence.execution, soon);
    assert_eq!(state(&engine, late).await, "delayed");
    world.clock.advance(Span::hours(30));
    eventually("the late one is ready", async || state(&engine, late).await == "waiting").await;
}

/// More work than several reads of due times bring is due at one instant, right after a restart. No sweep is needed for
/// what is behind the first reads, and a listing goes through all of it in bounded steps.
pub(crate) async fn a_crowd_that_is_due_at_one_instant_becomes_ready(world: World) {
    let (crowd, instant) = (2 * limits::DUE_PAGE_MAX + 500, world.clock.now() + Span::hours(1));
    let engine = world.engine().await;
    for call in (0..crowd).collect::<Vec<_>>().chunks(limits::CALL_ITEMS_MAX) {
        let new = |_: &usize| NewExecution { run_at: Some(instant), ..work("tick") };
        for answer in engine.submit_many(call.iter().map(new).collect()).await.expect("answered") {
            answer.expect("accepted");
        }
    }
    let (filter, mut cursor) = (FindFilter { states: [PublicState::Delayed].into(), ..FindFilter::default() }, None);
    let mut listed = BTreeSet::new();
    loop {
        let page = engine.find(&Namespace::default(), &filter, cursor.as_deref(), 1_000).await.expect("found");
        assert!(page.scanned <= 2_000, "{} entries were read for a page", page.scanned);
        listed.extend(page.executions.iter().map(|execution| execution.id));
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(listed.len(), crowd);
    engine.abort();
    engine.store().close().await.expect("closed");
    drop(engine);
    let engine = world.engine().await;
    world.clock.advance(Span::hours(1));
    let ready = async || engine.counts(&Namespace::default()).await.expect("counted").waiting.n;
    eventually("all are ready", async || ready().await == crowd as u64).await;
}

/// How many rows a submit, a claim and a complete write, those of indexes and events included.
pub(crate) async fn the_write_budget_holds(world: World) {
    let engine = world.engine().await;
    let rows = || engine.store().stats().rows;
    let life = async |new: NewExecution| {
        let start = rows();
        match new.unique_key {
            Some(_) => submit(&engine, new).await,
            None => submit_to(&engine, new, PartitionId(0)).await,
        };
        let submitted = rows();
        let claimed = claim_now(&engine, &worker("w")).await;
        let begun = rows();
        engine.complete(claimed.fence, Payload::null()).await.expect("completed");
        (submitted - start, begun - submitted, rows() - begun)
    };
    // The first work of a kind is registered in its partition.
    life(work("plain")).await;
    assert_eq!(life(work("plain")).await, (4, 4, 5));
    let unique = NewExecution { unique_key: Some("only".parse().expect("a key")), ..work("unique") };
    life(unique.clone()).await;
    let (submitted, claimed, completed) = life(unique).await;
    assert!(submitted <= 6 && claimed <= 5 && completed <= 7, "{submitted}, {claimed}, {completed}");
    let before = rows();
    submit_to(&engine, NewExecution { delay: Some(Span::hours(1)), ..work("plain") }, PartitionId(0)).await;
    assert_eq!(rows() - before, 5);
}

pub(crate) async fn large_and_binary_payloads_come_back_exactly(world: World) {
    let engine = world.engine().await;
    let binary: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let input = Payload::bytes("application/octet-stream", binary.clone()).expect("a payload");
    let mut new = work("binary");
    new.set_input(input);
    submit(&engine, new).await;
    let claimed = claim_now(&engine, &worker("w1")).await;
    assert_eq!(claimed.input.as_bytes(), binary);
    let text = format!("\"{}\"", "x".repeat(5_000));
    engine.complete(claimed.fence, Payload::json(text.clone()).expect("JSON")).await.expect("completed");
    let execution = engine.get(claimed.fence.execution).await.expect("answered").expect("exists");
    let result = engine.payload(&execution, PayloadSlot::Result).await.expect("answered").expect("a result");
    assert_eq!(result.as_bytes(), text.as_bytes());
}

async fn submit_keyed(engine: &Engine, kind: &str) -> Result<onward_core::Submitted, Error> {
    let key = IdempotencyKey::parse("order-17").expect("a key");
    engine.submit(NewExecution { idempotency_key: Some(key), ..work(kind) }).await
}

pub(crate) async fn an_idempotency_key_returns_the_first_execution(world: World) {
    let engine = world.engine().await;
    let first = submit_keyed(&engine, "charge").await.expect("accepted");
    let second = submit_keyed(&engine, "charge").await.expect("accepted");
    assert_eq!((second.id, second.created), (first.id, false));
    let other = submit_keyed(&engine, "refund").await.expect_err("other arguments");
    assert_eq!(other.code(), "idempotency_mismatch");
    world.clock.advance(Span::hours(25));
    let third = submit_keyed(&engine, "refund").await.expect("the key is forgotten");
    assert!(third.created && third.id != first.id);
}

pub(crate) async fn repeated_calls_get_the_first_answer(world: World) {
    let engine = world.engine().await;
    let submit = engine.address(work("once"));
    for _ in 0..3 {
        let submitted = engine.run(submit.clone()).await.expect("accepted");
        assert_eq!((submitted.id, submitted.created), (submit.id, true));
    }
    let fence = claim_now(&engine, &worker("w1")).await.fence;
    let end = end::Fail { failure: Failure::new(Category::transient(), "again") }.into();
    let fail = Report { command: engine.command_id(), fence, end };
    let first = engine.run(fail.clone()).await.expect("answered");
    world.clock.advance(first.again_at.expect("a retry is left") - engine.now());
    let fence = claim_soon(&engine, &worker("w2")).await.fence;
    let repeat = engine.run(fail).await.expect("a repeat, also after the next began");
    assert_eq!(repeat, first);
    let end = end::Complete { result: Payload::null() }.into();
    let complete = Report { command: engine.command_id(), fence, end };
    for _ in 0..3 {
        let completed = engine.run(complete.clone()).await.expect("completed, and again");
        assert_eq!(completed, Reported::ENDED);
    }
    let execution = engine.get(submit.id).await.expect("answered").expect("exists");
    assert_eq!((execution.attempts, execution.retries), (2, 1));
}

pub(crate) async fn bad_input_is_refused_and_changes_nothing(world: World) {
    let engine = world.engine().await;
    let before = engine.store().stats().rows;
    let past = Some(Millis(engine.now().0 - 3_600_000));
    let cases = [
        (NewExecution { run_at: past, ..work("late") }, "time_in_past"),
        (NewExecution { delay: Some(Span::days(9_999)), ..work("far") }, "invalid_argument"),
        (NewExecution { priority: 9_001, ..work("vip") }, "invalid_argument"),
        (patient(1_000_000), "invalid_argument"),
    ];
    for (new, code) in cases {
        assert_eq!(engine.submit(new).await.expect_err("refused").code(), code);
    }
    let nobody = "x-0192f0c8-0000-7000-8000-000000000001-3".parse().expect("an id");
    assert!(engine.get(nobody).await.expect("answered").is_none());
    let outside = "x-0192f0c8-0000-7000-8000-000000000001-999".parse().expect("an id");
    assert!(engine.get(outside).await.expect("answered").is_none());
    assert_eq!(engine.store().stats().rows, before);
}
