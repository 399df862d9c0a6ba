//! What only a store in a file can get wrong: what it refuses to open, what the shell sees, and who owns it.

#![cfg(feature = "sqlite")]

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use onward_store::sqlite::{self, Options, Sqlite};
use onward_store::{Batch, Error, ErrorKind, Home, Key, Outcome, Partition, Record, Store, Version};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

fn place() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().expect("a directory");
    let database = place.path().join("test.db");
    (place, database)
}

async fn open(path: &Path) -> Sqlite {
    sqlite::open(path, Options::default()).await.expect("the store opens")
}

async fn refused(path: &Path, options: Options) -> Error {
    let error = sqlite::open(path, options).await.expect_err("the store must not open");
    assert!(error.is_unwritten(), "{error}");
    error
}

/// Puts a record that must not be there yet.
async fn put(store: &dyn Store, name: &str, body: impl Into<Bytes>) -> onward_store::Result<Vec<Outcome>> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let id = Version(u128::from(NEXT.fetch_add(1, Ordering::Relaxed)));
    let mut batch = Batch::new(Partition(0), id);
    batch.expect.push((Key::new(name), None));
    let (key, entries) = (Key::new(name), Vec::new());
    batch.put.push(Record { key, version: id, body: body.into(), entries, due: None });
    store.commit(vec![batch]).await
}

#[allow(clippy::disallowed_methods)]
async fn pause(milliseconds: u64) {
    // not synchronisation: nothing is to happen in this time, and that can only be waited for.
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

#[allow(clippy::disallowed_methods)] // Other handles move in real time only.
async fn within_seconds<F: Future>(seconds: u64, future: F) -> F::Output {
    tokio::time::timeout(Duration::from_secs(seconds), future).await.expect("it happens in time")
}

/// Every file of a directory with its content.
fn contents(place: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let files = std::fs::read_dir(place).expect("the directory is there").map(|file| file.expect("a file"));
    let mut files: Vec<_> =
        files.map(|file| (file.file_name(), std::fs::read(file.path()).expect("its bytes"))).collect();
    files.sort();
    files
}

#[tokio::test]
async fn files_of_others_are_refused_and_left_alone() {
    let cases: [(&str, &str); 4] = [
        ("plain", ""),
        ("with tables", "CREATE TABLE t(x); INSERT INTO t VALUES (1);"),
        ("of an application", "PRAGMA application_id=77; CREATE TABLE t(x);"),
        ("in use with a WAL", "PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES (1);"),
    ];
    for (what, sql) in cases {
        let (place, database) = place();
        let mut other = None;
        if sql.is_empty() {
            std::fs::write(&database, "this is a shopping list, longer than the header of a database ".repeat(20))
                .expect("written");
        } else {
            let conn = rusqlite::Connection::open(&database).expect("another program's database");
            conn.execute_batch(sql).expect("its tables");
            other = Some(conn);
        }
        let before = contents(place.path());
        let error = refused(&database, Options::default()).await;
        assert_eq!(error.kind(), ErrorKind::Foreign, "{what}: {error}");
        assert!(error.to_string().contains("choose another path"), "{what}: {error}");
        assert_eq!(contents(place.path()), before, "{what}");
        drop(other);
    }
}

#[tokio::test]
async fn a_database_of_another_layout_is_refused_and_left_alone() {
    for (layout, kind, hint) in [(99, ErrorKind::Newer, "upgrade"), (1, ErrorKind::Older, "new store")] {
        let (place, database) = place();
        open(&database).await.close().await.expect("the store closes");
        let conn = rusqlite::Connection::open(&database).expect("the file opens");
        conn.execute_batch(&format!("PRAGMA user_version={layout}")).expect("the layout is changed");
        conn.close().expect("the file closes");
        let before = contents(place.path());
        let error = refused(&database, Options::default()).await;
        assert_eq!(error.kind(), kind, "{error}");
        let layout = format!("layout {layout}");
        assert!(error.to_string().contains(&layout) && error.to_string().contains(hint), "{error}");
        assert_eq!(contents(place.path()), before);
    }
}

#[tokio::test]
async fn the_number_of_partitions_is_fixed() {
    let (_place, database) = place();
    let asking = |partitions| Options { partitions, ..Options::default() };
    let store = sqlite::open(&database, asking(Some(8))).await.expect("a new store has as many as asked");
    assert_eq!(store.meta().partitions, 8);
    let error = refused(&database, asking(Some(16))).await;
    assert_eq!(error.kind(), ErrorKind::Unsuitable);
    assert!(error.to_string().contains("8 partitions, not 16"), "{error}");
    for partitions in [None, Some(8)] {
        let same = sqlite::open(&database, asking(partitions)).await.expect("the number fits");
        assert_eq!(same.meta(), store.meta());
    }
    for partitions in [0, onward_store::limits::PARTITIONS_MAX + 1] {
        let elsewhere = database.with_extension("other");
        assert_eq!(refused(&elsewhere, asking(Some(partitions))).await.kind(), ErrorKind::Invalid);
        assert!(!elsewhere.exists());
    }
    let fresh = open(&database.with_extension("fresh")).await;
    assert_eq!(fresh.meta().partitions, sqlite::PARTITIONS_DEFAULT);
    assert_ne!(fresh.meta().store_id, store.meta().store_id);
}

#[tokio::test]
async fn a_missing_directory_is_named_with_a_hint() {
    let (place, _) = place();
    let error = refused(&place.path().join("not/there.db"), Options::default()).await;
    assert_eq!(error.kind(), ErrorKind::Unsuitable);
    assert!(error.to_string().contains("mkdir -p"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_may_make_the_same_store_at_once() {
    for round in 0..5 {
        let (_place, database) = place();
        let opening: Vec<_> =
            (0..8).map(|_| tokio::spawn(sqlite::open(database.clone(), Options::default()))).collect();
        let mut stores = Vec::new();
        for store in opening {
            stores.push(store.await.expect("no panic").unwrap_or_else(|error| panic!("round {round}: {error}")));
        }
        assert!(stores.iter().all(|store| store.meta() == stores[0].meta()), "it is one store");
        let owners = stores.iter().filter(|store| *store.home().borrow() == Home::Everywhere).count();
        assert_eq!(owners, 1);
    }
}

#[tokio::test]
async fn every_name_of_a_file_leads_to_the_same_store() {
    let (place, database) = place();
    let link = place.path().join("link.db");
    let (first, _) = (open(&database).await, std::os::unix::fs::symlink(&database, &link).expect("a link"));
    let second = open(&link).await;
    assert_eq!(first.meta(), second.meta());
    assert_eq!((*first.home().borrow(), *second.home().borrow()), (Home::Everywhere, Home::Nowhere));
    put(&second, "through the link", "1").await.expect("committed");
    let found = first.load(Partition(0), &[Key::new("through the link")]).await.expect("the store loads");
    assert!(found[0].is_some());
    for odd in [":memory:", "file:x?mode=memory", "with space?and#signs%20"] {
        let path = place.path().join(odd);
        open(&path).await.close().await.expect("it closes");
        assert!(path.exists(), "{odd} is a file like any other");
    }
    assert_eq!(refused(Path::new(""), Options::default()).await.kind(), ErrorKind::Unsuitable);
}

#[tokio::test]
async fn the_shell_sees_text_and_views() {
    let (_place, database) = place();
    let with = |views| Options { views, ..Options::default() };
    let store = sqlite::open(&database, with(&[("names", "SELECT key FROM records"), ("old", "SELECT 1")])).await;
    let store = store.expect("the store opens");
    put(&store, "json", r#"{"a":{"b":7}}"#).await.expect("committed");
    put(&store, "bytes", vec![0xff_u8, 0]).await.expect("committed");
    store.close().await.expect("the store closes");
    let views: &[(&str, &str)] =
        &[("names", "SELECT key AS name, json_extract(body, '$.a.b') AS b FROM records WHERE typeof(body) = 'text'")];
    sqlite::open(&database, with(views)).await.expect("it opens with other views").close().await.expect("it closes");
    let conn = rusqlite::Connection::open(&database).expect("the file opens");
    let row = conn.query_row("SELECT name, b FROM names", [], |row| Ok((row.get(0)?, row.get(1)?)));
    assert_eq!(row.expect("one row"), ("json".to_owned(), 7));
    let kind: String =
        conn.query_row("SELECT typeof(body) FROM records WHERE key = 'bytes'", [], |row| row.get(0)).expect("one row");
    assert_eq!(kind, "blob");
}

#[tokio::test]
async fn a_full_file_refuses_and_heals() {
    let (_place, database) = place();
    let store =
        sqlite::open(&database, Options { max_pages: Some(100), ..Options::default() }).await.expect("it opens");
    let mut made = 0;
    let error = loop {
        match put(&store, &format!("record/{made}"), vec![b'x'; 5_000]).await {
            Ok(outcomes) => assert!(matches!(outcomes[0], Outcome::Committed { .. })),
            Err(error) => break error,
        }
        made += 1;
    };
    assert!(error.kind() == ErrorKind::Full && error.is_unwritten() && error.is_temporary(), "{error}");
    assert!(made > 20);
    let last = Key::new(format!("record/{made}"));
    let first = store.load(Partition(0), &[last, Key::new("record/0")]).await.expect("reads go on");
    assert!(first[0].is_none() && first[1].is_some());
    let mut batch = Batch::new(Partition(0), Version(1 << 100));
    batch.expect.push((Key::new("record/0"), first[1].as_ref().map(|record| record.version)));
    batch.delete.push(Key::new("record/0"));
    store.commit(vec![batch]).await.expect("room can be made");
    put(&store, "after", vec![b'x'; 5_000]).await.expect("and used");
}

#[tokio::test]
async fn ownership_moves_when_the_owner_closes_or_is_dropped() {
    let (_place, database) = place();
    let first = open(&database).await;
    let (second, third) = (open(&database).await, open(&database).await);
    assert_eq!(*first.home().borrow(), Home::Everywhere);
    assert_eq!((*second.home().borrow(), *third.home().borrow()), (Home::Nowhere, Home::Nowhere));
    let (mut second_home, mut third_home) = (second.home(), third.home());
    first.close().await.expect("the owner closes");
    assert_eq!(*first.home().borrow(), Home::Nowhere);
    let heir = within_seconds(20, async {
        tokio::select! {
            _ = second_home.wait_for(|home| *home == Home::Everywhere) => 2,
            _ = third_home.wait_for(|home| *home == Home::Everywhere) => 3,
        }
    })
    .await;
    let (owner, mut waiting) = if heir == 2 { (second, third_home) } else { (third, second_home) };
    assert_eq!(*waiting.borrow(), Home::Nowhere, "there is one owner at a time");
    // The stores that are left move out of their names, so that dropping the owner is all that happens.
    drop(owner);
    within_seconds(20, waiting.wait_for(|home| *home == Home::Everywhere)).await.expect("ownership moves again");
}

#[tokio::test]
async fn a_yielded_file_goes_to_another_process_or_comes_back() {
    let (_place, database) = place();
    let first = open(&database).await;
    let mut home = first.home();
    first.yield_home(Duration::from_millis(50));
    assert!(home.has_changed().expect("the store is open"), "it is offered");
    within_seconds(20, home.wait_for(|home| *home == Home::Everywhere)).await.expect("and nobody takes it");
    let second = open(&database).await;
    let mut heir = second.home();
    second.yield_home(Duration::from_secs(3_600));
    first.yield_home(Duration::from_secs(3_600));
    assert_eq!(*home.borrow_and_update(), Home::Nowhere);
    within_seconds(20, heir.wait_for(|home| *home == Home::Everywhere)).await.expect("what is not held is not yielded");
    assert_eq!(*first.home().borrow(), Home::Nowhere);
    first.close().await.expect("it closes while it waits");
    second.close().await.expect("it closes");
}

#[tokio::test]
async fn own_commits_bring_no_hints() {
    let (_place, database) = place();
    let store = open(&database).await;
    let mut hints = store.watch();
    for at in 0..200 {
        put(&store, &format!("record/{at}"), "1").await.expect("committed");
    }
    pause(500).await;
    assert!(hints.next().now_or_never().is_none(), "a process that writes alone wakes itself");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_process_does_not_starve_another() {
    let (_place, database) = place();
    let busy = Arc::new(open(&database).await);
    let other = open(&database).await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut tasks = Vec::new();
    for task in 0..8 {
        let (busy, stop) = (busy.clone(), stop.clone());
        tasks.push(tokio::spawn(async move {
            let mut made = 0;
            while !stop.load(Ordering::Relaxed) {
                put(&*busy, &format!("busy/{task}/{made}"), "1").await.expect("committed");
                made += 1;
            }
            made
        }));
    }
    for at in 0..20 {
        within_seconds(5, put(&other, &format!("other/{at}"), "1")).await.expect("committed in between");
    }
    stop.store(true, Ordering::Relaxed);
    let mut made = 0;
    for task in tasks {
        made += task.await.expect("no panic");
    }
    println!("commits of the busy process beside 20 of another: {made}");
    assert!(made >= 20, "the busy process goes on");
}

#[tokio::test]
async fn the_wal_does_not_grow_without_bound() {
    let (place, database) = place();
    let store = open(&database).await;
    let mut longest = 0;
    for at in 0..300 {
        put(&store, &format!("record/{at}"), vec![b'x'; 200_000]).await.expect("committed");
        let wal = std::fs::metadata(place.path().join("test.db-wal")).expect("the WAL is there").len();
        longest = longest.max(wal);
    }
    println!("longest WAL after writing 60 MB: {longest} bytes");
    assert!(longest < 24 * 1024 * 1024, "{longest}");
    store.close().await.expect("the store closes");
    assert!(!place.path().join("test.db-wal").exists(), "closing carries everything over");
}
