//! One trace from the span in which work is submitted to the handler that runs it, and on to what that submits.

use crate::world::{Kind, PATIENCE, Way, World, within};
use onward::{Client, Context, Failed, TraceContext, Worker};
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use tracing::Instrument;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt;

const CHOSEN: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// Keeps the spans of this thread, on which a whole scenario runs.
fn collect() -> (InMemorySpanExporter, DefaultGuard) {
    let kept = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(kept.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    (kept, tracing::subscriber::set_default(tracing_subscriber::registry().with(layer)))
}

/// Says in which trace it was submitted, and submits what follows if it is told to.
async fn step(ctx: Context, follows: bool) -> Result<String, Failed> {
    if follows {
        let next = ctx.client().submit("step", &false).await.map_err(|error| Failed::permanent(error.to_string()))?;
        let last: String = ctx.client().wait(next.id, PATIENCE).await.map_err(|e| Failed::permanent(e.to_string()))?;
        return Ok(last);
    }
    Ok(ctx.trace().map_or_else(|| "none".to_owned(), |trace| trace.to_string()))
}

/// The spans of a name, in the order in which they ended.
fn named<'a>(spans: &'a [SpanData], name: &'a str) -> Vec<&'a SpanData> {
    spans.iter().filter(|span| span.name == name).collect()
}

fn as_context(span: &SpanData) -> TraceContext {
    let context = &span.span_context;
    let (trace, id) = (context.trace_id().to_bytes(), context.span_id().to_bytes());
    TraceContext::new(u128::from_be_bytes(trace), u64::from_be_bytes(id), context.trace_flags().to_u8()).unwrap()
}

async fn result(client: &Client, id: onward::ExecutionId) -> String {
    client.wait(id, PATIENCE).await.unwrap()
}

async fn one_trace_from_submit_to_handler(way: Way) {
    let (kept, _guard) = collect();
    let world = World::new(Kind::Memory, way).await;
    let client = &world.client;
    let worker = Worker::new(client).on("step", step).concurrency(4).start().unwrap();

    let order = async {
        let first = client.submit("step", &true).await.unwrap().id;
        let last = result(client, first).await;
        let many = client.submit_many([client.submit("step", &false)]).await.unwrap();
        let many = result(client, many.into_iter().next().unwrap().unwrap().id).await;
        let chosen = result(client, client.submit("step", &false).trace(CHOSEN).await.unwrap().id).await;
        (last, many, chosen)
    };
    let (last, many, chosen) = order.instrument(tracing::info_span!("order")).await;
    let outside = result(client, client.submit("step", &false).await.unwrap().id).await;
    worker.drain().await.unwrap();

    let spans = kept.get_finished_spans().unwrap();
    let (orders, attempts) = (named(&spans, "order"), named(&spans, "attempt"));
    assert_eq!((orders.len(), attempts.len()), (1, 5));
    let (order, follower, first) = (orders[0], attempts[0], attempts[1]);
    assert_eq!(first.parent_span_id, order.span_context.span_id(), "it was submitted within the order");
    assert_eq!(follower.parent_span_id, first.span_context.span_id(), "it was submitted within the first attempt");
    for span in [first, follower] {
        assert_eq!(span.span_context.trace_id(), order.span_context.trace_id());
        assert!(span.parent_span_is_remote);
    }
    assert_eq!((last, many), (as_context(first).to_string(), as_context(order).to_string()));
    assert_eq!(chosen, CHOSEN, "what was chosen counts more");
    // A server that collects spans puts work without a trace into that of its own call.
    let mut calls = spans.iter().filter(|span| span.name == "POST /v1/executions/batch");
    assert!(outside == "none" || calls.any(|call| as_context(call).to_string() == outside), "nobody else: {outside}");
    let of_chosen = CHOSEN.parse::<TraceContext>().unwrap();
    assert_eq!(as_context(attempts[3]).trace_id(), of_chosen.trace_id());
    assert_ne!(attempts[4].span_context.trace_id(), order.span_context.trace_id(), "nobody asked for a trace");
}

#[tokio::test]
async fn in_one_process() {
    within(one_trace_from_submit_to_handler(Way::Embedded)).await;
}

#[tokio::test]
async fn over_http() {
    within(one_trace_from_submit_to_handler(Way::Http)).await;
}

#[tokio::test]
async fn a_trace_that_makes_no_sense_is_refused() {
    let world = World::new(Kind::Memory, Way::Embedded).await;
    for wrong in ["", "00-1-2-3", &CHOSEN.to_uppercase()] {
        let refused = world.client.submit("step", &1).trace(wrong).await.unwrap_err();
        assert_eq!(refused.code(), "invalid_trace", "{wrong:?}");
    }
}
