//! Failures of handlers: retried, final, panics, and work that nobody can run.

use crate::world::{PATIENCE, on_every_store};
use onward::{AttemptKind, Category, Context, Error, Failed, Payload, PublicState, RetryPolicy, Span, Worker};
use onward_core::Blob;
use std::collections::BTreeMap;

fn after(seconds: u64, max_retries: u32) -> RetryPolicy {
    RetryPolicy::fixed(max_retries, Span::seconds(seconds))
}

async fn third_time_lucky(ctx: Context, name: String) -> Result<String, Failed> {
    match ctx.attempt() {
        1 => Err(std::io::Error::other("the network is away").into()),
        2 => Err(Failed::category("rate_limit", "slow down")),
        _ => Ok(format!("{name}, {:?} after {} retries", ctx.attempt_kind(), ctx.retries())),
    }
}

async fn hopeless(_ctx: Context, _input: ()) -> Result<(), Failed> {
    Err(Failed::permanent("the account is closed"))
}

async fn transient(_ctx: Context, _input: ()) -> Result<(), std::fmt::Error> {
    Err(std::fmt::Error)
}

async fn clumsy(ctx: Context, how: String) -> Result<String, Failed> {
    assert!(ctx.attempt() > 1, "dropped the {how}");
    Ok(format!("caught the {how}"))
}

async fn boundless(_ctx: Context, _input: ()) -> Result<String, Failed> {
    Ok("x".repeat(600_000))
}

on_every_store! {
    async fn a_failure_is_retried_after_its_pause(world: held) {
        let client = &world.client;
        let worker = Worker::new(client).on("try", third_time_lucky).start().unwrap();
        let id = client.submit("try", "Ada").retry(after(5, 3)).await.unwrap().id;
        let waiting = world.until_state(id, PublicState::Delayed).await;
        assert_eq!(waiting.failure.as_ref().unwrap().category, Category::transient());
        assert_eq!(&*waiting.failure.unwrap().message, "the network is away");
        assert_eq!((waiting.attempts, waiting.ready_at), (1, Some(waiting.created_at + Span::seconds(5))));
        world.advance(Span::seconds(5));
        let waiting = world.until(id, |found| found.attempts == 2 && found.state == PublicState::Delayed).await;
        assert_eq!(waiting.failure.unwrap().category.as_str(), "rate_limit");
        world.advance(Span::seconds(5));
        let done = world.until_state(id, PublicState::Completed).await;
        assert_eq!((done.attempts, done.retries, done.failure), (3, 2, None));
        let result: String = client.result(id).await.unwrap().unwrap();
        assert_eq!(result, format!("Ada, {:?} after 2 retries", AttemptKind::Retry));
        worker.drain().await.unwrap();
    }

    async fn retries_run_out(world: held) {
        let client = &world.client;
        let worker = Worker::new(client).on("fail", transient).start().unwrap();
        let id = client.submit("fail", &()).retry(after(0, 2)).await.unwrap().id;
        let done = world.until_state(id, PublicState::Failed).await;
        assert_eq!((done.attempts, done.retries), (3, 2));
        worker.drain().await.unwrap();
    }

    async fn a_permanent_failure_ends_it(world: new) {
        let client = &world.client;
        let worker = Worker::new(client).on("close", hopeless).start().unwrap();
        let id = client.submit("close", &()).await.unwrap().id;
        let error = client.wait::<()>(id, PATIENCE).await.unwrap_err();
        let Error::ExecutionFailed { failure, .. } = &error else { panic!("{error}") };
        assert_eq!((failure.category.as_str(), &*failure.message), ("permanent", "the account is closed"));
        assert_eq!((error.code(), world.get(id).await.attempts), ("execution_failed", 1));
        assert_eq!(client.result::<()>(id).await.unwrap_err(), error);
        worker.drain().await.unwrap();
    }

    async fn a_failure_has_details_and_names_the_build(world: new) {
        let client = &world.client;
        let detailed = async |_: Context, large: bool| {
            let trace = "frame ".repeat(if large { 100_000 } else { 2 });
            Err::<(), _>(Failed::permanent("no such card").details(&serde_json::json!({"card": 42, "trace": trace})))
        };
        let worker = Worker::new(client).on("charge", detailed).build("1.4.2-abc").start().unwrap();
        let id = client.submit("charge", &false).await.unwrap().id;
        let error = client.wait::<()>(id, PATIENCE).await.unwrap_err();
        let Error::ExecutionFailed { failure, .. } = &error else { panic!("{error}") };
        assert_eq!(failure.details.as_ref().unwrap().as_str(), r#"{"card":42,"trace":"frame frame "}"#);
        assert_eq!(world.get(id).await.failure.unwrap(), **failure);
        let attempts = client.attempts(id).await.unwrap();
        assert_eq!(attempts[0].failure().as_ref(), Some(&**failure));
        assert_eq!(attempts[0].build.as_ref().unwrap().as_str(), "1.4.2-abc");
        let id = client.submit("charge", &true).await.unwrap().id;
        client.wait::<()>(id, PATIENCE).await.unwrap_err();
        let details = world.get(id).await.failure.unwrap().details.unwrap();
        let kept: String = serde_json::from_str(details.as_str()).expect("the beginning of its text");
        assert!(kept.starts_with(r#"{"card":42,"trace":"frame"#) && details.as_str().len() <= 16 * 1_024);
        worker.drain().await.unwrap();
    }

    async fn a_panic_fails_its_attempt_and_nothing_else(world: held) {
        let client = &world.client;
        let worker = Worker::new(client).on("catch", clumsy).concurrency(1).start().unwrap();
        let id = client.submit("catch", "ball").retry(after(5, 1)).await.unwrap().id;
        let waiting = world.until_state(id, PublicState::Delayed).await;
        let failure = waiting.failure.unwrap();
        assert_eq!((failure.category, &*failure.message), (Category::panic(), "dropped the ball"));
        world.advance(Span::seconds(5));
        world.until_state(id, PublicState::Completed).await;
        assert_eq!(client.result::<String>(id).await.unwrap().unwrap(), "caught the ball");
        worker.drain().await.unwrap();
    }

    async fn work_without_a_handler_waits_for_a_worker_that_has_one(world: held) {
        let client = &world.client;
        let done = async |_: Context, (): ()| Ok::<_, Failed>("done");
        let old = Worker::new(client).on("known", done).start().unwrap();
        let id = client.submit("new-kind", &()).retry(RetryPolicy::never()).await.unwrap().id;
        let behind = client.submit("known", &()).await.unwrap().id;
        world.until_state(behind, PublicState::Completed).await;
        let waiting = client.get(id).await.unwrap().unwrap();
        assert_eq!((waiting.state, waiting.attempts), (PublicState::Waiting, 0), "it is not touched");
        let new = Worker::new(client).on("new-kind", done).start().unwrap();
        let done = world.until_state(id, PublicState::Completed).await;
        assert_eq!((done.attempts, done.retries), (1, 0), "it costs nothing, and no time passed");
        old.drain().await.unwrap();
        new.drain().await.unwrap();
    }

    async fn input_and_output_that_do_not_fit_fail_for_good(world: new) {
        let client = &world.client;
        let worker = Worker::new(client)
            .on("close", hopeless)
            .on("grow", boundless)
            .on("odd", async |_: Context, (): ()| Ok::<_, Failed>(BTreeMap::from([((1, 2), 3)])))
            .on_payload("raw", async |_: Context, _: Payload| {
                let bytes = vec![0; 600_000].into();
                Ok::<_, Failed>(Payload::Bytes(Blob { content_type: "image/png".into(), bytes }))
            })
            .start()
            .unwrap();
        for (kind, input, message) in [
            ("close", "no unit", "the input does not fit the handler"),
            ("grow", "", "the result cannot be kept: the payload has 600002 bytes; the maximum is 524288"),
            ("odd", "", "the result cannot be kept: not valid JSON"),
            ("raw", "", "the answer is refused"),
        ] {
            let id = match input {
                "" => client.submit(kind, &()).await.unwrap().id,
                input => client.submit(kind, input).await.unwrap().id,
            };
            let done = world.until_state(id, PublicState::Failed).await;
            let failure = done.failure.unwrap();
            assert_eq!((done.attempts, failure.category), (1, Category::permanent()));
            assert!(failure.message.starts_with(message), "{}", failure.message);
        }
        worker.drain().await.unwrap();
    }
}
