//! The server itself: health, metrics, and the description of the API.

use crate::access::Caller;
use crate::app::App;
use crate::docs;
use crate::lane_metrics::LaneMetrics;
use crate::problem::Refusal;
use crate::routes::shapes;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use onward_core::Span;
use std::sync::Arc;

/// Timeout of the health check of the store.
const HEALTH_TIME: Span = Span::seconds(2);

/// Check that the process runs.
#[utoipa::path(get, path = "/healthz", tag = "system",
    extensions(("x-roles" = json!("anybody"))), responses(
    (status = 200, description = "The process runs", content_type = "text/plain", body = String),
))]
pub(super) async fn health() -> &'static str {
    "ok\n"
}

/// Check that the server can serve calls: it is not draining, and the store is available.
#[utoipa::path(get, path = "/readyz", tag = "system",
    extensions(("x-roles" = json!("anybody"))), responses(
    (status = 200, description = "The server can serve calls", content_type = "text/plain", body = String),
    (status = 503, description = "The server cannot serve calls; the body has the reason", content_type = "text/plain", body = String),
))]
pub(super) async fn ready(State(app): State<Arc<App>>) -> (StatusCode, String) {
    if app.is_draining() {
        return (StatusCode::SERVICE_UNAVAILABLE, "draining\n".to_owned());
    }
    tokio::select! {
        biased;
        health = app.engine().store().health() => match health {
            Ok(_) => (StatusCode::OK, "ready\n".to_owned()),
            Err(error) => {
                tracing::warn!(%error, "the store is unavailable");
                (StatusCode::SERVICE_UNAVAILABLE, "the store is unavailable\n".to_owned())
            }
        },
        () = app.sleep(HEALTH_TIME) => (StatusCode::SERVICE_UNAVAILABLE, "the store does not respond\n".to_owned()),
    }
}

/// Get metrics in the OpenMetrics text format.
#[utoipa::path(get, path = "/metrics", tag = "system",
    extensions(("x-roles" = json!(["read", "operate"]))), responses(
    (status = 200, description = "The metrics", content_type = "application/openmetrics-text", body = String),
))]
pub(super) async fn metrics(State(app): State<Arc<App>>, caller: Caller) -> Result<Response, Refusal> {
    // What is measured here is told even while the store is away.
    let lanes = tokio::select! {
        biased;
        lanes = LaneMetrics::look(app.engine(), |namespace| caller.sees(namespace)) => lanes.unwrap_or_default(),
        () = app.sleep(HEALTH_TIME) => LaneMetrics::default(),
    };
    let text = app
        .metrics
        .text(lanes)
        .map_err(|error| Refusal::internal(format!("the metrics cannot be encoded: {error}")))?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

/// The pages that describe the API; they are not part of the description.
pub(super) fn pages() -> Router<Arc<App>> {
    let api = super::describe();
    let page: Arc<str> = docs::page(&api).into();
    let json: Arc<str> = shapes::named(&api).to_string().into();
    let serve_json = move || async move { ([(header::CONTENT_TYPE, "application/json")], json.to_string()) };
    Router::new()
        .route("/", get(|| async { Redirect::temporary("/docs") }))
        .route("/docs", get(move || async move { Html(page.to_string()) }))
        .route("/v1/openapi.json", get(serve_json))
}
