//! Everything that a hostile caller can send: always a refusal with a code or a closed connection, and others are served.

use crate::site::{As, Site};
use onward_core::Span;
use onward_server::{Limits, Options};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What a raw request is answered, until the connection is closed.
async fn raw(site: &Site, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(site.address).await.unwrap();
    // The server may hang up in the middle of it.
    let _sent = stream.write_all(request).await;
    let mut answer = Vec::new();
    let _closed = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn post(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /v1/executions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

async fn is_served(site: &Site) {
    site.submit(json!({"kind": "still"})).await;
}

#[tokio::test]
async fn senseless_bodies_are_refused_with_the_reason() {
    let site = Site::open().await;
    let deep = format!("{{\"kind\":\"k\",\"input\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_enough = format!("{{\"kind\":\"k\",\"input\":{}1{}}}", "[".repeat(70), "]".repeat(70));
    for (body, code) in [
        (&b""[..], "invalid_body"),
        (b"{", "invalid_body"),
        (b"null", "invalid_body"),
        (b"[]", "invalid_body"),
        (b"{\"kind\":\"\xff\"}", "invalid_body"),
        (b"{\"kind\":\"k\",\"input\":\"\xff\"}", "invalid_body"),
        (b"{\"kind\":\"k\"} {}", "invalid_body"),
        (b"{\"kind\":7}", "invalid_body"),
        (b"{\"kind\":\"k\",\"kind\":\"l\"}", "invalid_body"),
        (b"{\"kind\":\"k\",\"unknown\":1}", "invalid_body"),
        (b"{\"kind\":\"k\",\"priority\":-1}", "invalid_body"),
        (b"{\"kind\":\"k\",\"priority\":9001}", "invalid_argument"),
        (b"{\"kind\":\"k\",\"delay\":\"1s\",\"run_at\":5}", "invalid_argument"),
        (b"{\"kind\":\"k\",\"run_at\":5}", "time_in_past"),
        (b"{\"kind\":\"k\",\"delay\":18446744073709551615}", "invalid_argument"),
        (b"{\"kind\":\"k\",\"uuid\":\"00000000-0000-4000-8000-000000000000\"}", "invalid_argument"),
        (b"{\"kind\":\"k\",\"input_bytes\":{\"content_type\":\"a\",\"base64\":\"?\"}}", "invalid_body"),
        (b"{\"kind\":\"k\",\"input_bytes\":{\"content_type\":\"\",\"base64\":\"\"}}", "invalid_content_type"),
        (b"{\"kind\":\"k\",\"input\":1,\"input_bytes\":{\"content_type\":\"a\",\"base64\":\"\"}}", "payload_twice"),
        (deep.as_bytes(), "payload_too_deep"),
        (deep_enough.as_bytes(), "payload_too_deep"),
    ] {
        let answer = raw(&site, &post(body)).await;
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        assert!(answer.starts_with("HTTP/1.1 400"), "{shown}: {answer}");
        assert!(answer.contains(&format!("\"code\":\"{code}\"")), "{shown}: {answer}");
    }
    is_served(&site).await;
    site.drained().await;
}

#[tokio::test]
async fn senseless_paths_queries_and_headers_are_refused() {
    let site = Site::open().await;
    for (path, status) in [
        ("/v1/executions/nonsense", 400),
        ("/v1/executions/x-0192f0c8-0000-7000-8000-000000000001-65535", 404),
        ("/v1/executions/%ff", 404),
        ("/v1/executions?limit=-1", 400),
        ("/v1/executions?limit=9999999999999999999999", 400),
        ("/v1/executions?cursor=nonsense", 400),
        ("/v1/executions?state=nonsense", 400),
        ("/v1/executions?unknown=1", 400),
        ("/v1/executions?tag=none", 400),
        ("/v1/events?cursor=nonsense", 400),
        ("/v1/events/stream?cursor=nonsense", 400),
        ("/v1/events/stream?limit=5", 400),
        ("/v1/lanes/a%2fb", 400),
        ("/nowhere", 404),
    ] {
        let response = site.send(&As::default(), Method::GET, path, None).await;
        assert_eq!(response.status().as_u16(), status, "{path}");
        let problem: Value = response.json().await.unwrap();
        assert!(problem["code"].is_string(), "{path}: {problem}");
    }
    let response = site.send(&As::default(), Method::PUT, "/v1/lanes/emails", None).await;
    assert_eq!(response.status().as_u16(), 405);
    let text = site.request(Method::POST, "/v1/executions").body("{}").send().await.unwrap();
    assert_eq!(text.status().as_u16(), 415);
    for namespace in ["a/b", "", "\u{e9}"] {
        let request = site.request(Method::GET, "/v1/counts").header("Onward-Namespace", namespace.as_bytes());
        assert_eq!(request.send().await.unwrap().status().as_u16(), 400, "{namespace:?}");
    }
    is_served(&site).await;
    site.drained().await;
}

#[tokio::test]
async fn what_is_too_large_is_cut_off() {
    let site = Site::open().await;
    let big = format!("{{\"kind\":\"k\",\"input\":\"{}\"}}", "x".repeat(600 * 1024));
    let answer = raw(&site, &post(big.as_bytes())).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("payload_too_large"), "{answer}");
    let announced = b"POST /v1/executions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 99999999999\r\n\r\n{";
    let answer = raw(&site, announced).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("body_too_large"), "{answer}");
    let mut chunked = b"POST /v1/executions HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..20 {
        chunked.extend_from_slice(b"20000\r\n");
        chunked.extend_from_slice(&vec![b' '; 0x20000]);
        chunked.extend_from_slice(b"\r\n");
    }
    let answer = raw(&site, &chunked).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");
    let mut headers = b"GET /v1/counts HTTP/1.1\r\nhost: localhost\r\nx-long: ".to_vec();
    headers.extend_from_slice(&vec![b'a'; 200 * 1024]);
    headers.extend_from_slice(b"\r\n\r\n");
    let answer = raw(&site, &headers).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    let many: String = (0..500).map(|n| format!("x-{n}: 1\r\n")).collect();
    let answer = raw(&site, format!("GET /v1/counts HTTP/1.1\r\nhost: localhost\r\n{many}\r\n").as_bytes()).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    is_served(&site).await;
    site.drained().await;
}

#[tokio::test]
async fn slow_callers_are_hung_up_on_and_others_are_served() {
    let limits = Limits { body_time: Span(1_000), header_time: Span(1_000), ..Limits::default() };
    let site = Site::with(Options { limits, ..Options::default() }).await;
    let head =
        b"POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{";
    let answer = raw(&site, head).await;
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("body_too_slow"), "{answer}");
    assert_eq!(raw(&site, b"GET /v1/cou").await, "", "half a head is waited for in vain");
    assert_eq!(raw(&site, b"").await, "", "so is none");
    is_served(&site).await;
    site.drained().await;
}

/// A web page whose name was made to lead here must not do what programs on this machine may.
#[tokio::test]
async fn calls_for_other_hosts_are_refused() {
    let site = Site::open().await;
    for (host, status) in
        [("evil.example", 403), ("localhost", 200), ("127.0.0.1:8700", 200), ("[::1]:8700", 200), ("", 403)]
    {
        let request = site.request(Method::GET, "/v1/counts").header("Host", host);
        assert_eq!(request.send().await.unwrap().status().as_u16(), status, "{host}");
    }
    site.drained().await;
}

/// One call holds at most a thousand, however many are sent.
#[tokio::test]
async fn more_than_a_call_may_hold_is_not_even_read() {
    let site = Site::open().await;
    let many = json!({"executions": vec![json!({"kind": "k"}); 1_001]});
    let (status, problem) = site.post("/v1/executions/batch", many).await;
    assert_eq!((status, &problem["code"]), (400, &json!("invalid_body")), "{problem}");
    site.drained().await;
}

/// What only announces much, or arrives slowly, takes no room from others.
#[tokio::test]
async fn large_bodies_share_their_room_and_small_ones_need_none() {
    let limits = Limits { inflight_bytes: 256 * 1024, ..Limits::default() };
    let site = Site::with(Options { limits, ..Options::default() }).await;
    let mut slow = Vec::new();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(site.address).await.unwrap();
        let head = b"POST /v1/executions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 900000\r\n\r\n{";
        stream.write_all(head).await.unwrap();
        slow.push(stream);
    }
    is_served(&site).await;
    site.submit(json!({"kind": "large", "input": "x".repeat(200 * 1024)})).await;
    drop(slow);
    site.drained().await;
}

/// Many who say nothing leave room for those who do, once their time is up.
#[tokio::test]
async fn idle_connections_do_not_keep_others_out() {
    let limits = Limits { connections: 50, header_time: Span(500), ..Limits::default() };
    let site = Site::with(Options { limits, ..Options::default() }).await;
    let mut idle = Vec::new();
    for _ in 0..200 {
        idle.push(TcpStream::connect(site.address).await.unwrap());
    }
    is_served(&site).await;
    drop(idle);
    site.drained().await;
}
