//! All routes, their middleware, and their description.

mod bulk;
mod describe;
mod events;
mod executions;
mod keys;
mod lanes;
mod operate;
mod shapes;
mod signals;
mod submit;
mod system;
mod tokens;
mod work;

pub(crate) use describe::describe;

use crate::access;
use crate::app::App;
use crate::approve;
use crate::problem::{Fault, Refusal};
use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use onward_core::Span;
use onward_engine::clock::{Clock, SystemClock};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Request header: how long the caller waits for the response.
const TIMEOUT: &str = "onward-timeout";
/// Response header: the server's time in milliseconds since 1970.
const TIME: &str = "onward-time";

/// Every route with its description.
fn all() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(submit::submit, executions::search))
        .routes(routes!(submit::submit_batch))
        .routes(routes!(executions::counts))
        .routes(routes!(executions::get, operate::purge))
        .routes(routes!(executions::input))
        .routes(routes!(executions::result))
        .routes(routes!(executions::attempts))
        .routes(routes!(executions::history))
        .routes(routes!(executions::why))
        .routes(routes!(signals::send))
        .routes(routes!(signals::waits))
        .routes(routes!(signals::payload))
        .routes(routes!(tokens::mint))
        .routes(routes!(tokens::signal))
        .routes(routes!(tokens::describe))
        .merge(operate::acts())
        .routes(routes!(bulk::bulk))
        .routes(routes!(bulk::signals))
        .routes(routes!(work::claim))
        .routes(routes!(work::renew))
        .routes(routes!(work::complete))
        .routes(routes!(work::fail))
        .routes(routes!(work::delay))
        .routes(routes!(work::suspend))
        .routes(routes!(work::unclaim))
        .routes(routes!(work::cancel))
        .routes(routes!(work::progress))
        .routes(routes!(work::progress_batch))
        .routes(routes!(work::reports))
        .routes(routes!(lanes::list))
        .routes(routes!(lanes::get, lanes::change))
        .routes(routes!(events::page))
        .routes(routes!(events::stream))
        .routes(routes!(keys::list, keys::issue))
        .routes(routes!(keys::revoke))
        .routes(routes!(tokens::keys, tokens::rotate))
        .routes(routes!(system::health))
        .routes(routes!(system::ready))
        .routes(routes!(system::metrics))
}

/// The description as the routes declare it.
pub(crate) fn raw() -> OpenApi {
    all().into_openapi()
}

/// The whole service.
pub(crate) fn router(app: &Arc<App>) -> Router {
    let (routes, _) = all().split_for_parts();
    let routes = routes
        .merge(system::pages())
        .merge(approve::pages())
        .route_layer(from_fn_with_state(app.clone(), access::check))
        .route_layer(from_fn_with_state(app.clone(), in_time))
        .route_layer(from_fn_with_state(app.clone(), measure))
        .method_not_allowed_fallback(|| async { Refusal::no_method() })
        .fallback(|| async { Refusal::no_route() })
        .layer(from_fn(survive))
        .layer(from_fn_with_state(app.clone(), across_origins));
    #[cfg(feature = "otel")]
    let routes = routes.layer(from_fn(crate::spans::call));
    routes.with_state(app.clone())
}

/// Counts a call and measures its duration.
async fn measure(State(app): State<Arc<App>>, path: MatchedPath, request: Request, next: Next) -> Response {
    let (method, began) = (request.method().clone(), app.now());
    let response = next.run(request).await;
    app.metrics.answered(&method, path.as_str(), response.status(), (app.now() - began).0 as f64 / 1_000.0);
    response
}

/// Ends a call when the caller's timeout is over, and adds the server's time to responses: it decides when leases expire.
async fn in_time(State(app): State<Arc<App>>, request: Request, next: Next) -> Result<Response, Refusal> {
    let longest = match request.headers().get(TIMEOUT) {
        None => None,
        Some(value) => {
            let wrong = |why: String| Refusal::new(Fault::Query, why).about("Onward-Timeout");
            let text = value.to_str().map_err(|error| wrong(error.to_string()))?;
            Some(text.parse::<Span>().map_err(wrong)?)
        }
    };
    let over = async {
        match longest {
            // A caller's patience is that of its network, whatever clock a test holds.
            Some(longest) => SystemClock.sleep(longest).await,
            None => std::future::pending().await,
        }
    };
    let mut response = tokio::select! {
        biased;
        response = next.run(request) => response,
        () = over => return Err(Refusal::new(Fault::Deadline, "the call did not finish within Onward-Timeout")),
    };
    response.headers_mut().insert(TIME, HeaderValue::from(app.engine().now().0));
    Ok(response)
}

/// Turns a panic into an error response, so that it ends one call and not the server.
async fn survive(request: Request, next: Next) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_) => {
            tracing::error!(%method, path, "a call panicked");
            Refusal::internal("the call panicked").into_response()
        }
    }
}

/// Allows calls from web pages of the configured origins (CORS).
async fn across_origins(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let allowed = origin.filter(|origin| app.options.cors.iter().any(|known| origin.as_bytes() == known.as_bytes()));
    let Some(origin) = allowed else { return next.run(request).await };
    let mut response = match *request.method() {
        Method::OPTIONS => StatusCode::NO_CONTENT.into_response(),
        _ => next.run(request).await,
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(header::VARY, HeaderValue::from_static("origin"));
    let methods = HeaderValue::from_static("GET, POST, PATCH, DELETE");
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    let allowed = "authorization, content-type, idempotency-key, last-event-id, onward-namespace, traceparent";
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
    response
}
