//! Whole calls, as hostile as it gets: each is answered, a refused one with a code, and none breaks something inside.

use crate::app::App;
use crate::options::{Limits, Options};
use crate::routes;
use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use http_body_util::BodyExt;
use onward::wire::Problem;
use onward::{Client, ClientOptions};
use onward_core::Span;
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::proptest::sample::select;
use onward_fuzz::{Judged, fuzz, near, near_any};
use std::sync::Arc;
use tokio::runtime::Runtime;
use tower::ServiceExt;

const ID: &str = "x-0192f0c8-0000-7000-8000-000000000001-0";

/// Routes that take a body, each with one that fits it.
const POSTS: [(&str, &str); 19] = [
    (
        "/v1/executions",
        r#"{"kind":"email","input":{"a":1},"tags":{"a":"b"},"delay":"5m","policy":{"retry":{"max_retries":3}}}"#,
    ),
    ("/v1/executions?wait=1s", r#"{"kind":"email","expires_after":"1h"}"#),
    (
        "/v1/executions/batch",
        r#"{"executions":[{"kind":"k","input_bytes":{"content_type":"a/b","base64":"AAH/"}},{"kind":"k","run_at":5}]}"#,
    ),
    ("/v1/executions/ID/cancel", r#"{"reason":"again","grace":"5s"}"#),
    ("/v1/executions/ID/reschedule", r#"{"delay":"1h"}"#),
    ("/v1/executions/ID/prioritise", r#"{"priority":7}"#),
    ("/v1/executions/ID/tag", r#"{"set":{"customer":"42"},"remove":["old"]}"#),
    ("/v1/executions/ID/revoke", r#"{"lease":"0000000000000000000000000000002a","reason":"stuck"}"#),
    ("/v1/executions/ID/replay", r#"{"reason":"again","expires_after":"1h"}"#),
    (
        "/v1/bulk",
        r#"{"filter":{"state":"failed","tag":"a=b"},"act":{"type":"replay","reason":"again"},"dry_run":true,"limit":7}"#,
    ),
    ("/v1/work/claim", r#"{"worker":"w","lanes":["default"],"max":3,"lease":"30s","wait":"1s"}"#),
    ("/v1/work/renew", r#"{"leases":["ID.0000000000000000000000000000002a.3.1"],"lease":"1m"}"#),
    ("/v1/work/complete", r#"{"lease":"ID.0000000000000000000000000000002a.3.1","result":[1]}"#),
    ("/v1/work/fail", r#"{"lease":"ID.0000000000000000000000000000002a.3.1","category":"panic","message":"no"}"#),
    ("/v1/work/delay", r#"{"lease":"ID.0000000000000000000000000000002a.3.1","delay":"1h"}"#),
    (
        "/v1/work/progress/batch",
        r#"{"items":[{"lease":"ID.0000000000000000000000000000002a.3.1","percent":50,"message":"half"}]}"#,
    ),
    (
        "/v1/work/reports",
        r#"{"reports":[{"lease":"ID.0000000000000000000000000000002a.3.1","type":"fail","category":"panic"}]}"#,
    ),
    ("/v1/keys", r#"{"name":"ada","roles":["admin"],"namespaces":["a"],"expires_after":"30d"}"#),
    ("/v1/lanes/default", r#"{"state":"paused","defaults":{"attempt_timeout":"10m","retention":"7d"}}"#),
];

const GETS: [&str; 14] = [
    "/v1/executions?state=waiting&lane=a&kind=b&tag=a%3Db&limit=5",
    "/v1/executions?created_from=2030-01-01T09:00:00Z&created_until=5&cursor=7.ID",
    "/v1/executions?state=delayed&cursor=18446744073709551615.ID",
    "/v1/counts?namespace=default",
    "/v1/executions/ID",
    "/v1/executions/ID/input",
    "/v1/executions/ID/result?wait=1s",
    "/v1/executions/ID/attempts",
    "/v1/executions/ID/history",
    "/v1/executions/ID/why",
    "/v1/lanes/default",
    "/v1/events?names=completed,cancelled&cursor=17%7C1.2.3.4&wait=1s&limit=5",
    "/v1/events?execution=ID&endings=true",
    "/v1/keys",
];

/// A service on a store in memory where no call waits.
fn service() -> (Runtime, Router) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let service = runtime.block_on(async {
        let options = ClientOptions { partitions: Some(1), ..ClientOptions::default() };
        let client = Client::open_with("memory:", options).await.unwrap();
        let engine = client.engine().cloned().unwrap();
        let options = Options { limits: Limits { wait: Span(0), ..Limits::default() }, ..Options::default() };
        routes::router(&Arc::new(App::new(client, engine, options)))
    });
    (runtime, service)
}

/// Sends a call if it can be sent at all; answers whether it was carried out.
fn call(runtime: &Runtime, service: &Router, request: Option<Request<Body>>) -> Judged {
    let Some(request) = request else { return Ok(false) };
    let (status, content_type, body) = runtime.block_on(async {
        let response = service.clone().oneshot(request).await.expect("a service always answers");
        let (parts, body) = response.into_parts();
        let content_type = parts.headers.get(header::CONTENT_TYPE).cloned();
        (parts.status, content_type, body.collect().await.map(|body| body.to_bytes()))
    });
    let body = body.expect("a body is whole");
    prop_assert!(!status.is_server_error(), "{}: {}", status, String::from_utf8_lossy(&body));
    if status.is_client_error() {
        prop_assert_eq!(content_type.unwrap(), "application/problem+json");
        let problem = serde_json::from_slice::<Problem>(&body);
        prop_assert!(problem.is_ok_and(|problem| problem.status == status && !problem.code.is_empty()));
        return Ok(false);
    }
    Ok(true)
}

fn request(method: &str, target: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(target.replace("ID", ID)).header(header::HOST, "localhost")
}

#[test]
fn fuzz_calls_with_bodies() {
    let (runtime, service) = service();
    let bodies = POSTS.map(|(_, body)| body.replace("ID", ID));
    let paths = POSTS.map(|(path, _)| path.to_owned()).to_vec();
    let fitting = select(POSTS.to_vec()).prop_flat_map(|(path, body)| {
        let body = near_any(&[body.replace("ID", ID)]);
        (Just(path.to_owned()), body)
    });
    let any = (prop_oneof![3 => select(paths.clone()), 1 => near(select(paths))], near_any(&bodies));
    let calls = prop_oneof![fitting, any];
    let methods = select(vec!["POST", "POST", "POST", "PATCH", "DELETE", "PUT", "OPTIONS"]);
    let inputs = (methods, calls, near("application/json"));
    fuzz(inputs, |(method, (target, body), content_type)| {
        let json = if body.len() % 8 == 0 { content_type } else { "application/json".to_owned() };
        let request = request(method, &target).header(header::CONTENT_TYPE, json).body(Body::from(body));
        call(&runtime, &service, request.ok())
    });
}

#[test]
fn fuzz_calls_that_look() {
    let (runtime, service) = service();
    let targets = near(select(GETS.to_vec()).prop_map(str::to_owned));
    let headers = near("[a-z]{1,9}");
    let methods = select(vec!["GET", "GET", "GET", "DELETE", "PATCH"]);
    fuzz((methods, targets, prop::option::of(headers)), |(method, target, namespace)| {
        let mut request = request(method, &target);
        if let Some(namespace) = namespace {
            request = request.header("onward-namespace", namespace);
        }
        call(&runtime, &service, request.body(Body::empty()).ok())
    });
}

/// What names a call or bounds its time is read from headers.
#[test]
fn fuzz_headers() {
    let (runtime, service) = service();
    let names = select(vec!["onward-timeout", "idempotency-key", "onward-namespace", "authorization", "origin"]);
    let values = near(prop_oneof!["[0-9]{1,5}(ms|s|m)", "\\PC{1,40}", "Bearer onward_[0-9a-f]{32}_[0-9a-f]{64}"]);
    fuzz((names, values), |(name, value)| {
        let request = request("POST", "/v1/executions").header(header::CONTENT_TYPE, "application/json");
        let request = request.header(name, value.as_bytes()).body(Body::from(r#"{"kind":"k"}"#));
        // A caller who allows no time gets none.
        if name == "onward-timeout" && value.parse().is_ok_and(|span: Span| span < Span::seconds(5)) {
            return Ok(false);
        }
        call(&runtime, &service, request.ok())
    });
}
