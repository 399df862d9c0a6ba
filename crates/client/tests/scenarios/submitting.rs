//! Submitting: typed input and output, delay, idempotency keys, many at once, and what is refused.

use crate::world::{PATIENCE, on_every_store};
use onward::{Context, Error, Failed, Payload, PublicState, Span, Worker};
use serde::{Deserialize, Serialize};
use std::time::{Duration, UNIX_EPOCH};

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
struct Order {
    customer: String,
    cents: Vec<u32>,
}

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Invoice {
    text: String,
    total: u32,
}

async fn bill(ctx: Context, order: Order) -> Result<Invoice, Failed> {
    let region = ctx.tag("region").unwrap_or("nowhere");
    let text = format!("{} in {region}, {}, lane {}", order.customer, ctx.kind(), ctx.lane());
    Ok(Invoice { text, total: order.cents.iter().sum() })
}

async fn nothing(_ctx: Context, _input: ()) -> Result<(), Failed> {
    Ok(())
}

on_every_store! {
    async fn input_and_output_are_typed(world: new) {
        let client = &world.client;
        // A lease that even a machine which stands still for a while does not lose.
        let lease = Duration::from_secs(3_600);
        let worker = Worker::new(client).on("bill", bill).lanes(["billing"]).name("biller").lease(lease).start().unwrap();
        let order = Order { customer: "Ada".into(), cents: vec![1, 2, 3] };
        let submitted = client.submit("bill", &order).lane("billing").tag("region", "north").await.unwrap();
        assert!(submitted.created);
        let invoice: Invoice = client.wait(submitted.id, PATIENCE).await.unwrap();
        assert_eq!(invoice, Invoice { text: "Ada in north, bill, lane billing".into(), total: 6 });
        assert_eq!(client.result::<Invoice>(submitted.id).await.unwrap(), Some(invoice));
        assert_eq!(client.input(submitted.id).await.unwrap().unwrap().read::<Order>().unwrap(), order);
        let found = world.get(submitted.id).await;
        assert_eq!((found.state, found.attempts, found.retries), (PublicState::Completed, 1, 0));
        assert_eq!(found.worker.unwrap().as_str(), "biller");
        assert!(found.finished_at >= found.started_at && found.started_at >= Some(found.created_at));
        let mismatch = client.result::<u32>(submitted.id).await.unwrap_err();
        assert_eq!(mismatch.code(), "result_mismatch");
        worker.drain().await.unwrap();
        client.shutdown().await.unwrap();
    }

    async fn a_delay_is_kept_and_not_exceeded(world: held) {
        let client = &world.client;
        let worker = Worker::new(client).on("nothing", nothing).start().unwrap();
        let id = client.submit("nothing", &()).delay(Duration::from_secs(3600)).await.unwrap().id;
        let at = UNIX_EPOCH + Duration::from_millis(world.get(id).await.created_at.0 + 3_600_000);
        let timed = client.submit("nothing", &()).run_at(at).await.unwrap().id;
        let found = world.get(id).await;
        assert_eq!((found.state, found.ready_at), (PublicState::Delayed, Some(found.created_at + Span::hours(1))));
        world.advance(Span(3_599_999));
        let now = client.submit("nothing", &()).await.unwrap().id;
        world.until_state(now, PublicState::Completed).await;
        assert_eq!(world.get(id).await.state, PublicState::Delayed, "a millisecond is missing");
        world.advance(Span(1));
        let done = world.until_state(id, PublicState::Completed).await;
        assert_eq!(done.started_at, Some(done.created_at + Span::hours(1)));
        world.until_state(timed, PublicState::Completed).await;
        worker.drain().await.unwrap();
    }

    async fn an_idempotency_key_stands_for_one_execution(world: new) {
        let client = &world.client;
        let first = client.submit("bill", &1).idempotency_key("order-17").await.unwrap();
        let again = client.submit("bill", &1).idempotency_key("order-17").await.unwrap();
        assert_eq!((again.id, first.created, again.created), (first.id, true, false));
        let other = client.submit("bill", &2).idempotency_key("order-17").await.unwrap_err();
        assert_eq!(other.code(), "idempotency_mismatch");
        let elsewhere = client.in_namespace("other").unwrap();
        assert!(elsewhere.submit("bill", &2).idempotency_key("order-17").await.unwrap().created);
        assert_eq!(client.list(None, 10).await.unwrap().executions.len(), 1);
    }

    async fn many_are_submitted_in_order(world: new) {
        let client = &world.client;
        let answers = client.submit_many((0..50).map(|n| client.submit("n", &n))).await.unwrap();
        for (n, answer) in answers.into_iter().enumerate() {
            let input = client.input(answer.unwrap().id).await.unwrap().unwrap();
            assert_eq!(input.read::<usize>().unwrap(), n);
        }
        let too_many = client.submit_many((0..1_001).map(|n| client.submit("n", &n))).await.unwrap_err();
        assert_eq!(too_many.code(), "invalid_argument");
        let one_wrong = client.submit_many([client.submit("n", &1), client.submit("n", &2).lane("a b")]).await;
        assert_eq!(one_wrong.unwrap_err().code(), "invalid_name");
        assert_eq!(client.list(None, 100).await.unwrap().executions.len(), 50, "a refused call submits nothing");
    }

    async fn wrong_arguments_are_told_when_it_is_awaited(world: new) {
        let client = &world.client;
        let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
        for (submission, code) in [
            (client.submit("", &1), "invalid_name"),
            (client.submit("k", &1).lane("no/slash"), "invalid_name"),
            (client.submit("k", &1).tag("key", ""), "invalid_name"),
            (client.submit("k", &1).requires(["gpu", "two words"]), "invalid_name"),
            (client.submit("k", &1).idempotency_key(&"k".repeat(129)), "invalid_name"),
            (client.submit("k", &1).priority(9_001), "invalid_argument"),
            (client.submit("k", &1).run_at(UNIX_EPOCH), "time_in_past"),
            (client.submit("k", &1).delay(Duration::from_secs(20 * 365 * 24 * 3600)), "invalid_argument"),
            (client.submit("k", &1).remember_key_for(Duration::from_secs(1)), "invalid_argument"),
            (client.submit("k", &"x".repeat(600_000)), "payload_too_large"),
            (client.submit("k", &serde_json::value::RawValue::from_string(deep).unwrap()), "payload_too_deep"),
        ] {
            assert_eq!(submission.await.unwrap_err().code(), code);
        }
        let first = client.submit("", &1).lane("also wrong/").await.unwrap_err();
        assert!(first.to_string().contains("kind"), "the first mistake is told: {first}");
        assert!(client.list(None, 10).await.unwrap().executions.is_empty(), "nothing was submitted");
        assert_eq!(Payload::bytes("", vec![1]).map_err(Error::from).unwrap_err().code(), "invalid_content_type");
    }
}
