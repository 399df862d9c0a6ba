//! Searching, explaining, steering and bulk actions.

use crate::site::{As, Site};
use onward_core::record::Role;
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn executions_are_found_counted_and_explained() {
    let site = Site::open().await;
    for n in 0..5 {
        site.submit(json!({"kind": "k", "lane": "emails", "tags": {"customer": n.to_string()}})).await;
    }
    let later = site.submit(json!({"kind": "late", "delay": "1h"})).await;
    let (_, page) = site.get("/v1/executions?limit=2").await;
    let (first, next) = (page["executions"].as_array().unwrap().len(), page["next"].as_str().unwrap());
    let (_, rest) = site.get(&format!("/v1/executions?limit=10&cursor={next}")).await;
    assert_eq!((first, rest["executions"].as_array().unwrap().len()), (2, 4));
    let (_, tagged) = site.get("/v1/executions?tag=customer%3D3").await;
    assert_eq!(tagged["executions"][0]["tags"], json!({"customer": "3"}));
    let (_, delayed) = site.get("/v1/executions?state=delayed").await;
    assert_eq!(delayed["executions"][0]["id"].as_str(), Some(later.as_str()));
    let (_, counts) = site.get("/v1/counts").await;
    assert_eq!((&counts["total"]["n"], &counts["waiting"]["n"]), (&json!(6), &json!(5)));
    let (_, why) = site.get(&format!("/v1/executions/{later}/why")).await;
    assert_eq!(why["state"], "delayed");
    assert_eq!((&why["reason"]["type"], &why["unblocked_by"][1]["type"]), (&json!("delayed"), &json!("run_now")));
    let (_, history) = site.get(&format!("/v1/executions/{later}/history")).await;
    assert_eq!(history["transitions"].as_array().unwrap().len(), 1);
    assert_eq!(history["transitions"][0]["type"], "submitted");
    site.drained().await;
}

/// Every state is counted, the counts add up to the total, and a search takes several states.
#[tokio::test]
async fn states_are_counted_and_searched_together() {
    let site = Site::open().await;
    for _ in 0..6 {
        site.submit(json!({"kind": "k", "policy": {"retry": {"max_retries": 0}}})).await;
    }
    site.submit(json!({"kind": "late", "delay": "1h"})).await;
    let mut leases = Vec::new();
    for _ in 0..4 {
        leases.push(site.claim().await["lease"].clone());
    }
    site.post("/v1/work/complete", json!({"lease": leases[0]})).await;
    site.post("/v1/work/fail", json!({"lease": leases[1], "details": {"card": 7}})).await;
    site.post("/v1/work/cancel", json!({"lease": leases[2]})).await;
    let large = json!({"lease": leases[3], "details": "x".repeat(20_000)});
    let (status, refused) = site.post("/v1/work/fail", large).await;
    assert_eq!((status, &refused["code"]), (413, &json!("payload_too_large")));
    let (_, counts) = site.get("/v1/counts").await;
    let count = |state: &str| counts[state]["n"].as_u64().unwrap();
    let states = ["waiting", "delayed", "active", "completed", "failed", "cancelled", "expired"].map(count);
    assert_eq!((states, count("total")), ([2, 1, 1, 1, 1, 1, 0], 7));
    for (states, expected) in [("failed,cancelled", 2), ("active,failed,delayed", 3), ("delayed", 1), ("active", 1)] {
        let (_, page) = site.get(&format!("/v1/executions?state={states}")).await;
        let found = page["executions"].as_array().unwrap();
        assert!(found.iter().all(|one| states.split(',').any(|state| one["state"] == state)), "{states}: {page}");
        assert_eq!(found.len(), expected, "{states}: {page}");
    }
    let (_, failed) = site.get("/v1/executions?state=failed").await;
    assert_eq!(failed["executions"][0]["failure"]["details"], Value::Null, "a page has no details");
    let failed = failed["executions"][0]["id"].as_str().unwrap();
    let (_, failed) = site.get(&format!("/v1/executions/{failed}")).await;
    assert_eq!(failed["failure"]["details"], json!({"card": 7}));
    let (status, unknown) = site.get("/v1/executions?state=failed,lost").await;
    assert_eq!((status, &unknown["code"]), (400, &json!("invalid_query")), "{unknown}");
    site.drained().await;
}

#[tokio::test]
async fn operators_steer_one_execution() {
    let site = Site::open().await;
    let id = site.submit(json!({"kind": "k", "delay": "1h"})).await;
    let path = |verb: &str| format!("/v1/executions/{id}/{verb}");
    let outcome = |answer: (u16, Value)| {
        assert_eq!(answer.0, 200, "{}", answer.1);
        answer.1["outcome"].clone()
    };
    assert_eq!(outcome(site.post(&path("reschedule"), json!({})).await), json!({"type": "rescheduled"}));
    let prioritised = outcome(site.post(&path("prioritise"), json!({"priority": 7})).await);
    assert_eq!(prioritised, json!({"type": "prioritised", "before": 0}));
    assert_eq!(outcome(site.post(&path("tag"), json!({"set": {"a": "b"}})).await), json!({"type": "tagged"}));
    let claimed = site.claim().await;
    let (status, other) = site.post(&path("revoke"), json!({"lease": "0".repeat(32)})).await;
    assert_eq!((status, &other["code"]), (409, &json!("stale_lease")), "it is held under another lease");
    let lease = claimed["lease"].as_str().unwrap().split('.').nth(1).unwrap();
    let revoked = outcome(site.post(&path("revoke"), json!({"lease": lease, "reason": "stuck"})).await);
    assert_eq!((&revoked["type"], &revoked["lease"]), (&json!("revoked"), &json!(lease)));
    let cancelled = outcome(site.post(&path("cancel"), json!({"reason": "unwanted"})).await);
    assert_eq!(cancelled, json!({"type": "cancelled"}));
    let (status, again) = site.post(&path("cancel"), json!({})).await;
    assert_eq!((status, &again["code"]), (409, &json!("execution_finished")));
    let replayed = outcome(site.post(&path("replay"), json!({"expires_after": "1h"})).await);
    assert_eq!(replayed, json!({"type": "replayed", "replays": 1}));
    assert!(site.get(&format!("/v1/executions/{id}")).await.1["expires_at"].is_u64(), "its second life has a deadline");
    outcome(site.post(&path("cancel"), json!({})).await);
    let purged = site.send(&As::default(), Method::DELETE, &format!("/v1/executions/{id}"), None).await;
    assert_eq!(purged.status().as_u16(), 200);
    assert_eq!(purged.json::<Value>().await.unwrap(), json!({"outcome": {"type": "purged"}}));
    assert_eq!(site.get(&format!("/v1/executions/{id}")).await.0, 404);
    site.drained().await;
}

#[tokio::test]
async fn bulk_actions_try_first_and_go_page_by_page() {
    let site = Site::open().await;
    for _ in 0..5 {
        site.submit(json!({"kind": "k", "lane": "emails"})).await;
    }
    site.submit(json!({"kind": "other"})).await;
    let ask = |dry_run: bool, cursor: Value| {
        let filter = json!({"lane": "emails", "state": "waiting"});
        json!({"filter": filter, "act": {"type": "cancel"}, "dry_run": dry_run, "limit": 3, "cursor": cursor})
    };
    let (_, tried) = site.post("/v1/bulk", ask(true, Value::Null)).await;
    assert_eq!((tried["matched"].as_array().unwrap().len(), &tried["done"]), (3, &json!(0)));
    let (_, first) = site.post("/v1/bulk", ask(false, Value::Null)).await;
    let (_, second) = site.post("/v1/bulk", ask(false, first["next"].clone())).await;
    assert_eq!((&first["done"], &second["done"]), (&json!(3), &json!(2)));
    let (_, counts) = site.get("/v1/counts").await;
    assert_eq!((&counts["cancelled"]["n"], &counts["waiting"]["n"]), (&json!(5), &json!(1)));
    site.drained().await;
}

#[tokio::test]
async fn lanes_are_paused_and_get_defaults() {
    let site = Site::open().await;
    let patch = json!({"state": "paused", "defaults": {"retry": {"max_retries": 9}, "retention": "1h"}});
    let changed = site.send(&As::default(), Method::PATCH, "/v1/lanes/emails", Some(&patch)).await;
    let changed: Value = changed.json().await.unwrap();
    assert_eq!((&changed["state"], &changed["defaults"]["retry"]["max_retries"]), (&json!("paused"), &json!(9)));
    site.submit(json!({"kind": "k", "lane": "emails"})).await;
    let (_, none) = site.post("/v1/work/claim", json!({"worker": "w", "lanes": ["emails"]})).await;
    assert_eq!(none["executions"], json!([]));
    let (_, lanes) = site.get("/v1/lanes").await;
    assert_eq!((&lanes["lanes"][0]["lane"], &lanes["lanes"][0]["ready"]), (&json!("emails"), &json!(1)));
    assert_eq!(site.get("/v1/lanes/unused").await.1["state"], "open");
    site.drained().await;
}

#[tokio::test]
async fn the_description_is_served_and_health_is_told() {
    let site = Site::open().await;
    let (_, api) = site.get("/v1/openapi.json").await;
    assert!(api["openapi"].as_str().unwrap().starts_with("3.1"));
    let page = site.send(&As::default(), Method::GET, "/docs", None).await.text().await.unwrap();
    assert!(page.contains("/v1/executions/{id}/why") && !page.contains("<script"));
    for path in ["/healthz", "/readyz"] {
        assert_eq!(site.send(&As::default(), Method::GET, path, None).await.status().as_u16(), 200);
    }
    site.submit(json!({"kind": "k", "lane": "emails"})).await;
    let metrics = site.send(&As::default(), Method::GET, "/metrics", None).await.text().await.unwrap();
    let waiting = "{namespace=\"default\",lane=\"emails\"}";
    assert!(metrics.contains(&format!("onward_lane_ready{waiting} 1.0\n")), "{metrics}");
    assert!(metrics.contains(&format!("onward_lane_oldest_seconds{waiting} ")) && metrics.ends_with("# EOF\n"));
    let dashboard = include_str!("../../../../deploy/grafana.json");
    let measured = dashboard.split("onward_").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        rest[..end].trim_end_matches("_bucket")
    });
    assert!(measured.clone().count() > 10);
    for name in measured {
        assert!(metrics.contains(&format!("onward_{name}")), "the dashboard shows {name}: {metrics}");
    }
    assert!(
        metrics.contains("onward_http_calls_total{method=\"GET\",route=\"/healthz\",status=\"2xx\"} 1"),
        "{metrics}"
    );
    site.drained().await;
}

/// A note is seen with who wrote it wherever one looks, and a repeat finds itself.
#[tokio::test]
async fn a_note_is_seen_with_its_author() {
    let site = Site::guarded().await;
    let (key, _) = site.key(&[Role::Submit, Role::Operate], &[]).await;
    let ada = As { key: Some(&key), namespace: None };
    let submitted = site.send(&ada, Method::POST, "/v1/executions", Some(&json!({"kind": "k"}))).await;
    let id = submitted.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    for note in ["ask the customer first", "not taken: a repeat"] {
        let request = site.request(Method::POST, &format!("/v1/executions/{id}/annotate")).bearer_auth(&key);
        let answer = request.header("Idempotency-Key", "note-1").json(&json!({ "note": note })).send().await.unwrap();
        assert_eq!(answer.json::<Value>().await.unwrap(), json!({"outcome": {"type": "annotated"}}));
    }
    let look = async |path: String| site.send(&ada, Method::GET, &path, None).await.json::<Value>().await.unwrap();
    assert_eq!(look(format!("/v1/executions/{id}")).await["note"], "ask the customer first");
    let history = look(format!("/v1/executions/{id}/history")).await;
    assert_eq!(history["transitions"].as_array().unwrap().len(), 2);
    let events = look(format!("/v1/events?execution={id}&names=annotated")).await;
    assert_eq!(events["events"].as_array().unwrap().len(), 1);
    for told in [&history["transitions"][1], &events["events"][0]["event"]] {
        let (kind, by, note) = (json!("annotated"), json!("ada"), json!("ask the customer first"));
        assert_eq!((&told["type"], &told["by"], &told["note"]), (&kind, &by, &note));
    }
    let (path, long) = (format!("/v1/executions/{id}/annotate"), json!({"note": "x".repeat(1025)}));
    let long = site.send(&ada, Method::POST, &path, Some(&long)).await;
    let problem = long.json::<Value>().await.unwrap();
    assert_eq!((&problem["code"], &problem["field"]), (&json!("invalid_argument"), &json!("note")));
    site.drained().await;
}

/// What is read of an execution can be sent again as it is.
#[tokio::test]
async fn what_is_read_can_be_submitted_again() {
    let site = Site::open().await;
    let written = json!({
        "kind": "charge", "lane": "money", "priority": 7, "expires_after": "1d",
        "tags": {"customer": "42"}, "requires": ["gpu"],
        "policy": {"retry": {"max_retries": 5, "first_pause": "2s", "longest_pause": "1m", "jitter": false,
            "categories": ["transient"]}, "attempt_timeout": "90s", "max_reclaims": 3, "max_replays": 2, "retention": "1d",
            "dedup_window": "1h"},
    });
    let first = site.get(&format!("/v1/executions/{}", site.submit(written.clone()).await)).await.1;
    let fields = ["kind", "lane", "priority", "expires_at", "tags", "requires", "policy"];
    let again: Value = fields
        .iter()
        .map(|field| ((*field).to_owned(), first[field].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    assert_eq!(again["policy"]["retry"]["first_pause"], 2_000);
    let second = site.get(&format!("/v1/executions/{}", site.submit(again.clone()).await)).await.1;
    for field in fields {
        assert!(!first[field].is_null() && second[field] == first[field], "{field}");
    }
    let nothing = json!({
        "kind": "charge", "input": null, "lane": null, "priority": null, "delay": null, "tags": null, "requires": null,
        "policy": null, "unique_key": null, "expires_at": null, "uuid": null, "trace": null,
    });
    let plain = site.get(&format!("/v1/executions/{}", site.submit(nothing).await)).await.1;
    assert_eq!((&plain["lane"], &plain["priority"]), (&json!("default"), &json!(0)), "null is the same as absent");
    site.drained().await;
}

/// A list is no object, and what is wrong is said without the names of our types.
#[tokio::test]
async fn a_list_is_no_object() {
    let site = Site::open().await;
    for (body, field) in [
        (json!(["k"]), Value::Null),
        (json!({"kind": "k", "policy": ["x"]}), json!("policy")),
        (json!({"kind": "k", "priority": 70_000}), json!("priority")),
    ] {
        let (status, problem) = site.post("/v1/executions", body.clone()).await;
        assert_eq!((status, &problem["code"], &problem["field"]), (400, &json!("invalid_body"), &field), "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(!["struct", "u16", "NewExecution"].iter().any(|word| detail.contains(word)), "{detail}");
    }
    site.drained().await;
}
