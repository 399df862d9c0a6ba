//! A span of OpenTelemetry's around every call, which goes on with the trace of its caller.

use crate::traces;
use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use onward_core::Namespace;
use tracing::field::{Empty, display};
use tracing::{Instrument, Span};

/// Puts a call into a span. The names are those of OpenTelemetry's conventions, and the route has few values, whatever
/// callers send.
pub(crate) async fn call(path: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let route = path.as_ref().map_or("none", MatchedPath::as_str);
    let span = tracing::info_span!(
        "call",
        otel.name = format_args!("{} {route}", request.method()),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = %request.method(),
        http.route = route,
        http.response.status_code = Empty,
        namespace = Empty,
    );
    onward::otel::go_on(&span, traces::of(request.headers()));
    let response = next.run(request).instrument(span.clone()).await;
    let status = response.status();
    span.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
    response
}

/// Notes in which namespace the current call is.
pub(crate) fn note(namespace: &Namespace) {
    Span::current().record("namespace", display(namespace));
}
