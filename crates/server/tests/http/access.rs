//! Who may call what: every route of the description, with no key, a wrong one, and one of another namespace.

use crate::site::{As, Site};
use onward_core::record::Role;
use reqwest::{Method, Response};
use serde_json::{Value, json};

const ID: &str = "x-0192f0c8-0000-7000-8000-000000000001-17";

/// Every route that needs a key, from the description that the server serves: the method, a path, and the roles.
async fn guarded_routes(site: &Site) -> Vec<(Method, String, Vec<String>)> {
    let (_, api) = site.get("/v1/openapi.json").await;
    let mut routes = Vec::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let Some(roles) = operation["x-roles"].as_array() else { continue };
            let roles = roles.iter().map(|role| role.as_str().unwrap().to_owned()).collect();
            let id = if path.starts_with("/v1/keys") { "0192f0c8000070008000000000000001" } else { ID };
            let path = path.replace("{id}", id).replace("{lane}", "emails");
            routes.push((method.to_uppercase().parse().unwrap(), path, roles));
        }
    }
    assert!(routes.len() > 30, "{}", routes.len());
    routes
}

async fn refused(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let problem: Value = response.json().await.unwrap();
    assert_eq!(problem["status"], status);
    (status, problem["code"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn every_route_turns_away_whoever_may_not_call_it() {
    let site = Site::guarded().await;
    let all = Role::ALL.iter().map(|role| role.as_str()).collect::<Vec<_>>();
    let mut keys = Vec::new();
    for role in Role::ALL {
        keys.push(site.key(&[*role], &[]).await.0);
    }
    let everything = [Role::Submit, Role::Work, Role::Operate, Role::Read];
    let (stranger, _) = site.key(&everything, &["theirs"]).await;
    let (start, last) = keys[0].split_at(keys[0].len() - 1);
    let forged = format!("{start}{}", if last == "0" { "1" } else { "0" });
    for (method, path, roles) in guarded_routes(&site).await {
        let nobody = site.send(&As::default(), method.clone(), &path, None).await;
        assert_eq!(refused(nobody).await, (401, "unauthorized".into()), "{method} {path}");
        for wrong in [&forged, "", "onward_nonsense", "\u{e9}"].map(str::to_owned) {
            let request = site.request(method.clone(), &path).header("Authorization", format!("Bearer {wrong}"));
            let answer = refused(request.send().await.unwrap()).await;
            assert_eq!(answer, (401, "unauthorized".into()), "{method} {path} with {wrong:?}");
        }
        for (role, key) in all.iter().zip(&keys) {
            let who = As { key: Some(key), namespace: None };
            let response = site.send(&who, method.clone(), &path, None).await;
            let status = response.status().as_u16();
            let allowed = roles.iter().any(|allowed| allowed == role);
            assert_eq!(status == 403, !allowed, "{method} {path} as {role}: {status}");
            assert_ne!(status, 401, "{method} {path} as {role}");
        }
        if roles == ["admin"] {
            continue;
        }
        let who = As { key: Some(&stranger), namespace: Some("ours") };
        let answer = refused(site.send(&who, method.clone(), &path, None).await).await;
        assert_eq!(answer, (404, "namespace_not_found".into()), "{method} {path}");
    }
    site.drained().await;
}

/// A place in our pages is none in theirs.
async fn places_are_not_shared(site: &Site, (we, they): (&As<'_>, &As<'_>), id: &str) {
    for _ in 0..2 {
        site.send(we, Method::POST, "/v1/executions", Some(&json!({"kind": "k"}))).await;
    }
    for listing in ["executions?", "executions?state=waiting&", "events?"] {
        let page = site.send(we, Method::GET, &format!("/v1/{listing}limit=1"), None).await;
        let page = page.json::<Value>().await.unwrap();
        let next = page["next"].as_str().or(page["cursor"].as_str()).unwrap().to_owned();
        let seen = site.send(they, Method::GET, &format!("/v1/{listing}cursor={next}"), None).await;
        assert_eq!(seen.status().as_u16(), 200, "{listing}");
        let seen = seen.text().await.unwrap();
        assert!(!seen.contains(id) && !seen.contains("\"ours\""), "{listing}: {seen}");
    }
}

#[tokio::test]
async fn what_belongs_to_another_namespace_does_not_exist() {
    let site = Site::guarded().await;
    let roles = [Role::Submit, Role::Work, Role::Operate, Role::Read];
    let ((ours, _), (theirs, _)) = (site.key(&roles, &["ours"]).await, site.key(&roles, &["theirs"]).await);
    let (we, they) = (As { key: Some(&ours), namespace: None }, As { key: Some(&theirs), namespace: None });
    let submitted = site.send(&we, Method::POST, "/v1/executions", Some(&json!({"kind": "k"}))).await;
    let id = submitted.json::<Value>().await.unwrap()["id"].as_str().unwrap().to_owned();
    let claimed = site.send(&we, Method::POST, "/v1/work/claim", Some(&json!({"worker": "w"}))).await;
    let lease = claimed.json::<Value>().await.unwrap()["executions"][0]["lease"].clone();
    for verb in ["", "/input", "/result", "/attempts", "/history", "/why"] {
        let answer = site.send(&they, Method::GET, &format!("/v1/executions/{id}{verb}"), None).await;
        assert_eq!(refused(answer).await, (404, "execution_not_found".into()), "{verb}");
    }
    for (verb, body) in [
        ("cancel", json!({})),
        ("reschedule", json!({})),
        ("prioritise", json!({"priority": 1})),
        ("tag", json!({})),
        ("revoke", json!({})),
        ("replay", json!({})),
        ("annotate", json!({"note": "mine"})),
    ] {
        let answer = site.send(&they, Method::POST, &format!("/v1/executions/{id}/{verb}"), Some(&body)).await;
        assert_eq!(refused(answer).await, (404, "execution_not_found".into()), "{verb}");
    }
    let answer = site.send(&they, Method::DELETE, &format!("/v1/executions/{id}"), None).await;
    assert_eq!(refused(answer).await, (404, "execution_not_found".into()));
    for (verb, mut body) in [
        ("complete", json!({})),
        ("fail", json!({})),
        ("delay", json!({"delay": "1s"})),
        ("unclaim", json!({})),
        ("cancel", json!({})),
        ("progress", json!({})),
    ] {
        body["lease"] = lease.clone();
        let answer = site.send(&they, Method::POST, &format!("/v1/work/{verb}"), Some(&body)).await;
        assert_eq!(refused(answer).await, (404, "execution_not_found".into()), "{verb}");
    }
    // Their own mark on a lease that was made up does not make our execution theirs.
    let they_claim = async || {
        site.send(&they, Method::POST, "/v1/executions", Some(&json!({"kind": "k"}))).await;
        let claimed = site.send(&they, Method::POST, "/v1/work/claim", Some(&json!({"worker": "w"}))).await;
        claimed.json::<Value>().await.unwrap()["executions"][0]["lease"].as_str().unwrap().to_owned()
    };
    let theirs_lease = they_claim().await;
    let made_up = format!("{id}.{}", theirs_lease.split_once('.').unwrap().1);
    let answer = site.send(&they, Method::POST, "/v1/work/complete", Some(&json!({"lease": made_up}))).await;
    assert_eq!(refused(answer).await, (404, "execution_not_found".into()));
    let renewed = site.send(&they, Method::POST, "/v1/work/renew", Some(&json!({"leases": [lease]}))).await;
    assert_eq!(renewed.json::<Value>().await.unwrap()["results"][0]["problem"]["code"], "execution_not_found");
    let found = site.send(&they, Method::GET, "/v1/executions", None).await.json::<Value>().await.unwrap();
    assert_eq!(found["executions"].as_array().unwrap().len(), 1, "their own");
    let active =
        site.send(&they, Method::GET, "/v1/executions?state=active", None).await.json::<Value>().await.unwrap();
    assert_eq!(active["scanned"], 1, "ours is not even counted");
    assert!(!active.to_string().contains(&id), "{active}");
    let events = site.send(&they, Method::GET, "/v1/events", None).await.text().await.unwrap();
    assert!(!events.contains(&id), "{events}");
    places_are_not_shared(&site, (&we, &they), &id).await;
    let done = site.send(&we, Method::POST, "/v1/work/complete", Some(&json!({"lease": lease}))).await;
    assert_eq!(done.status().as_u16(), 200, "nobody has touched it");
    site.drained().await;
}

#[tokio::test]
async fn a_key_or_an_id_of_another_namespace_stands_for_nothing() {
    let site = Site::guarded().await;
    let ((ours, _), (theirs, _)) =
        (site.key(&[Role::Submit], &["ours"]).await, site.key(&[Role::Submit], &["theirs"]).await);
    let (we, they) = (As { key: Some(&ours), namespace: None }, As { key: Some(&theirs), namespace: None });
    let keyed = json!({"kind": "k", "input": 1, "idempotency_key": "order"});
    let chosen = json!({"kind": "k", "input": 1, "uuid": "0192f0c8-0000-7000-8000-000000000001"});
    for body in [keyed, json!({"kind": "k", "unique_key": "one"}), chosen.clone()] {
        let ours = site.send(&we, Method::POST, "/v1/executions", Some(&body)).await.json::<Value>().await.unwrap();
        let theirs = site.send(&they, Method::POST, "/v1/executions?wait=1ms", Some(&body)).await;
        let is_chosen = body == chosen;
        assert_eq!(theirs.status().as_u16(), if is_chosen { 409 } else { 201 }, "{body}");
        let theirs = theirs.json::<Value>().await.unwrap();
        assert!(theirs["id"] != ours["id"] && theirs["execution"]["id"] != ours["id"], "{theirs}");
        assert_eq!(theirs["code"], if is_chosen { json!("execution_exists") } else { Value::Null });
    }
    site.drained().await;
}

#[tokio::test]
async fn keys_are_issued_shown_once_and_revoked() {
    let site = Site::guarded().await;
    let (admin, _) = site.key(&[Role::Admin], &[]).await;
    let ada = As { key: Some(&admin), namespace: None };
    let new = json!({"name": "mailer", "roles": ["work"], "namespaces": ["shop"], "expires_after": "1d"});
    let issued = site.send(&ada, Method::POST, "/v1/keys", Some(&new)).await;
    assert_eq!(issued.status().as_u16(), 201);
    let issued: Value = issued.json().await.unwrap();
    let (key, id) = (issued["key"].as_str().unwrap().to_owned(), issued["info"]["id"].as_str().unwrap().to_owned());
    let claim = json!({"worker": "w"});
    let mailer = As { key: Some(&key), namespace: None };
    assert_eq!(site.send(&mailer, Method::POST, "/v1/work/claim", Some(&claim)).await.status().as_u16(), 200);
    let listed = site.send(&ada, Method::GET, "/v1/keys", None).await.text().await.unwrap();
    let secret = key.rsplit('_').next().unwrap();
    assert!(listed.contains(&id) && !listed.contains(secret) && !listed.contains("hash"), "{listed}");
    let revoked = site.send(&ada, Method::DELETE, &format!("/v1/keys/{id}"), None).await;
    assert!(revoked.json::<Value>().await.unwrap()["revoked_at"].is_u64());
    let answer = site.send(&mailer, Method::POST, "/v1/work/claim", Some(&claim)).await;
    assert_eq!(refused(answer).await, (401, "unauthorized".into()));
    let narrow = json!({"name": "x", "roles": ["admin"], "namespaces": ["shop"]});
    let answer = site.send(&ada, Method::POST, "/v1/keys", Some(&narrow)).await;
    assert_eq!(refused(answer).await, (400, "invalid_argument".into()));
    site.drained().await;
}

/// A door to the network stays shut without keys.
#[tokio::test]
async fn a_server_for_others_needs_keys() {
    let client = onward::Client::open("memory:").await.unwrap();
    let options = onward_server::Options { bind: "0.0.0.0:0".parse().unwrap(), ..Default::default() };
    let refused = onward_server::Server::bind(client.clone(), options).await.unwrap_err();
    assert!(matches!(refused, onward_server::StartError::Open(_)), "{refused}");
    client.shutdown().await.unwrap();
}
