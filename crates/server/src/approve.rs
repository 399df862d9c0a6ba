//! The page behind a link with a token: it shows what is asked, and a person's click answers.
//!
//! The token stands behind the `#` of the link, which browsers do not send, so that no log and no preview of the link has it.
//! Getting the page changes nothing; its script describes the token and sends a signal when a button is pressed.

use crate::app::App;
use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;

const PAGE: &str = include_str!("../pages/approve.html");
const SCRIPT: &str = include_str!("../pages/approve.js");

/// The page may run its own script and call this server, and be shown within no other page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; \
base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page and its script.
pub(crate) fn pages() -> Router<Arc<App>> {
    Router::new()
        .route("/approve", get(|| async { guarded("text/html; charset=utf-8", PAGE) }))
        .route("/approve.js", get(|| async { guarded("text/javascript; charset=utf-8", SCRIPT) }))
}

fn guarded(kind: &'static str, text: &'static str) -> Response {
    let mut response = text.into_response();
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
