//! Whether a Postgres server, database or schema that cannot serve is refused with a reason, and others can share one.

#![cfg(feature = "postgres")]

#[path = "support/postgres.rs"]
mod shared;

use bytes::Bytes;
use onward_servers::postgres::{PASSWORD, Postgres, Shutdown, USER};
use onward_store::postgres::{self, Options};
use onward_store::{Batch, Durability, ErrorKind, Home, Key, Partition, Record, Store, Version};

const P: Partition = Partition(1);

async fn open(url: &str) -> postgres::Postgres {
    postgres::open(url, Options::default()).await.expect("the store opens")
}

/// Opens what cannot be opened, and checks that the sentence says why and what to do.
async fn refused(url: &str, kind: ErrorKind, words: &[&str]) {
    let error = postgres::open(url, Options::default()).await.expect_err("it cannot be opened");
    let text = error.to_string();
    assert_eq!(error.kind(), kind, "{text}");
    assert!(error.is_unwritten(), "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is missing: {text}");
    }
    assert!(!text.contains(PASSWORD), "{text}");
}

async fn put(store: &dyn Store, name: &str, body: &str, id: u128) {
    let mut batch = Batch::new(P, Version(id));
    batch.expect.push((Key::new(name), None));
    let body = Bytes::copy_from_slice(body.as_bytes());
    batch.put.push(Record { key: Key::new(name), version: batch.id, body, entries: Vec::new(), due: None });
    batch.events.push(Bytes::from("event"));
    store.commit(vec![batch]).await.expect("the store takes it");
}

async fn body(store: &dyn Store, name: &str) -> Option<Bytes> {
    store.load(P, &[Key::new(name)]).await.expect("the store loads").remove(0).map(|record| record.body)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_would_lose_commits_is_refused() {
    for setting in ["fsync", "synchronous_commit", "full_page_writes"] {
        let server = Postgres::start(&[&format!("{setting}=off")]).expect("Postgres starts");
        refused(&server.url(), ErrorKind::Unsuitable, &[setting, "turn it on"]).await;
        assert_eq!(server.sql("postgres", "SELECT count(*) FROM pg_namespace WHERE nspname = 'onward'").unwrap(), "0");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_loses_commits_is_refused() {
    let server = shared::server();
    let make = "CREATE ROLE careless LOGIN SUPERUSER PASSWORD 'x'; ALTER ROLE careless SET synchronous_commit = off";
    server.sql("postgres", make).unwrap();
    refused(&server.url_of("careless", "x", "postgres"), ErrorKind::Unsuitable, &["synchronous_commit"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_login_or_database_is_refused() {
    let server = shared::server();
    refused(&server.url_of(USER, "wrong", "postgres"), ErrorKind::Unsuitable, &["password", "check"]).await;
    refused(&server.url_of("nobody", "x", "postgres"), ErrorKind::Unsuitable, &["nobody", "check"]).await;
    refused(&server.url_of(USER, PASSWORD, "missing"), ErrorKind::Unsuitable, &["missing", "CREATE DATABASE"]).await;
    server.sql("postgres", "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0").unwrap();
    refused(&server.url_of(USER, PASSWORD, "latin"), ErrorKind::Unsuitable, &["LATIN1", "UTF8"]).await;
    let port = onward_servers::free_port().expect("a port");
    let nobody = format!("postgres://me:x@127.0.0.1:{port}/db");
    refused(&nobody, ErrorKind::Unavailable, &["cannot be reached"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_not_write_is_refused() {
    let (server, schema) = (shared::server(), shared::schema());
    server.sql("postgres", "CREATE ROLE reader LOGIN PASSWORD 'x'").unwrap();
    let url = |user: &str, password: &str| format!("{}?schema={schema}", server.url_of(user, password, "postgres"));
    refused(&url("reader", "x"), ErrorKind::ReadOnly, &["permission denied", "GRANT CREATE"]).await;
    drop(open(&url(USER, PASSWORD)).await);
    refused(&url("reader", "x"), ErrorKind::ReadOnly, &["may not write", "GRANT"]).await;
    let grant = format!(
        "GRANT USAGE ON SCHEMA {schema} TO reader; \
         GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO reader; \
         GRANT USAGE, UPDATE ON ALL SEQUENCES IN SCHEMA {schema} TO reader"
    );
    server.sql("postgres", &grant).unwrap();
    let store = open(&url("reader", "x")).await;
    put(&store, "a", "1", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_of_others_is_refused() {
    let (server, schema) = (shared::server(), shared::schema());
    let url = format!("{}?schema={schema}", server.url());
    server.sql("postgres", &format!("CREATE SCHEMA {schema}; CREATE TABLE {schema}.theirs(n int)")).unwrap();
    refused(&url, ErrorKind::Foreign, &["another program", "?schema="]).await;
    server.sql("postgres", &format!("CREATE TABLE {schema}.meta(n int)")).unwrap();
    let error = postgres::open(&url, Options::default()).await.expect_err("it is not ours");
    assert!(!error.is_temporary(), "{error}");
    server.sql("postgres", &format!("DROP TABLE {schema}.meta, {schema}.theirs")).unwrap();
    drop(open(&url).await);
    server.sql("postgres", &format!("UPDATE {schema}.meta SET value = 99 WHERE name = 'layout'")).unwrap();
    refused(&url, ErrorKind::Newer, &["newer version", "upgrade"]).await;
    server.sql("postgres", &format!("UPDATE {schema}.meta SET value = 1 WHERE name = 'layout'")).unwrap();
    refused(&url, ErrorKind::Older, &["earlier version", "new store"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_partitions_is_fixed() {
    let (server, schema) = (shared::server(), shared::schema());
    let url = format!("{}?schema={schema}", server.url());
    assert_eq!(open(&format!("{url}&partitions=7")).await.meta().partitions, 7);
    assert_eq!(open(&url).await.meta().partitions, 7);
    refused(&format!("{url}&partitions=8"), ErrorKind::Unsuitable, &["7 partitions", "fixed"]).await;
    let fresh = format!("{}?schema={}", server.url(), shared::schema());
    assert_eq!(open(&fresh).await.meta().partitions, 64);
}

#[tokio::test(flavor = "multi_thread")]
async fn schemas_of_one_database_do_not_meet() {
    let server = shared::server();
    let url = |schema: &str| format!("{}?schema={schema}", server.url());
    let (first, second) = (open(&url(&shared::schema())).await, open(&url(&shared::schema())).await);
    assert_ne!(first.meta().store_id, second.meta().store_id);
    put(&first, "a", "first", 1).await;
    put(&second, "a", "second", 1).await;
    assert_eq!(body(&first, "a").await, Some(Bytes::from("first")));
    assert_eq!(body(&second, "a").await, Some(Bytes::from("second")));
    assert_eq!(*first.home().borrow(), Home::ByMembership);
    assert_eq!(first.health().await.expect("it serves").durability, Durability::Disk);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_processes_can_make_one_store() {
    let (server, schema) = (shared::server(), shared::schema());
    let url = format!("{}?schema={schema}", server.url());
    let opening: Vec<_> = (0..6)
        .map(|_| {
            tokio::spawn({
                let url = url.clone();
                async move { open(&url).await }
            })
        })
        .collect();
    let mut ids = Vec::new();
    for store in opening {
        ids.push(store.await.expect("no panic").meta().store_id);
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn sql_users_get_views() {
    let (server, schema) = (shared::server(), shared::schema());
    let url = format!("{}?schema={schema}", server.url());
    let with = |views| Options { views, ..Options::default() };
    let views: &[(&str, &str)] = &[("bodies", "SELECT key, body_json(body)->>'n' AS n FROM records")];
    let store = postgres::open(&url, with(views)).await.expect("it opens");
    put(&store, "a", r#"{"n":1}"#, 1).await;
    put(&store, "b", "no JSON", 2).await;
    let look = format!("SELECT * FROM {schema}.bodies ORDER BY key");
    assert_eq!(server.sql("postgres", &look).unwrap(), "a|1\nb|");
    let views: &[(&str, &str)] = &[("bodies", "SELECT key FROM records"), ("events", "SELECT * FROM feed")];
    for _ in 0..2 {
        let again = postgres::open(&url, with(views)).await.expect("it opens with other views");
        assert_eq!(server.sql("postgres", &look).unwrap(), "a\nb");
        again.close().await.expect("it closes");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_of_both_keeps_everything() {
    let mut server = Postgres::start(&[]).expect("Postgres starts");
    let store = open(&server.url()).await;
    let meta = store.meta();
    put(&store, "a", "1", 1).await;
    store.close().await.expect("it closes");
    server.restart(Shutdown::Immediate).expect("Postgres starts again");
    let store = open(&server.url()).await;
    assert_eq!(store.meta(), meta);
    assert_eq!(body(&store, "a").await, Some(Bytes::from("1")));
}
