//! Whether the Postgres store heals by itself, and what it said before was true, whatever happens to the server.

#![cfg(feature = "postgres")]

#[path = "support/postgres.rs"]
mod shared;

use bytes::Bytes;
use futures_util::StreamExt;
use onward_servers::postgres::{Postgres, Shutdown};
use onward_store::postgres::{self, Options};
use onward_store::{
    Batch, Entry, ErrorKind, Found, IndexName, Key, Outcome, Partition, Partitions, Range, Record, Store, Version, Wake,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use tokio::sync::watch;

const CALLERS: u16 = 16;
const KILL: &str = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'onward'";

async fn open(server: &Postgres, schema: &str) -> Arc<dyn Store> {
    let url = format!("{}?schema={schema}&partitions=8", server.url());
    Arc::new(postgres::open(&url, Options::default()).await.expect("the store opens"))
}

fn fresh() -> Version {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Version(u128::from(NEXT.fetch_add(1, Ordering::Relaxed)) | 7 << 100)
}

fn putting(partition: Partition, name: &Key, expected: Option<Version>, number: u64) -> Batch {
    let mut batch = Batch::new(partition, fresh());
    batch.expect.push((name.clone(), expected));
    let body = Bytes::from(number.to_string());
    batch.put.push(Record { key: name.clone(), version: batch.id, body, entries: Vec::new(), due: None });
    batch.events.push(Bytes::from(format!("{name} {number}")));
    batch
}

/// Loads a record again and again until the server is back.
async fn load(store: &dyn Store, partition: Partition, name: &Key) -> Option<Record> {
    loop {
        match store.load(partition, std::slice::from_ref(name)).await {
            Ok(mut found) => return found.remove(0),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}"),
        }
        tokio::task::yield_now().await;
    }
}

fn number(record: Option<&Record>) -> u64 {
    record.map_or(0, |record| std::str::from_utf8(&record.body).expect("text").parse().expect("a number"))
}

/// How many commits were acknowledged so far; it ends with the last caller.
type Progress = watch::Receiver<u64>;

/// Waits, outside of the runtime's own threads, until some further commits were acknowledged.
fn wait_for_more(progress: &mut Progress) {
    let goal = *progress.borrow() + 100;
    let wait = async { progress.wait_for(|done| *done >= goal).await.map(|_| ()) };
    tokio::runtime::Handle::current().block_on(wait).expect("callers go on");
}

/// Counts one record up until told to stop, and holds every answer against what is there afterwards.
async fn count_up(
    store: Arc<dyn Store>,
    caller: u16,
    stop: Arc<AtomicBool>,
    progress: Arc<watch::Sender<u64>>,
) -> (u64, u64) {
    let (partition, name) = (Partition(caller % 8), Key::new(format!("counter/{caller}")));
    let (mut acknowledged, mut failures) = (0, 0);
    let mut now = load(&*store, partition, &name).await;
    // A process of a killed server may live on for a moment and finish a commit behind the back of its caller.
    let mut in_doubt = false;
    while !stop.load(Ordering::Acquire) || acknowledged == 0 {
        let before = number(now.as_ref());
        let batch = putting(partition, &name, now.as_ref().map(|now| now.version), before + 1);
        let id = batch.id;
        match store.commit(vec![batch]).await {
            Ok(outcomes) if in_doubt && matches!(outcomes[0], Outcome::Conflict { .. }) => {
                now = load(&*store, partition, &name).await;
                assert_eq!(number(now.as_ref()), before + 1, "an earlier try was finished");
                in_doubt = false;
            }
            Ok(outcomes) => {
                assert!(matches!(outcomes[0], Outcome::Committed { .. }), "nobody else writes {name}: {outcomes:?}");
                in_doubt = false;
                acknowledged = before + 1;
                progress.send_modify(|done| *done += 1);
                now = load(&*store, partition, &name).await;
                assert_eq!(now.as_ref().map(|now| now.version), Some(id), "what was acknowledged is there");
            }
            Err(error) => {
                assert!(error.is_temporary(), "{error}");
                failures += 1;
                let was_unwritten = error.is_unwritten();
                now = load(&*store, partition, &name).await;
                let after = number(now.as_ref());
                in_doubt |= !was_unwritten;
                assert!(after == before || (after == before + 1 && in_doubt), "{before} became {after}: {error}");
                in_doubt &= after == before;
            }
        }
    }
    (acknowledged, failures)
}

/// Runs callers while `disturb` disturbs the server, then checks everything that they were told.
async fn under_load<T: Send + 'static>(
    store: &Arc<dyn Store>,
    disturb: impl FnOnce(&mut Progress) -> T + Send + 'static,
) -> T {
    let stop = Arc::new(AtomicBool::new(false));
    let (acknowledged, mut progress) = watch::channel(0);
    let acknowledged = Arc::new(acknowledged);
    let counting =
        |caller| tokio::spawn(count_up(Arc::clone(store), caller, Arc::clone(&stop), Arc::clone(&acknowledged)));
    let callers: Vec<_> = (0..CALLERS).map(counting).collect();
    drop(acknowledged);
    let left =
        tokio::task::spawn_blocking(move || disturb(&mut progress)).await.expect("the disturbance does not panic");
    stop.store(true, Ordering::Release);
    let (mut total, mut failed) = (0, 0);
    for (caller, counted) in (0..CALLERS).zip(callers) {
        let (acknowledged, failures) = counted.await.expect("no caller panics");
        let found = load(&**store, Partition(caller % 8), &Key::new(format!("counter/{caller}"))).await;
        assert!(number(found.as_ref()) >= acknowledged, "caller {caller}: {acknowledged} were acknowledged");
        total += acknowledged;
        failed += failures;
    }
    println!("commits acknowledged: {total}, calls that failed: {failed}");
    assert!(total > 0 && failed > 0, "too tame to show anything");
    left
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_connections_lose_nothing() {
    let server = Postgres::start(&[]).expect("Postgres starts");
    let store = open(&server, "storm").await;
    under_load(&store, move |progress| {
        for _ in 0..15 {
            wait_for_more(progress);
            server.sql("postgres", KILL).expect("connections are killed");
        }
        server
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_crashes_under_load_loses_nothing() {
    let mut server = Postgres::start(&[]).expect("Postgres starts");
    let store = open(&server, "crash").await;
    let server = under_load(&store, move |progress| {
        for how in [Shutdown::Immediate, Shutdown::Fast, Shutdown::Immediate] {
            wait_for_more(progress);
            server.restart(how).expect("Postgres starts again");
        }
        server
    })
    .await;
    assert!(store.health().await.is_ok());
    drop(server);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_is_told_at_once_and_work_goes_on_when_it_is_back() {
    let mut server = Postgres::start(&[]).expect("Postgres starts");
    let store = open(&server, "away").await;
    let name = Key::new("a");
    let batch = |now: Option<&Record>| putting(Partition(0), &name, now.map(|now| now.version), number(now) + 1);
    store.commit(vec![batch(None)]).await.expect("the store takes it");
    let now = load(&*store, Partition(0), &name).await;
    server.stop(Shutdown::Fast).expect("Postgres stops");
    for round in 0..20 {
        let error = store.load(Partition(0), std::slice::from_ref(&name)).await.expect_err("nobody is there");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        let error = store.commit(vec![batch(now.as_ref())]).await.expect_err("nobody is there");
        assert!(error.is_temporary() && (round == 0 || error.is_unwritten()), "{error}");
        assert!(store.health().await.is_err());
    }
    server.resume().expect("Postgres starts again");
    let again = load(&*store, Partition(0), &name).await;
    assert_eq!(again, now);
    while let Err(error) = store.commit(vec![batch(again.as_ref())]).await {
        assert!(error.is_temporary() && error.is_unwritten(), "{error}");
        tokio::task::yield_now().await;
    }
    assert_eq!(number(load(&*store, Partition(0), &name).await.as_ref()), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn hints_come_back_after_the_listener_was_killed() {
    let server = Arc::new(Postgres::start(&[]).expect("Postgres starts"));
    let (writer, listener) = (open(&server, "hints").await, open(&server, "hints").await);
    let mut hints = listener.watch();
    server.sql("postgres", KILL).expect("connections are killed");
    hints.next().await.expect("a listener that was away tells everybody to look around");
    let told = Wake { partition: Some(Partition(5)), topics: vec!["topic".to_owned()] };
    let heard = tokio::spawn(async move { while hints.next().await.is_some_and(|hint| hint != told) {} });
    for round in 0.. {
        if heard.is_finished() {
            break;
        }
        let mut batch = putting(Partition(5), &Key::new(format!("k{round}")), None, 1);
        batch.wake = vec!["topic".to_owned()];
        // A connection that was killed fails one commit.
        let _ = writer.commit(vec![batch]).await;
    }
    heard.await.expect("the hint came");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_room_for_connections_is_waited_for() {
    let settings = ["max_connections=4", "superuser_reserved_connections=0", "max_wal_senders=0", "autovacuum=off"];
    let server = Postgres::start(&settings).expect("Postgres starts");
    let first = open(&server, "room").await;
    let second = open(&server, "room").await;
    let name = Key::new("a");
    // Two listeners, a writer and a reader fill the server, as soon as it has forgotten those that made the schema.
    while first.commit(vec![putting(Partition(0), &name, None, 1)]).await.is_err() {
        tokio::task::yield_now().await;
    }
    let now = load(&*first, Partition(0), &name).await;
    let batch = || putting(Partition(0), &name, now.as_ref().map(|now| now.version), 2);
    let error = second.commit(vec![batch()]).await.expect_err("there is no room");
    assert!(error.kind() == ErrorKind::Unavailable && error.is_unwritten(), "{error}");
    first.close().await.expect("it closes");
    while let Err(error) = second.commit(vec![batch()]).await {
        assert!(error.kind() == ErrorKind::Unavailable && error.is_unwritten(), "{error}");
        tokio::task::yield_now().await;
    }
    assert_eq!(number(load(&*second, Partition(0), &name).await.as_ref()), 2);
}

/// Settings are looked at when a connection is made, but they can change later.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_committed_while_commits_could_be_lost() {
    let server = Postgres::start(&[]).expect("Postgres starts");
    let store = open(&server, "careless").await;
    let set = |value: &str| {
        server.sql("postgres", &format!("ALTER SYSTEM SET synchronous_commit = {value}")).expect("it is set");
        server.sql("postgres", "SELECT pg_reload_conf()").expect("it is read");
    };
    let mut round = 0;
    let mut commit = async || {
        round += 1;
        store.commit(vec![putting(Partition(0), &Key::new(format!("k{round}")), None, 1)]).await
    };
    commit().await.expect("the store takes it");
    set("off");
    // The server passes a setting on when it gets to it.
    let error = loop {
        if let Err(error) = commit().await {
            break error;
        }
    };
    assert!(error.kind() == ErrorKind::Unsuitable && error.is_unwritten(), "{error}");
    assert!(error.to_string().contains("turn both on"), "{error}");
    set("on");
    while commit().await.is_err() {
        tokio::task::yield_now().await;
    }
}

/// Different partitions have different locks, so only the table itself can tell.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_made_in_two_partitions_at_once_lives_in_one() {
    let (server, schema) = (shared::server(), shared::schema());
    let stores = [open(&server, &schema).await, open(&server, &schema).await];
    for round in 0..40 {
        let name = Key::new(format!("k{round}"));
        let commit = |at: usize| {
            let partition = Partition(u16::try_from(at).expect("small"));
            stores[at].commit(vec![putting(partition, &name, None, 1)])
        };
        let (first, second) = tokio::join!(commit(0), commit(1));
        let error = match (first, second) {
            (Ok(_), Err(error)) | (Err(error), Ok(_)) => error,
            other => panic!("one of them must win: {other:?}"),
        };
        assert!(error.kind() == ErrorKind::Invalid && error.is_unwritten(), "{error}");
    }
}

/// Groups that cross all partitions in any order, from several processes, never wait for each other in a circle.
#[tokio::test(flavor = "multi_thread")]
async fn groups_across_partitions_do_not_deadlock() {
    let (server, schema) = (shared::server(), shared::schema());
    let mut tasks = Vec::new();
    for at in 0..4_u16 {
        let store = open(&server, &schema).await;
        tasks.push(tokio::spawn(async move {
            for round in 0..30 {
                let order = (0..8_u16).map(|partition| if at % 2 == 0 { partition } else { 7 - partition });
                let group =
                    order.map(|p| putting(Partition(p), &Key::new(format!("{at}/{round}/{p}")), None, 1)).collect();
                let outcomes: Vec<Outcome> = store.commit(group).await.expect("the store takes it");
                assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Committed { .. })), "{outcomes:?}");
            }
            assert_eq!(store.stats().batches, 240);
        }));
    }
    for task in tasks {
        task.await.expect("no task panics");
    }
    let waits = "SELECT deadlocks FROM pg_stat_database WHERE datname = 'postgres'";
    assert_eq!(server.sql("postgres", waits).unwrap(), "0");
}

/// A batch that lists a record under one rank of an index and as its due time.
fn listing(name: &Key, expected: Option<Version>, rank: u64) -> Batch {
    let mut batch = putting(Partition(1), name, expected, rank);
    batch.put[0].entries = vec![Entry { name: IndexName::new("list"), rank }];
    batch.put[0].due = Some(rank);
    batch
}

async fn commit(store: &dyn Store, batch: Batch) -> Version {
    let id = batch.id;
    let outcomes = store.commit(vec![batch]).await.expect("the store commits");
    assert!(matches!(outcomes[0], Outcome::Committed { .. }), "{outcomes:?}");
    id
}

/// The ranks under which records are listed, and their due times.
async fn listed(store: &dyn Store) -> (Vec<u64>, Vec<u64>) {
    let page = store.scan(&IndexName::new("list"), &Partitions::All, Range::default(), 100).await.expect("scanned");
    let due = store.due(&Partitions::All, Range::default(), 100).await.expect("read");
    let ranks = |found: Vec<Found>| found.into_iter().map(|found| found.rank).collect();
    (ranks(page.items), ranks(due.items))
}

#[tokio::test]
async fn a_process_that_never_saw_a_record_replaces_its_places() {
    let server = shared::server();
    let schema = shared::schema();
    let (one, other) = (open(&server, &schema).await, open(&server, &schema).await);
    let name = Key::new("record");
    let first = commit(&*one, listing(&name, None, 5)).await;
    let second = commit(&*other, listing(&name, Some(first), 6)).await;
    assert_eq!(listed(&*one).await, (vec![6], vec![6]));
    // What the first one knows is of an older version, which must not count.
    let third = commit(&*one, listing(&name, Some(second), 7)).await;
    assert_eq!(listed(&*one).await, (vec![7], vec![7]));
    let stale = one.commit(vec![listing(&name, Some(first), 8)]).await.expect("answered");
    assert!(matches!(&stale[0], Outcome::Conflict { current, .. } if current[0].1.as_ref().unwrap().version == third));
    let mut gone = Batch::new(Partition(1), fresh());
    gone.expect.push((name.clone(), Some(third)));
    gone.delete.push(name);
    commit(&*other, gone).await;
    assert_eq!(listed(&*one).await, (vec![], vec![]));
}

#[tokio::test]
async fn a_row_that_should_not_be_there_stops_no_commit() {
    let server = shared::server();
    let schema = shared::schema();
    let store = open(&server, &schema).await;
    let stray = format!(
        "INSERT INTO {schema}.entries(name, rank, key, partition) \
         VALUES ('list', (-9223372036854775808)::bigint + 5, 'record', 3)"
    );
    server.sql("postgres", &stray).expect("damaged");
    let name = Key::new("record");
    let first = commit(&*store, listing(&name, None, 5)).await;
    assert_eq!(listed(&*store).await, (vec![5], vec![5]));
    commit(&*store, listing(&name, Some(first), 6)).await;
    assert_eq!(listed(&*store).await, (vec![6], vec![6]), "the row became the record's own");
}

/// A commit whose wait for the standby was cancelled is visible all the same, and a repeat that finds it writes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_waits_for_the_standby_of_what_it_found() {
    let server = Postgres::start(&[]).expect("a server");
    let store = open(&server, "waits").await;
    let sql = |statement: &str| server.sql("postgres", statement).expect("an answer");
    let set_standby = |name: &str| {
        sql(&format!("ALTER SYSTEM SET synchronous_standby_names = '{name}'"));
        sql("SELECT pg_reload_conf()");
        while sql("SHOW synchronous_standby_names") != name {}
    };
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let key = Key::new("a");
    let batch = putting(Partition(1), &key, None, 1);
    let mut checks = Batch::new(Partition(1), fresh());
    checks.expect.push((key.clone(), Some(batch.id)));
    set_standby("nobody");
    let writes = tokio::spawn({
        let store = store.clone();
        async move { store.commit(vec![batch]).await }
    });
    while sql(waiting) != "1" {}
    sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
    let error = writes.await.expect("it ends").expect_err("its outcome is unknown");
    assert!(!error.is_unwritten(), "{error}");
    assert_eq!(number(load(&*store, Partition(1), &key).await.as_ref()), 1, "it is there");
    let check = tokio::spawn({
        let store = store.clone();
        async move { store.commit(vec![checks]).await }
    });
    while sql(waiting) != "1" {
        assert!(!check.is_finished(), "it does not rest on what no standby has: {:?}", check.await);
    }
    set_standby("");
    let outcomes = check.await.expect("it ends").expect("nothing is to be waited for any more");
    assert!(matches!(outcomes[..], [Outcome::Committed { .. }]), "{outcomes:?}");
}
