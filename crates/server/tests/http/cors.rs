//! Web pages of other origins: none may call unless it was chosen, and then it needs its key like everybody else.

use crate::site::Site;
use onward_server::Options;
use reqwest::{Method, Response};

const CHOSEN: &str = "https://board.example";

/// Calls as a browser does for a web page of an origin.
async fn call(site: &Site, method: Method, origin: Option<&str>) -> Response {
    let mut request = site.request(method.clone(), "/v1/counts");
    if let Some(origin) = origin {
        request = request.header("Origin", origin);
    }
    if method == Method::OPTIONS {
        request = request.header("Access-Control-Request-Method", "GET");
        request = request.header("Access-Control-Request-Headers", "authorization");
    }
    request.send().await.unwrap()
}

/// The headers of an answer that tell a browser what a web page may do.
fn permissions(response: &Response) -> Vec<String> {
    let names = response.headers().keys().map(ToString::to_string);
    names.filter(|name| name.starts_with("access-control-")).collect()
}

fn header<'a>(response: &'a Response, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn no_web_page_may_call_unless_chosen() {
    let site = Site::open().await;
    let answer = call(&site, Method::GET, Some(CHOSEN)).await;
    assert_eq!((answer.status().as_u16(), permissions(&answer)), (200, vec![]), "a browser keeps this from the page");
    let preflight = call(&site, Method::OPTIONS, Some(CHOSEN)).await;
    assert_eq!((preflight.status().as_u16(), permissions(&preflight)), (405, vec![]));
    site.drained().await;
}

#[tokio::test]
async fn web_pages_of_chosen_origins_may_call_and_others_may_not() {
    let site = Site::with(Options { cors: vec![CHOSEN.to_owned()], ..Options::default() }).await;
    let preflight = call(&site, Method::OPTIONS, Some(CHOSEN)).await;
    assert_eq!((preflight.status().as_u16(), header(&preflight, "access-control-allow-origin")), (204, CHOSEN));
    for method in ["GET", "POST", "PATCH", "DELETE"] {
        assert!(header(&preflight, "access-control-allow-methods").contains(method), "{preflight:?}");
    }
    for name in ["authorization", "content-type", "idempotency-key", "onward-namespace"] {
        assert!(header(&preflight, "access-control-allow-headers").contains(name), "{preflight:?}");
    }
    assert_eq!(header(&preflight, "access-control-allow-credentials"), "", "keys are sent by the page itself");
    let answer = call(&site, Method::GET, Some(CHOSEN)).await;
    assert_eq!((answer.status().as_u16(), header(&answer, "access-control-allow-origin")), (200, CHOSEN));
    assert!(header(&answer, "vary").contains("origin"), "a cache must not give this to another page");
    for other in [
        "https://evil.example",
        "http://board.example",
        "https://board.example:8443",
        "https://board.example.evil",
        "null",
        "*",
    ] {
        let preflight = call(&site, Method::OPTIONS, Some(other)).await;
        assert_eq!((preflight.status().as_u16(), permissions(&preflight)), (405, vec![]), "{other}");
        assert_eq!(permissions(&call(&site, Method::GET, Some(other)).await), Vec::<String>::new(), "{other}");
    }
    assert_eq!(permissions(&call(&site, Method::GET, None).await), Vec::<String>::new(), "this is no web page");
    site.drained().await;
}

#[tokio::test]
async fn a_chosen_origin_needs_a_key_like_everybody() {
    let options = Options { require_keys: true, cors: vec![CHOSEN.to_owned()], ..Options::default() };
    let site = Site::with(options).await;
    let preflight = call(&site, Method::OPTIONS, Some(CHOSEN)).await;
    assert_eq!(preflight.status().as_u16(), 204, "browsers send no key with it");
    let answer = call(&site, Method::GET, Some(CHOSEN)).await;
    assert_eq!((answer.status().as_u16(), header(&answer, "access-control-allow-origin")), (401, CHOSEN));
    site.drained().await;
}
