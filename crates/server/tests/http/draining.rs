//! A server that is told to stop: nobody waits in vain, and what runs is finished.

use crate::site::{As, Site};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn waiting_calls_end_when_the_server_drains() {
    let mut site = Site::open().await;
    let id = site.submit(json!({"kind": "k", "lane": "elsewhere"})).await;
    let call = |method, path: &str, body: Option<Value>| {
        let mut request = site.request(method, path);
        if let Some(body) = body {
            request = request.json(&body);
        }
        tokio::spawn(request.send())
    };
    let claim = call(Method::POST, "/v1/work/claim", Some(json!({"worker": "w", "wait": "1m"})));
    let result = call(Method::GET, &format!("/v1/executions/{id}/result?wait=1m"), None);
    let stream = site.send(&As::default(), Method::GET, "/v1/events/stream?names=purged", None).await;
    site.until_waiting(1).await;
    site.drain();
    let claimed: Value = claim.await.unwrap().unwrap().json().await.unwrap();
    assert_eq!(claimed["executions"], json!([]));
    // It may have come after the door was shut.
    if let Ok(result) = result.await.unwrap() {
        assert_eq!(result.status().as_u16(), 202);
    }
    assert_eq!(stream.text().await.unwrap(), "", "the stream ends without a word");
    site.drained().await;
}
