//! Events in pages and as a stream, and the trail of what operators did.

use crate::site::{As, Site};
use futures_util::StreamExt;
use onward_core::record::Role;
use reqwest::{Method, Response};
use serde_json::{Value, json};

/// Reads messages of a stream until there are so many: the name, the id and the data of each.
async fn messages(response: Response, count: usize) -> Vec<(String, String, Value)> {
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let (mut text, mut bytes) = (String::new(), response.bytes_stream());
    while text.matches("\n\n").count() < count {
        text.push_str(std::str::from_utf8(&bytes.next().await.unwrap().unwrap()).unwrap());
    }
    let field = |message: &str, name: &str| {
        let line = message.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.trim_start_matches(": ").to_owned()
    };
    let message = |one: &str| {
        let data = serde_json::from_str(&field(one, "data")).unwrap();
        (field(one, "event"), field(one, "id"), data)
    };
    text.split("\n\n").take(count).map(message).collect()
}

#[tokio::test]
async fn a_stream_goes_on_where_it_broke_off() {
    let site = Site::open().await;
    let first = site.submit(json!({"kind": "k"})).await;
    let stream = site.send(&As::default(), Method::GET, "/v1/events/stream", None).await;
    let told = messages(stream, 1).await;
    assert_eq!((told[0].0.as_str(), told[0].2["execution"].as_str()), ("submitted", Some(first.as_str())));
    let second = site.submit(json!({"kind": "k"})).await;
    let request = site.request(Method::GET, "/v1/events/stream").header("Last-Event-ID", &told[0].1);
    let told = messages(request.send().await.unwrap(), 1).await;
    assert_eq!(told[0].2["execution"].as_str(), Some(second.as_str()), "nothing twice and nothing missed");
    site.drained().await;
}

#[tokio::test]
async fn a_stream_tells_what_happens_later_and_only_what_was_asked_for() {
    let site = Site::open().await;
    let stream = site.send(&As::default(), Method::GET, "/v1/events/stream?names=cancelled", None).await;
    let id = site.submit(json!({"kind": "k"})).await;
    site.post(&format!("/v1/executions/{id}/cancel"), json!({"reason": "enough"})).await;
    let told = messages(stream, 1).await;
    let (name, event) = (told[0].0.as_str(), &told[0].2);
    assert_eq!((name, &event["type"], &event["reason"]), ("cancelled", &json!("cancelled"), &json!("enough")));
    assert_eq!(event["cancelled_by"], "operator");
    site.drained().await;
}

#[tokio::test]
async fn pages_of_events_are_read_one_after_the_other() {
    let site = Site::open().await;
    for _ in 0..5 {
        site.submit(json!({"kind": "k"})).await;
    }
    let (mut seen, mut cursor) = (0, String::new());
    for _ in 0..3 {
        let (_, page) = site.get(&format!("/v1/events?limit=2{cursor}")).await;
        seen += page["events"].as_array().unwrap().len();
        cursor = format!("&cursor={}", page["cursor"].as_str().unwrap());
    }
    assert_eq!(seen, 5);
    let path = format!("/v1/events?wait=30s{cursor}");
    let ((_, page), _) = tokio::join!(site.get(&path), site.submit(json!({"kind": "k"})));
    assert_eq!(page["events"].as_array().unwrap().len(), 1);
    let (status, problem) = site.get("/v1/events?names=nonsense").await;
    assert_eq!((status, &problem["field"]), (400, &json!("names")));
    site.drained().await;
}

#[tokio::test]
async fn what_operators_do_is_told_with_their_names() {
    let site = Site::guarded().await;
    let (key, _) = site.key(&[Role::Admin], &[]).await;
    let ada = As { key: Some(&key), namespace: None };
    let submitted = site.send(&ada, Method::POST, "/v1/executions", Some(&json!({"kind": "k"}))).await;
    let id = submitted.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    site.send(&ada, Method::POST, &format!("/v1/executions/{id}/cancel"), Some(&json!({}))).await;
    site.send(&ada, Method::PATCH, "/v1/lanes/emails", Some(&json!({"state": "paused"}))).await;
    let page = site.send(&ada, Method::GET, "/v1/events", None).await.json::<Value>().await.unwrap();
    let by = |name: &str| {
        let mut events = page["events"].as_array().unwrap().iter();
        events.find(|row| row["event"]["type"] == name).map(|row| row["event"]["by"].clone())
    };
    assert_eq!((by("cancelled"), by("lane_changed")), (Some(json!("ada")), Some(json!("ada"))), "{page}");
    assert_eq!(by("submitted"), Some(Value::Null));
    assert!(by("key_issued").is_some());
    let (reader, _) = site.key(&[Role::Read], &["default"]).await;
    let reader = As { key: Some(&reader), namespace: None };
    let page = site.send(&reader, Method::GET, "/v1/events", None).await.text().await.unwrap();
    assert!(page.contains("cancelled") && !page.contains("key_issued"), "keys are for admins to know: {page}");
    site.drained().await;
}
