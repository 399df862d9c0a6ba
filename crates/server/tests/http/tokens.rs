//! Tokens over HTTP: who needs a key, how wrong ones are answered, and the page behind a link.

use crate::site::{As, Site};
use onward_core::record::Role;
use reqwest::Method;
use serde_json::{Value, json};

/// Posts without an API key; returns the status and the whole body.
async fn post(site: &Site, path: &str, body: &Value) -> (u16, String) {
    let response = site.send(&As::default(), Method::POST, path, Some(body)).await;
    (response.status().as_u16(), response.text().await.unwrap())
}

/// A guarded server, an execution there, and a token for its wait.
async fn asked() -> (Site, String, String) {
    let site = Site::guarded().await;
    let (key, _) = site.key(&[Role::Operate, Role::Submit], &[]).await;
    let who = As { key: Some(&key), namespace: None };
    let made = site.send(&who, Method::POST, "/v1/executions", Some(&json!({"kind": "pay"}))).await;
    let id = made.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    let body = json!({"wait": "review", "actor": "ada", "names": ["yes", "no"], "expires_after": "2d"});
    let minted = site.send(&who, Method::POST, &format!("/v1/executions/{id}/tokens"), Some(&body)).await;
    assert_eq!(minted.status().as_u16(), 201);
    let token = minted.json::<Value>().await.unwrap()["token"].as_str().unwrap().to_owned();
    (site, id, token)
}

#[tokio::test]
async fn a_token_is_all_that_a_person_needs() {
    let (site, id, token) = asked().await;
    let (status, body) = post(&site, "/v1/signals/describe", &json!({"token": token})).await;
    let described: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &described["execution"], &described["choices"]), (200, &json!(id), &json!(["yes", "no"])));
    assert_eq!((&described["state"], &described["sent"]), (&json!("early"), &Value::Null));
    let signal = json!({"token": token, "name": "yes", "payload": {"comment": "fine"}});
    let (status, first) = post(&site, "/v1/signals", &signal).await;
    assert_eq!(status, 200, "{first}");
    let (_, again) = post(&site, "/v1/signals", &json!({"token": token, "name": "no"})).await;
    assert_eq!(again, first, "the first choice stands");
    let (status, refused) = post(&site, "/v1/signals", &json!({"token": token, "name": "maybe"})).await;
    assert_eq!((status, &first), (200, &refused), "a repeat is known before its name is looked at");
    let large = json!({"token": token, "payload": "x".repeat(20_000)});
    assert_eq!(post(&site, "/v1/signals", &large).await.0, 413, "callers without a key take no room");
    // Nothing else becomes open by it.
    assert_eq!(post(&site, &format!("/v1/executions/{id}/signals"), &signal).await.0, 401);
    site.drained().await;
}

#[tokio::test]
async fn every_changed_bit_of_a_token_is_answered_alike() {
    let (site, id, token) = asked().await;
    let mut answers = std::collections::BTreeSet::new();
    let bytes = token.as_bytes();
    for at in 0..bytes.len() * 8 {
        let mut bytes = bytes.to_vec();
        bytes[at / 8] ^= 1 << (at % 8);
        let changed: String = bytes.into_iter().map(char::from).collect();
        answers.insert(post(&site, "/v1/signals", &json!({"token": changed, "name": "yes"})).await);
    }
    for other in ["", ".", &token[1..], &token[..token.len() - 1], "onward_token_v1.e30.AAAA", &"x".repeat(9_000)] {
        answers.insert(post(&site, "/v1/signals", &json!({"token": other})).await);
        answers.insert(post(&site, "/v1/signals/describe", &json!({"token": other})).await);
    }
    assert_eq!(answers.len(), 1, "the same status and the same bytes, whatever is wrong: {answers:?}");
    let (status, body) = answers.pop_first().unwrap();
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &body["code"]), (403, &json!("token_invalid")));
    assert!(!body.to_string().contains(&id), "nothing is revealed");
    site.drained().await;
}

#[tokio::test]
async fn without_keys_a_token_does_not_let_other_hosts_in() {
    let site = Site::open().await;
    for path in ["/v1/signals", "/v1/signals/describe"] {
        let request = site.request(Method::POST, path).header("Host", "evil.example").json(&json!({"token": "x"}));
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!(answer["code"], "host_refused", "{path}");
        let plain = site.request(Method::POST, path).header("Content-Type", "text/plain").body("{\"token\": \"x\"}");
        let answer: Value = plain.send().await.unwrap().json().await.unwrap();
        assert_eq!(answer["code"], "unsupported_media_type", "a form of another page cannot send it");
    }
    site.drained().await;
}

#[tokio::test]
async fn the_page_behind_a_link_only_shows() {
    let (site, id, _) = asked().await;
    for path in ["/approve", "/approve.js"] {
        for method in [Method::GET, Method::HEAD] {
            let page = site.send(&As::default(), method, path, None).await;
            assert_eq!(page.status().as_u16(), 200);
            let header = |name: &str| page.headers()[name].to_str().unwrap().to_owned();
            assert_eq!((header("referrer-policy"), header("cache-control")), ("no-referrer".into(), "no-store".into()));
            assert!(header("content-security-policy").contains("frame-ancestors 'none'"));
        }
        assert_eq!(post(&site, path, &json!({})).await.0, 405);
    }
    let (key, _) = site.key(&[Role::Read], &[]).await;
    let who = As { key: Some(&key), namespace: None };
    let waits = site.send(&who, Method::GET, &format!("/v1/executions/{id}/waits"), None).await;
    assert_eq!(waits.json::<Value>().await.unwrap()["signals"], json!([]), "a preview of the link approves nothing");
    site.drained().await;
}

#[tokio::test]
async fn one_signal_reaches_all_that_match() {
    let site = Site::open().await;
    for n in 0..5 {
        site.submit(json!({"kind": "wave", "tags": {"release": if n < 3 { "7" } else { "8" }}})).await;
    }
    let bulk = json!({"filter": {"tag": "release=7"}, "signal": {"wait": "go", "name": "now"}, "dry_run": true});
    let (_, dry) = site.post("/v1/bulk/signals", bulk.clone()).await;
    assert_eq!((dry["matched"].as_array().unwrap().len(), &dry["done"]), (3, &json!(0)), "{dry}");
    let mut bulk = bulk;
    bulk["dry_run"] = json!(false);
    for _ in 0..2 {
        let request = site.request(Method::POST, "/v1/bulk/signals").header("Idempotency-Key", "wave-1").json(&bulk);
        let answer: Value = request.send().await.unwrap().json().await.unwrap();
        assert_eq!((&answer["done"], &answer["refused"]), (&json!(3), &json!([])), "{answer}");
    }
    for id in dry["matched"].as_array().unwrap() {
        let (_, waits) = site.get(&format!("/v1/executions/{}/waits", id.as_str().unwrap())).await;
        assert_eq!(waits["signals"].as_array().unwrap().len(), 1, "a named call is one call: {waits}");
    }
    site.drained().await;
}
