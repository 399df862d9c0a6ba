//! OpenTelemetry's context, from the span in which work is submitted to the span in which it runs.

use crate::call::Ask;
use onward_core::TraceContext;
use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// The same call, whose work belongs to the trace of the current span unless it was put into another.
pub(crate) fn taken_along(mut ask: Ask) -> Ask {
    let submitted = match &mut ask {
        Ask::Submit(new) => std::slice::from_mut(&mut **new),
        Ask::SubmitMany(many) => many.as_mut_slice(),
        _ => return ask,
    };
    if let Some(here) = here() {
        submitted.iter_mut().for_each(|new| new.trace = new.trace.or(Some(here)));
    }
    ask
}

/// Where the current span stands, if it is one of OpenTelemetry's. Work that is submitted takes it along by itself.
#[must_use]
pub fn here() -> Option<TraceContext> {
    let context = Span::current().context();
    let span = context.span();
    let span = span.span_context();
    let (trace, id) = (u128::from_be_bytes(span.trace_id().to_bytes()), u64::from_be_bytes(span.span_id().to_bytes()));
    TraceContext::new(trace, id, span.trace_flags().to_u8()).ok()
}

/// Makes a span that has not been entered yet go on with a trace. Workers do so with the span of an attempt.
pub fn go_on(span: &Span, trace: Option<TraceContext>) {
    let Some(trace) = trace else { return };
    let parent = SpanContext::new(
        TraceId::from_bytes(trace.trace_id().to_be_bytes()),
        SpanId::from_bytes(trace.span_id().to_be_bytes()),
        TraceFlags::new(trace.flags()) & TraceFlags::SAMPLED,
        true,
        TraceState::default(),
    );
    // There is nothing to go on with where nobody collects spans.
    let _collected = span.set_parent(Context::new().with_remote_span_context(parent)).is_ok();
}
