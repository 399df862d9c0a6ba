//! Whether the Valkey store goes on by itself after restarts, failovers, moved slots and a full memory, and never lies.

#![cfg(feature = "valkey")]

mod valkey_kit;

use onward_servers::valkey::{Cluster, Kind, Server};
use onward_servers::{Relay, Signal};
use onward_store::{Batch, Durability, ErrorKind, Key, Outcome, Partition, Partitions, Store, valkey};
use std::sync::Arc;
use valkey_kit::load::{Load, commit, fresh, putting};

async fn open(url: &str) -> Arc<dyn Store> {
    Arc::new(valkey::open(url).await.expect("the store opens"))
}

/// Commits again and again until it works; every failure on the way must be one that passes.
async fn until_committed(store: &dyn Store, name: &str) {
    loop {
        match commit(store, putting(Partition(1), name, None, vec![])).await {
            Ok(Outcome::Committed { .. }) => return,
            // An earlier commit of unknown outcome had happened.
            Ok(Outcome::Conflict { .. }) => return,
            Ok(other) => panic!("{other:?}"),
            Err(error) => assert!(error.is_temporary(), "{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_acknowledged_is_lost_when_the_server_is_killed() {
    let mut server = Server::start(Kind::Valkey, &["--appendfsync", "always"]).expect("a server");
    let store = open(&server.url()).await;
    let load = Load::start(&store, 16);
    for round in 0..3 {
        load.further(200).await;
        if round == 1 { server.stop() } else { server.kill() }.expect("it ends");
        let error = commit(&*store, putting(Partition(1), "away", None, vec![])).await.expect_err("nobody is there");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        server.run().expect("it comes back");
        load.further(200).await;
    }
    let counted = load.finish(&*store).await;
    let (errors, unknown) = counted.iter().fold((0, 0), |sum, one| (sum.0 + one.errors, sum.1 + one.unknown));
    println!("three ends of the server: {errors} failed commits, {unknown} of them of unknown outcome");
    assert!(errors > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hints_go_on_after_a_restart() {
    use futures_util::StreamExt;
    let mut server = Server::start(Kind::Valkey, &["--appendfsync", "always"]).expect("a server");
    let (writer, listener) = (open(&server.url()).await, open(&server.url()).await);
    let mut hints = listener.watch();
    server.restart().expect("it comes back");
    let first = hints.next().await.expect("hints go on");
    assert_eq!(first.partition, None, "something may have been missed");
    let mut batch = putting(Partition(5), "a", None, vec![]);
    batch.wake = vec!["topic".into()];
    while commit(&*writer, batch.clone()).await.is_err() {}
    loop {
        let hint = hints.next().await.expect("hints go on");
        if hint.partition == Some(Partition(5)) {
            assert_eq!(hint.topics, ["topic"]);
            break;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forgotten_scripts_are_loaded_again() {
    let server = Server::start(Kind::Valkey, &[]).expect("a server");
    let store = open(&server.url()).await;
    let load = Load::start(&store, 8);
    for _ in 0..10 {
        load.further(50).await;
        server.ask(&["SCRIPT", "FLUSH"]).expect("an answer");
    }
    load.further(50).await;
    for counted in load.finish(&*store).await {
        assert_eq!(counted.errors, 0, "{counted:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_server_leaves_the_outcome_open() {
    let server = Server::start(Kind::Valkey, &[]).expect("a server");
    let store = open(&server.url()).await;
    server.signal(Signal::STOP).expect("it stops");
    let (commits, loads) = (commit(&*store, putting(Partition(1), "a", None, vec![])), store.load(Partition(1), &[]));
    let error = commits.await.expect_err("nobody answers");
    assert!(error.kind() == ErrorKind::Unavailable && !error.is_unwritten(), "{error}");
    assert_eq!(loads.await.expect("nothing was asked"), []);
    server.signal(Signal::CONT).expect("it goes on");
    until_committed(&*store, "a").await;
    let found = store.load(Partition(1), &[Key::new("a")]).await.expect("it loads").remove(0);
    assert!(found.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_memory_refuses_growth_and_heals() {
    let server = Server::start(Kind::Valkey, &["--maxmemory", "24mb"]).expect("a server");
    let store = open(&server.url()).await;
    let large = |at: usize| putting(Partition(1), &format!("large/{at}"), None, vec![b'x'; 200_000]);
    let mut written = Vec::new();
    let full = loop {
        let batch = large(written.len());
        let id = batch.id;
        match commit(&*store, batch).await {
            Ok(outcome) => assert!(matches!(outcome, Outcome::Committed { .. })),
            Err(error) => break error,
        }
        written.push(id);
    };
    assert!(full.kind() == ErrorKind::Full && full.is_unwritten() && full.is_temporary(), "{full}");
    assert!(written.len() > 20);
    let refused = Key::new(format!("large/{}", written.len()));
    assert_eq!(store.load(Partition(1), &[refused]).await.expect("it loads"), [None]);
    let all = onward_store::IndexName::new("all");
    let count = store.count(&all, &Partitions::All, 10_000).await.expect("it counts").n;
    assert_eq!(count, written.len() as u64, "a refused batch leaves no place");

    // What makes room goes on, also beside what does not.
    let mut making_room = Batch::new(Partition(1), fresh());
    for (at, version) in written.iter().enumerate().take(10) {
        let key = Key::new(format!("large/{at}"));
        making_room.expect.push((key.clone(), Some(*version)));
        making_room.delete.push(key);
    }
    let (room, growth) = tokio::join!(commit(&*store, making_room), commit(&*store, large(written.len())));
    assert!(matches!(room, Ok(Outcome::Committed { .. })), "{room:?}");
    assert!(growth.is_ok() || growth.is_err_and(|error| error.kind() == ErrorKind::Full && error.is_unwritten()));
    until_committed(&*store, "small").await;
    open(&server.url()).await.close().await.expect("a full server can be opened");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_planned_failover_loses_nothing() {
    let cluster = Cluster::start(Kind::Valkey, &[]).expect("a cluster");
    let store = open(&cluster.url()).await;
    let load = Load::start(&store, 32);
    for replica in [3, 4, 0] {
        load.further(300).await;
        cluster.fail_over(replica).expect("it takes over");
        load.further(300).await;
        cluster.settle().expect("it settles");
    }
    let counted = load.finish(&*store).await;
    println!("three failovers: {} failed commits", counted.iter().map(|one| one.errors).sum::<u64>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_primary_is_replaced() {
    let mut cluster = Cluster::start(Kind::Valkey, &[]).expect("a cluster");
    let store = open(&cluster.url()).await;
    for at in 0..64 {
        let batch = putting(Partition(at), &format!("r{at}"), None, vec![]);
        assert!(matches!(commit(&*store, batch).await, Ok(Outcome::Committed { .. })));
    }
    cluster.servers[0].kill().expect("it ends");
    for at in 0..64 {
        let name = format!("later/{at}");
        while let Err(error) = commit(&*store, putting(Partition(at), &name, None, vec![])).await {
            assert!(error.is_temporary(), "{error}");
        }
        let found = store.load(Partition(at), &[Key::new(name)]).await.expect("it loads").remove(0);
        assert!(found.is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slots_may_move_under_load() {
    let cluster = Cluster::start(Kind::Valkey, &[]).expect("a cluster");
    let store = open(&cluster.url()).await;
    let load = Load::start(&store, 32);
    load.further(300).await;
    let moved = move_some_slot(&cluster);
    load.further(300).await;
    let counted = load.finish(&*store).await;
    println!("{moved} keys moved: {} failed commits", counted.iter().map(|one| one.errors).sum::<u64>());
    assert!(moved >= 2, "records and places moved");
}

/// Moves the keys of a slot of the first primary to the second, step by step as an operator's tool does.
fn move_some_slot(cluster: &Cluster) -> usize {
    let (from, to) = (&cluster.servers[0], &cluster.servers[1]);
    let ask = |server: &Server, command: &[&str]| server.ask(command).expect("an answer");
    let (from_id, to_id) = (ask(from, &["CLUSTER", "MYID"]), ask(to, &["CLUSTER", "MYID"]));
    let keys = ask(from, &["KEYS", "onward:{*}:r"]);
    let slot = ask(from, &["CLUSTER", "KEYSLOT", keys.lines().next().expect("a key")]);
    let slot = slot.trim_start_matches(':');
    ask(to, &["CLUSTER", "SETSLOT", slot, "IMPORTING", &from_id]);
    ask(from, &["CLUSTER", "SETSLOT", slot, "MIGRATING", &to_id]);
    let (port, mut moved) = (to.port().to_string(), 0);
    loop {
        let keys = ask(from, &["CLUSTER", "GETKEYSINSLOT", slot, "1"]);
        let Some(key) = keys.lines().next().filter(|key| !key.is_empty() && !key.starts_with('*')) else { break };
        ask(from, &["MIGRATE", "127.0.0.1", &port, key, "0", "5000"]);
        moved += 1;
    }
    for server in [to, from, &cluster.servers[2]] {
        ask(server, &["CLUSTER", "SETSLOT", slot, "NODE", &to_id]);
    }
    moved
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_can_wait_for_replicas() {
    let primary = Server::start(Kind::Valkey, &["--repl-diskless-sync-delay", "0"]).expect("a server");
    let url = format!("{}?wait=1", primary.url());
    let store = open(&url).await;
    let error = commit(&*store, putting(Partition(1), "a", None, vec![])).await.expect_err("there is no replica");
    assert!(error.kind() == ErrorKind::Unavailable && !error.is_unwritten(), "{error}");
    assert_eq!(store.health().await.expect("it serves").durability, Durability::Lazy);
    let port = primary.port().to_string();
    let replica = Server::start(Kind::Valkey, &["--replicaof", "127.0.0.1", &port]).expect("a server");
    while !replica.ask(&["INFO", "replication"]).expect("an answer").contains("master_link_status:up") {
        tokio::task::yield_now().await;
    }
    until_committed(&*store, "b").await;
    assert_eq!(store.health().await.expect("it serves").durability, Durability::Replicated);
    let load = Load::start(&store, 32);
    load.further(500).await;
    for counted in load.finish(&*store).await {
        assert_eq!(counted.errors, 0, "{counted:?}");
    }
    assert_eq!(replica.ask(&["HLEN", "onward:meta"]).expect("an answer"), ":5");
}

/// A commit that did not reach its replica is visible all the same. A check that finds it there, as the repeat of the commit
/// does, must not be acknowledged: a failover undoes it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_waits_for_the_replicas_of_what_it_found() {
    let mut primary = Server::start(Kind::Valkey, &["--repl-diskless-sync-delay", "0"]).expect("a server");
    let relay = Relay::start(primary.port()).expect("a relay");
    let replica =
        Server::start(Kind::Valkey, &["--replicaof", "127.0.0.1", &relay.port().to_string()]).expect("a server");
    while !replica.ask(&["INFO", "replication"]).expect("an answer").contains("master_link_status:up") {
        tokio::task::yield_now().await;
    }
    let url = format!("{}?wait=1", primary.url());
    let (writer, other) = (open(&url).await, open(&url).await);
    let checking = |name: &str, version| {
        let mut batch = Batch::new(Partition(1), fresh());
        batch.expect.push((Key::new(name), Some(version)));
        batch
    };
    let kept = putting(Partition(1), "kept", None, vec![]);
    until_committed(&*writer, "first").await;
    assert!(matches!(commit(&*writer, kept.clone()).await, Ok(Outcome::Committed { .. })));
    for store in [&writer, &other] {
        let checked = commit(&**store, checking("kept", kept.id)).await.expect("a replica has it");
        assert!(matches!(checked, Outcome::Committed { .. }), "{checked:?}");
    }
    relay.cut();
    let lost = putting(Partition(1), "lost", None, vec![]);
    let error = commit(&*writer, lost.clone()).await.expect_err("no replica has it");
    assert!(error.kind() == ErrorKind::Unavailable && !error.is_unwritten(), "{error}");
    for store in [&writer, &other] {
        let found = store.load(Partition(1), &[Key::new("lost")]).await.expect("an answer").remove(0);
        assert_eq!(found.map(|record| record.version), Some(lost.id), "it is there");
        let error = commit(&**store, checking("lost", lost.id)).await.expect_err("and nothing may rest on it");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    }
    primary.kill().expect("it ends");
    drop(relay);
    assert_eq!(replica.ask(&["REPLICAOF", "NO", "ONE"]).expect("an answer"), "+OK");
    let promoted = open(&replica.url()).await;
    let found = promoted.load(Partition(1), &[Key::new("kept"), Key::new("lost")]).await.expect("an answer");
    assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
}
