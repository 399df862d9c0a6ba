//! Searching, explaining, steering and bulk actions.

use crate::site::{As, Site};
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
