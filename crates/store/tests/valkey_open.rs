//! Which servers and prefixes the Valkey store refuses, what it says, and that stores side by side do not meet.

#![cfg(feature = "valkey")]

mod valkey_kit;

use onward_servers::valkey::{Cluster, Kind, Server};
use onward_servers::{free_port, program};
use onward_store::conformance::Subject;
use onward_store::{Durability, ErrorKind, IndexName, Key, Outcome, Partition, Partitions, Range, Store, valkey};
use std::process::Command;
use std::sync::OnceLock;
use valkey_kit::load::{commit, putting};
use valkey_kit::{Prefix, fresh_url};

/// All that a user must be allowed to do, beside the keys and channels of the prefix.
const LEAST: &str = "+hello +auth +select +client|setinfo +asking +info +cluster|slots +script|load +evalsha +time +type \
    +hset +hget +hgetall +hmget +hdel +hscan +zadd +zcard +zscore +zlexcount +zrange +zrem +zremrangebylex +xadd +xrange \
    +xrevrange +xtrim +unlink +wait +spublish +ssubscribe";

fn shared() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start(Kind::Valkey, &[]).expect("a server"))
}

/// The refusal, which must be of this kind and say these words.
async fn refused(url: &str, kind: ErrorKind, words: &[&str]) {
    let error = valkey::open(url).await.expect_err("this is refused");
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.is_unwritten());
    for word in words {
        assert!(error.to_string().contains(word), "{word:?} is not in: {error}");
    }
}

#[tokio::test]
async fn nobody_listening_is_unavailable() {
    let url = format!("valkey://127.0.0.1:{}", free_port().expect("a port"));
    refused(&url, ErrorKind::Unavailable, &["cannot be reached", "is the server running?"]).await;
    refused("nonsense", ErrorKind::Invalid, &["valkey://"]).await;
}

#[tokio::test]
async fn passwords_and_privileges_are_checked() {
    let server = Server::start(Kind::Valkey, &[]).expect("a server");
    let rules: [&[&str]; 4] = [
        &["me", "on", ">secret", "~*", "&*", "+@all"],
        &["reader", "on", ">secret", "~*", "&*", "+@all", "-@write"],
        &["elsewhere", "on", ">secret", "~other:*", "&*", "+@all"],
        &["deaf", "on", ">secret", "~*", "resetchannels", "+@all"],
    ];
    for rule in rules {
        let command: Vec<&str> = ["ACL", "SETUSER"].iter().chain(rule).copied().collect();
        assert_eq!(server.ask(&command).expect("an answer"), "+OK");
    }
    let all: Vec<&str> = ["ACL", "SETUSER", "least", "on", ">secret", "~onward:*", "&onward:*"].into();
    let all: Vec<&str> = all.into_iter().chain(LEAST.split(' ')).collect();
    assert_eq!(server.ask(&all).expect("an answer"), "+OK");
    let url = |user: &str, password: &str| format!("valkey://{user}:{password}@127.0.0.1:{}", server.port());
    let store = valkey::open(&url("least", "secret")).await.expect("what is listed is enough");
    assert!(matches!(commit(&store, putting(Partition(1), "a", None, vec![])).await, Ok(Outcome::Committed { .. })));
    assert_eq!(store.health().await.expect("it serves").durability, Durability::Lazy);
    assert_eq!(store.audit(None, 9).await.expect("it audits").records.len(), 1);
    let store = valkey::open(&url("me", "secret")).await.expect("the right password opens the store");
    assert!(!format!("{store:?}").contains("secret"));
    refused(&url("me", "wrong"), ErrorKind::Unsuitable, &["refused the user or the password", "user:password@host"])
        .await;
    for user in ["reader", "elsewhere", "deaf"] {
        refused(&url(user, "secret"), ErrorKind::Unsuitable, &["does not let this user", "ACL"]).await;
    }
    server.ask(&["CONFIG", "SET", "requirepass", "secret"]).expect("an answer");
    refused(&server.url(), ErrorKind::Unsuitable, &["refused the user or the password"]).await;
    let store =
        valkey::open(&format!("redis://:secret@127.0.0.1:{}", server.port())).await.expect("a password is enough");
    store.health().await.expect("it serves");
}

#[tokio::test]
async fn a_server_that_throws_keys_away_is_refused() {
    let server = Server::start(Kind::Valkey, &["--maxmemory-policy", "allkeys-lru"]).expect("a server");
    refused(&server.url(), ErrorKind::Unsuitable, &["maxmemory-policy allkeys-lru", "noeviction"]).await;
}

#[tokio::test]
async fn a_replica_alone_is_refused() {
    let primary = shared().port().to_string();
    let replica = Server::start(Kind::Valkey, &["--replicaof", "127.0.0.1", &primary]).expect("a server");
    refused(&replica.url(), ErrorKind::ReadOnly, &["is a replica", "name its primary"]).await;
}

#[tokio::test]
async fn a_cluster_must_be_complete() {
    let lone = Server::start_for_cluster(Kind::Valkey, &[]).expect("a server");
    refused(&lone.url(), ErrorKind::Unavailable, &["0 of its 16384 slots", "--cluster fix"]).await;
    lone.ask(&["CLUSTER", "ADDSLOTSRANGE", "0", "8191"]).expect("an answer");
    refused(&lone.url(), ErrorKind::Unavailable, &["8192 of its 16384 slots"]).await;
    refused(&format!("{}?cluster=true", shared().url()), ErrorKind::Unsuitable, &["is not part of a cluster"]).await;
}

#[tokio::test]
async fn a_cluster_is_recognised_by_one_server() {
    let cluster = Cluster::start(Kind::Redis, &[]).expect("a cluster of Redis servers");
    let store = Prefix::fresh(&cluster.servers[1].url()).open().await;
    assert_eq!(store.health().await.expect("it serves").durability, Durability::Lazy);
    assert!(matches!(commit(&*store, putting(Partition(1), "a", None, vec![])).await, Ok(Outcome::Committed { .. })));
}

#[tokio::test]
async fn other_layouts_programs_and_partition_counts_are_refused() {
    let server = shared();
    let url = fresh_url(&server.url());
    let prefix = url.rsplit('=').next().expect("a prefix");
    let meta = format!("{prefix}:meta");
    let store = valkey::open(&format!("{url}&partitions=8")).await.expect("the store opens");
    assert_eq!(store.meta().partitions, 8);
    refused(&format!("{url}&partitions=16"), ErrorKind::Unsuitable, &["made with 8 partitions, not 16"]).await;
    assert_eq!(valkey::open(&url).await.expect("the store opens").meta(), store.meta(), "the count can be left out");
    server.ask(&["HSET", &meta, "layout", "99"]).expect("an answer");
    refused(&url, ErrorKind::Newer, &["newer version", "upgrade"]).await;
    server.ask(&["HSET", &meta, "layout", "1"]).expect("an answer");
    refused(&url, ErrorKind::Older, &["earlier version", "new store"]).await;
    server.ask(&["HSET", &meta, "layout", "much"]).expect("an answer");
    refused(&url, ErrorKind::Corrupt, &["restore"]).await;
    server.ask(&["HSET", &meta, "kind", "something"]).expect("an answer");
    refused(&url, ErrorKind::Foreign, &["belongs to another program", "another prefix"]).await;
    server.ask(&["DEL", &meta]).expect("an answer");
    server.ask(&["SET", &meta, "1"]).expect("an answer");
    refused(&url, ErrorKind::Foreign, &["belongs to another program"]).await;
}

#[tokio::test]
async fn stores_with_different_prefixes_or_databases_do_not_meet() {
    let server = shared();
    let first = fresh_url(&server.url());
    let second = fresh_url(&server.url());
    let third = first.replace('?', "/3?");
    let mut stores = Vec::new();
    for url in [&first, &second, &third] {
        stores.push(valkey::open(url).await.expect("the store opens"));
    }
    for (at, store) in stores.iter().enumerate() {
        let batch = putting(Partition(9), "same", None, vec![u8::try_from(at).expect("small")]);
        assert!(matches!(commit(store, batch).await, Ok(Outcome::Committed { .. })));
    }
    for (at, store) in stores.iter().enumerate() {
        let found = store.load(Partition(9), &[Key::new("same")]).await.expect("it loads").remove(0);
        assert_eq!(found.expect("it was put").body[0], u8::try_from(at).expect("small"));
        let page = store.scan(&IndexName::new("all"), &Partitions::All, Range::default(), 9).await.expect("it scans");
        assert_eq!(page.items.len(), 1);
    }
    assert_ne!(stores[0].meta().store_id, stores[1].meta().store_id);
    assert_ne!(stores[0].meta().store_id, stores[2].meta().store_id);
}

#[tokio::test]
async fn durability_is_what_the_server_does() {
    let server = Server::start(Kind::Valkey, &[]).expect("a server");
    let store = valkey::open(&server.url()).await.expect("the store opens");
    for (setting, value, durability) in [
        ("appendfsync", "everysec", Durability::Lazy),
        ("appendfsync", "always", Durability::Disk),
        ("appendfsync", "no", Durability::Lazy),
        ("appendonly", "no", Durability::Memory),
    ] {
        server.ask(&["CONFIG", "SET", setting, value]).expect("an answer");
        let health = store.health().await.expect("it serves");
        assert_eq!(health.durability, durability, "{setting} {value}: {}", health.detail);
    }
}

/// The certificates that a client trusts come from its environment, so the client is this test in another process.
#[tokio::test]
async fn a_server_is_reached_over_tls() {
    const CHILD: &str = "ONWARD_TEST_TLS_ADDRESS";
    if let Ok(address) = std::env::var(CHILD) {
        let store = valkey::open(&address).await.expect("the store opens over TLS");
        assert!(matches!(
            commit(&store, putting(Partition(1), "a", None, vec![])).await,
            Ok(Outcome::Committed { .. })
        ));
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (key, certificate) = (file("key"), file("certificate"));
    let wishes = "[req]\ndistinguished_name=name\nx509_extensions=more\n[name]\n[more]\n\
        subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n";
    std::fs::write(file("wishes"), wishes).expect("a file");
    let made = Command::new(program("openssl").expect("openssl"))
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-config", &file("wishes"), "-keyout", &key, "-out", &certificate])
        .output()
        .expect("openssl runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let tls = free_port().expect("a port").to_string();
    let settings =
        ["--tls-port", &tls, "--tls-cert-file", &certificate, "--tls-key-file", &key, "--tls-auth-clients", "no"];
    let all: Vec<&str> = settings.iter().chain(&["--tls-ca-cert-file", &certificate]).copied().collect();
    let _server = Server::start(Kind::Valkey, &all).expect("a server");
    let address = format!("valkeys://localhost:{tls}");
    let client = |trusted: &str| {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["a_server_is_reached_over_tls", "--exact"]).env(CHILD, &address).env("SSL_CERT_FILE", trusted);
        command.output().expect("it runs")
    };
    let output = client(&certificate);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let strangers = file("strangers");
    std::fs::write(&strangers, "").expect("a file");
    assert!(!client(&strangers).status.success(), "a certificate that nobody vouches for is refused");
}
