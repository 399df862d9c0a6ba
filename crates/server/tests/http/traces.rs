//! The trace of a caller, from a submit to whoever claims the work.

use crate::site::Site;
use reqwest::Method;
use serde_json::{Value, json};

const ONE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const OTHER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

/// The trace that a worker is told of after a submit with such headers and such a body.
async fn told(site: &Site, headers: &[&str], body: Value) -> Value {
    let request = site.request(Method::POST, "/v1/executions");
    let request = headers.iter().fold(request, |request, value| request.header("traceparent", *value));
    assert_eq!(request.json(&body).send().await.unwrap().status().as_u16(), 201, "{headers:?} {body}");
    let mut work = site.claim().await;
    site.post("/v1/work/complete", json!({"lease": work["lease"]})).await;
    work["trace"].take()
}

#[tokio::test]
async fn a_trace_is_carried_from_the_header_or_the_body() {
    let site = Site::open().await;
    let later = format!("01-{}-more", &ONE[3..]);
    for (headers, body, expected) in [
        (&[][..], json!({"kind": "k"}), Value::Null),
        (&[ONE], json!({"kind": "k"}), json!(ONE)),
        (&[later.as_str()], json!({"kind": "k"}), json!(ONE)),
        (&[], json!({"kind": "k", "trace": OTHER}), json!(OTHER)),
        (&[ONE], json!({"kind": "k", "trace": OTHER}), json!(OTHER)),
        (&["nonsense"], json!({"kind": "k"}), Value::Null),
        (&[""], json!({"kind": "k", "trace": OTHER}), json!(OTHER)),
        (&[ONE, OTHER], json!({"kind": "k"}), Value::Null),
    ] {
        assert_eq!(told(&site, headers, body.clone()).await, expected, "{headers:?} {body}");
    }
    site.drained().await;
}

#[tokio::test]
async fn each_piece_of_a_batch_has_a_trace_of_its_own() {
    let site = Site::open().await;
    let pieces = json!({"executions": [{"kind": "a", "trace": ONE}, {"kind": "b", "trace": OTHER}, {"kind": "c"}]});
    let request = site.request(Method::POST, "/v1/executions/batch").header("traceparent", ONE);
    assert_eq!(request.json(&pieces).send().await.unwrap().status().as_u16(), 200);
    let (_, answer) = site.post("/v1/work/claim", json!({"worker": "w", "max": 3})).await;
    let mut found: Vec<_> =
        answer["executions"].as_array().unwrap().iter().map(|work| (work["kind"].as_str(), &work["trace"])).collect();
    found.sort_by_key(|(kind, _)| *kind);
    assert_eq!(found, [(Some("a"), &json!(ONE)), (Some("b"), &json!(OTHER)), (Some("c"), &Value::Null)]);
    site.drained().await;
}

#[tokio::test]
async fn a_trace_in_the_body_that_makes_no_sense_is_refused() {
    let site = Site::open().await;
    for wrong in [
        json!("nonsense"),
        json!(ONE.to_uppercase()),
        json!(ONE.replace("b7ad6b7169203331", "0000000000000000")),
        json!(7),
    ] {
        let (status, problem) = site.post("/v1/executions", json!({"kind": "k", "trace": wrong})).await;
        assert_eq!((status, &problem["code"], &problem["field"]), (400, &json!("invalid_body"), &json!("trace")));
        let (status, problem) =
            site.post("/v1/executions/batch", json!({"executions": [{"kind": "k", "trace": wrong}]})).await;
        assert_eq!((status, &problem["field"]), (400, &json!("executions[0].trace")));
    }
    site.drained().await;
}
