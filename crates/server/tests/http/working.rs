//! Work from submit to result, with nothing but HTTP.

use crate::site::{As, Site};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn work_goes_from_submit_to_result() {
    let site = Site::open().await;
    let (parked, id) = tokio::join!(site.claim(), site.submit(json!({"kind": "greet", "input": {"name": "Ada"}})));
    assert_eq!((parked["id"].as_str(), &parked["input"]), (Some(id.as_str()), &json!({"name": "Ada"})));
    let lease = &parked["lease"];
    let (status, renewed) = site.post("/v1/work/renew", json!({"leases": [lease], "lease": "1m"})).await;
    assert_eq!(status, 200);
    assert!(renewed["results"][0]["ok"]["expires_at"].as_u64() > parked["lease_expires_at"].as_u64(), "{renewed}");
    let noted = site.post("/v1/work/progress", json!({"lease": lease, "percent": 50, "message": "half"})).await;
    assert_eq!(noted.0, 200, "{noted:?}");
    let (status, early) = site.get(&format!("/v1/executions/{id}/result")).await;
    assert_eq!((status, &early["progress"]["percent"]), (202, &json!(50)), "{early}");
    let done = site.post("/v1/work/complete", json!({"lease": lease, "result": ["hello", "Ada"]})).await;
    assert_eq!(done, (200, json!({"ended": true})));
    assert_eq!(site.get(&format!("/v1/executions/{id}/result")).await, (200, json!(["hello", "Ada"])));
    let (_, late) = site.post("/v1/work/complete", json!({"lease": lease, "result": 2})).await;
    assert_eq!((&late["status"], &late["code"]), (&json!(409), &json!("execution_not_active")));
    site.drained().await;
}

#[tokio::test]
async fn a_submitter_can_wait_for_the_result() {
    let site = Site::open().await;
    let submit = site.post("/v1/executions?wait=30s", json!({"kind": "add", "input": [1, 2]}));
    let work = async {
        let claimed = site.claim().await;
        site.post("/v1/work/complete", json!({"lease": claimed["lease"], "result": 3})).await
    };
    let ((status, answer), _) = tokio::join!(submit, work);
    assert_eq!((status, &answer["result"], &answer["execution"]["state"]), (201, &json!(3), &json!("completed")));
    let (status, answer) = site.post("/v1/executions?wait=1ms", json!({"kind": "slow"})).await;
    assert_eq!((status, &answer["execution"]["state"]), (201, &json!("waiting")), "the time was up");
    site.drained().await;
}

#[tokio::test]
async fn bytes_come_back_as_they_were() {
    let site = Site::open().await;
    let blob = json!({"content_type": "image/png", "base64": "AAEC/w=="});
    let id = site.submit(json!({"kind": "scale", "input_bytes": blob})).await;
    let input = site.send(&As::default(), Method::GET, &format!("/v1/executions/{id}/input"), None).await;
    assert_eq!(input.headers()["content-type"], "image/png");
    assert_eq!(input.headers()["x-content-type-options"], "nosniff");
    assert_eq!(&input.bytes().await.unwrap()[..], [0, 1, 2, 255]);
    let claimed = site.claim().await;
    assert_eq!(claimed["input_bytes"], blob);
    site.post("/v1/work/complete", json!({"lease": claimed["lease"], "result_bytes": blob})).await;
    let result = site.send(&As::default(), Method::GET, &format!("/v1/executions/{id}/result"), None).await;
    assert_eq!(&result.bytes().await.unwrap()[..], [0, 1, 2, 255]);
    site.drained().await;
}

#[tokio::test]
async fn every_end_of_an_attempt_has_its_route() {
    let site = Site::open().await;
    for (verb, extra, state) in [
        ("fail", json!({"message": "away"}), "delayed"),
        ("fail", json!({"category": "permanent", "message": "never"}), "failed"),
        ("delay", json!({"delay": "1h"}), "delayed"),
        ("unclaim", json!({}), "waiting"),
        ("cancel", json!({"reason": "unwanted"}), "cancelled"),
    ] {
        let id = site.submit(json!({"kind": "k"})).await;
        let mut body = extra;
        body["lease"] = site.claim().await["lease"].clone();
        let (status, answer) = site.post(&format!("/v1/work/{verb}"), body).await;
        assert_eq!(status, 200, "{verb}: {answer}");
        let (_, found) = site.get(&format!("/v1/executions/{id}")).await;
        assert_eq!(found["state"], state, "{verb}");
        if state == "waiting" {
            let lease = site.claim().await["lease"].clone();
            site.post("/v1/work/complete", json!({"lease": lease})).await;
        }
    }
    site.drained().await;
}

#[tokio::test]
async fn repeats_get_the_first_answer() {
    let site = Site::open().await;
    let submit = |kind: &'static str| {
        let request = site.request(Method::POST, "/v1/executions").header("Idempotency-Key", "order-17");
        async move { request.json(&json!({"kind": kind})).send().await.unwrap() }
    };
    let (first, second) = (submit("charge").await, submit("charge").await);
    assert_eq!((first.status().as_u16(), second.status().as_u16()), (201, 200));
    let ids = [first.json::<Value>().await.unwrap(), second.json::<Value>().await.unwrap()];
    assert_eq!(ids[0]["id"], ids[1]["id"]);
    assert_eq!(submit("refund").await.status().as_u16(), 409, "the key stands for something else");
    let chosen = json!({"kind": "once", "uuid": "0192f0c8-0000-7000-8000-000000000001", "lane": "chosen"});
    assert_eq!(site.submit(chosen.clone()).await, site.submit(chosen.clone()).await, "the id is the caller's");
    let (status, other) =
        site.post("/v1/executions", json!({"kind": "twice", "uuid": chosen["uuid"], "lane": "chosen"})).await;
    assert_eq!((status, &other["code"]), (409, &json!("execution_exists")), "something else is no repeat");
    let lease = site.claim().await["lease"].clone();
    for _ in 0..2 {
        let request = site.request(Method::POST, "/v1/work/complete").header("Idempotency-Key", "end-17");
        let done = request.json(&json!({"lease": lease, "result": 1})).send().await.unwrap();
        assert_eq!(done.status().as_u16(), 200);
    }
    site.drained().await;
}

async fn named(site: &Site, path: &str, key: &str, body: Value) -> (u16, Value) {
    let answer = site.request(Method::POST, path).header("Idempotency-Key", key).json(&body).send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap())
}

#[tokio::test]
async fn a_named_batch_is_one_call() {
    let site = Site::open().await;
    let batch = json!({"executions": [
        {"kind": "a"}, {"kind": "a"}, {"kind": "b", "unique_key": "one"}, {"kind": "c", "idempotency_key": "own"},
    ]});
    let (status, first) = named(&site, "/v1/executions/batch", "night", batch.clone()).await;
    assert_eq!(status, 200, "{first}");
    let ids = |answer: &Value| -> Vec<Value> {
        answer["results"].as_array().unwrap().iter().map(|one| one["ok"]["id"].clone()).collect()
    };
    assert_ne!(ids(&first)[0], ids(&first)[1], "two items are two executions");
    let (_, again) = named(&site, "/v1/executions/batch", "night", batch.clone()).await;
    assert_eq!(ids(&first), ids(&again));
    let (_, other) = named(&site, "/v1/executions/batch", "noon", batch).await;
    assert!(ids(&first)[..2].iter().all(|id| !ids(&other).contains(id)), "another key is another call");
    let (_, claimed) = site.post("/v1/work/claim", json!({"worker": "w", "max": 10})).await;
    let leases: Vec<_> = claimed["executions"].as_array().unwrap().iter().map(|one| one["lease"].clone()).collect();
    assert_eq!(leases.len(), 6);
    let ends: Vec<Value> =
        leases.iter().map(|lease| json!({"lease": lease, "type": "complete", "result": 1})).collect();
    for _ in 0..2 {
        let (status, ended) = named(&site, "/v1/work/reports", "night", json!({"reports": ends})).await;
        let all = ended["results"].as_array().unwrap();
        assert!(status == 200 && all.iter().all(|one| one["ok"]["ended"] == json!(true)), "{ended}");
    }
    let claim = json!({"reports": [], "claim": {"worker": "w"}});
    let (status, refused) = named(&site, "/v1/work/reports", "night", claim).await;
    assert_eq!((status, &refused["code"]), (400, &json!("not_repeatable")));
    site.drained().await;
}

#[tokio::test]
async fn a_key_names_the_call_beside_a_unique_key() {
    let site = Site::open().await;
    let body = json!({"kind": "sync", "unique_key": "customer-7"});
    let (status, first) = named(&site, "/v1/executions", "call-1", body.clone()).await;
    assert_eq!(status, 201, "{first}");
    assert_eq!(
        named(&site, "/v1/executions", "call-1", body.clone()).await,
        (201, first.clone()),
        "the first response"
    );
    let (status, held) = named(&site, "/v1/executions", "call-2", body.clone()).await;
    assert_eq!((status, &held["id"]), (200, &first["id"]), "the key is held");
    let lease = site.claim().await["lease"].clone();
    site.post("/v1/work/complete", json!({"lease": lease})).await;
    let (status, second) = named(&site, "/v1/executions", "call-2", body.clone()).await;
    assert!(status == 201 && second["id"] != first["id"], "a call that met a duplicate is not remembered: {second}");
    assert_eq!(named(&site, "/v1/executions", "call-1", body.clone()).await, (201, first), "taken again by another");
    let other = json!({"kind": "sync", "unique_key": "customer-7", "delay": "1h"});
    let (status, refused) = named(&site, "/v1/executions", "call-1", other).await;
    assert_eq!((status, &refused["code"]), (409, &json!("idempotency_mismatch")));
    assert!(refused["detail"].as_str().unwrap().contains("another delay"), "{refused}");
    let both = json!({"kind": "sync", "unique_key": "a", "idempotency_key": "b"});
    for path in ["/v1/executions", "/v1/executions/batch"] {
        for key in [None, Some("call-3")] {
            let body = if path.ends_with("batch") { json!({"executions": [both.clone()]}) } else { both.clone() };
            let request = site.request(Method::POST, path).json(&body);
            let request = key.into_iter().fold(request, |request, key| request.header("Idempotency-Key", key));
            let answer: Value = request.send().await.unwrap().json().await.unwrap();
            let problem = answer["results"][0]["problem"].as_object().or(answer.as_object()).unwrap();
            assert_eq!(problem["code"], json!("two_keys"), "{path} {key:?}");
        }
    }
    site.drained().await;
}

#[tokio::test]
async fn no_call_ignores_the_key_that_names_it() {
    let site = Site::open().await;
    site.submit(json!({"kind": "k"})).await;
    let (status, refused) = named(&site, "/v1/work/claim", "c", json!({"worker": "w"})).await;
    assert_eq!((status, &refused["code"]), (400, &json!("not_repeatable")));
    let empty = named(&site, "/v1/work/complete", "", json!({"lease": "x"})).await;
    assert_eq!((empty.0, &empty.1["field"]), (400, &json!("Idempotency-Key")), "an empty key would name every call");
    let bulk = json!({"filter": {"kind": "k"}, "act": {"type": "prioritise", "priority": 5}, "dry_run": false});
    let (status, first) = named(&site, "/v1/bulk", "b", bulk.clone()).await;
    assert_eq!((status, &first["done"]), (200, &json!(1)), "{first}");
    let id = first["matched"][0].as_str().unwrap().to_owned();
    site.post(&format!("/v1/executions/{id}/prioritise"), json!({"priority": 7})).await;
    assert_eq!(named(&site, "/v1/bulk", "b", bulk).await.1["done"], json!(1), "it gets the first answer");
    let (_, found) = site.get(&format!("/v1/executions/{id}")).await;
    assert_eq!(found["priority"], json!(7), "a repeat does nothing");
    site.drained().await;
}

#[tokio::test]
async fn many_travel_together_and_each_is_answered_alone() {
    let site = Site::open().await;
    let pieces = json!({"executions": [
        {"kind": "a"}, {"kind": "b", "priority": 9001}, {"kind": "c", "delay": "1s", "run_at": 7}, {"kind": "d"},
    ]});
    let (status, answer) = site.post("/v1/executions/batch", pieces).await;
    assert_eq!(status, 200);
    let codes: Vec<_> = answer["results"].as_array().unwrap().iter().map(|one| &one["problem"]["code"]).collect();
    assert_eq!(codes, [&Value::Null, &json!("invalid_argument"), &json!("invalid_argument"), &Value::Null]);
    let (_, claimed) = site.post("/v1/work/claim", json!({"worker": "w", "max": 10})).await;
    let leases: Vec<_> = claimed["executions"].as_array().unwrap().iter().map(|one| one["lease"].clone()).collect();
    assert_eq!(leases.len(), 2);
    site.submit(json!({"kind": "next"})).await;
    let reports = json!({
        "reports": [
            {"lease": leases[0], "type": "complete", "result": 1},
            {"lease": leases[1], "type": "fail", "category": "permanent", "message": "no"},
            {"lease": leases[1], "type": "delay"},
            {"lease": leases[1], "type": "unclaim", "result": 1},
        ],
        "claim": {"worker": "w"},
    });
    let (status, answer) = site.post("/v1/work/reports", reports).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["results"][0], json!({"ok": {"ended": true}}));
    assert_eq!(answer["results"][1], json!({"ok": {"ended": true}}));
    assert_eq!(answer["results"][2]["problem"]["field"], "delay");
    assert_eq!(answer["results"][3]["problem"]["field"], "result", "nothing is ignored");
    assert_eq!(answer["executions"][0]["kind"], "next");
    site.drained().await;
}

/// A worker that hangs up while it waits must not take work along.
#[tokio::test]
async fn an_abandoned_wait_takes_no_work() {
    let site = Site::open().await;
    for _ in 0..20 {
        let body = json!({"worker": "gone", "wait": "30s"});
        let waiting = site.request(Method::POST, "/v1/work/claim").json(&body).send();
        let gave_up = tokio::spawn(waiting);
        site.until_waiting(1).await;
        gave_up.abort();
        site.until_waiting(0).await;
        let id = site.submit(json!({"kind": "k"})).await;
        let claimed = site.claim().await;
        assert_eq!(claimed["id"].as_str(), Some(id.as_str()));
        site.post("/v1/work/complete", json!({"lease": claimed["lease"]})).await;
    }
    site.drained().await;
}
