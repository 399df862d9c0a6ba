//! Whether the Valkey store passes the suite on one server.

#![cfg(feature = "valkey")]

mod valkey_kit;

use onward_servers::valkey::{Kind, Server};
use onward_store::conformance::{Subject, window};
use onward_store::limits::{BATCH_BYTES_MAX, BATCH_ROWS_MAX, KEYS_MAX};
use onward_store::{
    Append, Batch, Cursor, Entry, IndexName, Key, Outcome, Partition, Partitions, Record, Trim, system_clock,
};
use std::sync::OnceLock;
use valkey_kit::load::{commit, fresh as fresh_version, putting};
use valkey_kit::{Prefix, fresh_url};

fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start(Kind::Valkey, &[]).expect("a server"))
}

async fn fresh() -> Prefix {
    Prefix::fresh(&server().url())
}

onward_store::conformance_tests!(fresh);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_servers_own_clock_counts_unless_a_test_holds_one() {
    let subject = Prefix { hand: None, ..fresh().await };
    window::outside_is_judged_by_the_stores_clock(&subject).await;
    let before = system_clock()();
    let outcome = commit(&*subject.open().await, Batch::new(Partition(0), fresh_version())).await;
    let Ok(Outcome::Committed { now }) = outcome else { panic!("{outcome:?}") };
    assert!((before..=system_clock()()).contains(&now), "the server runs on this machine");
}

/// Lua can hand over only so many values at once; a batch may have many more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batches_at_the_limits_are_taken_whole() {
    let store = fresh().await.open().await;
    let (p, all) = (Partition(1), IndexName::new("all"));
    let keys: Vec<Key> = (0..KEYS_MAX).map(|at| Key::new(format!("k{at:05}"))).collect();
    let mut batch = Batch::new(p, fresh_version());
    batch.expect = keys.iter().map(|key| (key.clone(), None)).collect();
    let record = |key: &Key, version| {
        let (body, entries) = ("body".into(), vec![Entry { name: all.clone(), rank: 1 }]);
        Record { key: key.clone(), version, body, entries, due: None }
    };
    batch.put = keys.iter().take(6_000).map(|key| record(key, batch.id)).collect();
    batch.append =
        keys.iter().take(1_000).map(|log| Append { log: log.clone(), seq: 1, body: "line".into() }).collect();
    batch.events = vec!["event".into(); BATCH_ROWS_MAX - 19_000];
    let (id, first) = (batch.id, Append { log: keys[0].clone(), seq: 2, body: vec![b'x'; BATCH_BYTES_MAX / 2].into() });
    assert!(matches!(commit(&*store, batch).await, Ok(Outcome::Committed { .. })));
    assert_eq!(store.load(p, &keys).await.expect("it loads").iter().flatten().count(), 6_000);
    assert_eq!(store.count(&all, &Partitions::All, 100_000).await.expect("it counts").n, 6_000);
    assert_eq!(store.read_feed(&Cursor::start(), 100_000).await.expect("it reads").events.len(), 1_000);

    let mut large = Batch::new(p, fresh_version());
    large.expect.push((keys[0].clone(), Some(id)));
    large.append.push(first);
    assert!(matches!(commit(&*store, large).await, Ok(Outcome::Committed { .. })));
    assert_eq!(store.read_log(p, &keys[0], 1, 9).await.expect("it reads")[0].body.len(), BATCH_BYTES_MAX / 2);

    let mut end = Batch::new(p, fresh_version());
    end.expect = keys.iter().take(6_000).map(|key| (key.clone(), Some(id))).collect();
    end.delete = keys.iter().take(6_000).cloned().collect();
    end.trim = vec![Trim::Feed { through: u64::MAX }];
    assert!(matches!(commit(&*store, end).await, Ok(Outcome::Committed { .. })));
    assert_eq!(store.count(&all, &Partitions::All, 9).await.expect("it counts").n, 0);
    assert_eq!(store.read_feed(&Cursor::start(), 9).await.expect("it reads").events.len(), 1);
    assert_eq!(store.read_log(p, &keys[0], 0, 9).await.expect("it reads"), []);
}

/// A group is answered whole, also when it is far too large for one call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_groups_are_taken_in_several_calls() {
    let store = fresh().await.open().await;
    let batch = |at: usize| putting(Partition(1), &format!("k{at}"), None, vec![b'x'; 100_000]);
    let outcomes = store.commit((0..600).map(batch).collect()).await.expect("the store takes the group");
    assert_eq!(outcomes.iter().filter(|outcome| matches!(outcome, Outcome::Committed { .. })).count(), 600);
    let groups = store.stats().groups;
    assert!((15..100).contains(&groups), "{groups} calls for 60 MB");
}

/// A server that lost its newest events, as after a failover or from a copy, gives their positions again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_from_a_lost_time_goes_back_with_a_gap() {
    let url = fresh_url(&server().url());
    let prefix = url.rsplit('=').next().expect("a prefix").to_owned();
    let store = Prefix { url, hand: None }.open().await;
    let mut batch = putting(Partition(40), "a", None, vec![]);
    batch.events = vec!["1".into(), "2".into()];
    assert!(matches!(commit(&*store, batch).await, Ok(Outcome::Committed { .. })));
    let seen = store.read_feed(&Cursor::start(), 9).await.expect("it reads").cursor;
    let feeds = server().ask(&["KEYS", &format!("{prefix}:{{*}}:f40")]).expect("an answer");
    server().ask(&["DEL", &feeds]).expect("an answer");
    let lost = store.read_feed(&seen, 9).await.expect("it reads");
    assert_eq!((lost.events.len(), lost.gap), (0, true));
    let mut batch = Batch::new(Partition(40), fresh_version());
    batch.events = vec!["again".into()];
    assert!(matches!(commit(&*store, batch).await, Ok(Outcome::Committed { .. })));
    let next = store.read_feed(&lost.cursor, 9).await.expect("it reads");
    assert_eq!((next.events.len(), next.events[0].position, next.gap), (1, 1, false));
}

/// A reader that comes back when the lost positions were used again is told that what stands there is not what it saw.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cursor_from_a_lost_time_is_told_of_the_gap_also_when_its_positions_were_used_again() {
    let url = fresh_url(&server().url());
    let prefix = url.rsplit('=').next().expect("a prefix").to_owned();
    let store = Prefix { url, hand: None }.open().await;
    let emit = async |events: &[&'static str]| {
        let mut batch = Batch::new(Partition(40), fresh_version());
        batch.events = events.iter().map(|&event| event.into()).collect();
        assert!(matches!(commit(&*store, batch).await, Ok(Outcome::Committed { .. })));
    };
    emit(&["1", "2"]).await;
    let behind = store.read_feed(&Cursor::start(), 9).await.expect("it reads").cursor;
    let feed = server().ask(&["KEYS", &format!("{prefix}:{{*}}:f40")]).expect("an answer");
    let kept = format!("{feed}-kept");
    server().ask(&["COPY", &feed, &kept]).expect("an answer");
    emit(&["3", "4"]).await;
    let ahead = store.read_feed(&behind, 9).await.expect("it reads").cursor;
    server().ask(&["COPY", &kept, &feed, "REPLACE"]).expect("an answer");
    emit(&["other 3", "other 4", "other 5"]).await;

    let told = store.read_feed(&ahead, 9).await.expect("it reads");
    let bodies: Vec<&[u8]> = told.events.iter().map(|event| &event.body[..]).collect();
    assert_eq!((bodies, told.gap), (vec![&b"other 5"[..]], true), "two events were passed over");
    let untouched = store.read_feed(&behind, 9).await.expect("it reads");
    assert_eq!((untouched.events.len(), untouched.gap), (3, false), "whoever had not seen them misses nothing");
    emit(&["6"]).await;
    let next = store.read_feed(&told.cursor, 9).await.expect("it reads");
    assert_eq!((next.events.len(), next.gap), (1, false), "a gap is told once");
}
