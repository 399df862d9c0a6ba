//! Whether a call that breaks the contract is refused whole, with nothing written.

use super::Subject;
use super::kit::{P, commit, entry, feed, fresh, index, key, list, load, put, putting, record};
use crate::limits::{BATCH_BYTES_MAX, BATCH_ROWS_MAX, ENTRIES_MAX, KEY_BYTES_MAX, KEYS_MAX, SEQ_MAX};
use crate::{Append, Batch, ErrorKind, Key, Partition, Record, Store, Trim};
use bytes::Bytes;

/// Commits a good batch and a bad one together: the call is refused as misuse and the good one is not written either.
async fn refused(store: &dyn Store, what: &str, bad: Batch) {
    let mut good = putting(store, P, vec![record("good", "1")]).await;
    good.events.push(Bytes::from("event"));
    let error = store.commit(vec![good, bad]).await.expect_err(what);
    assert_eq!(error.kind(), ErrorKind::Invalid, "{what}: {error}");
    assert!(error.is_unwritten(), "{what}: {error}");
    assert_eq!(load(store, P, "good").await, None, "{what}");
    assert_eq!(feed(store).await, [], "{what}");
}

fn batch_of(records: Vec<Record>) -> Batch {
    let mut batch = Batch::new(P, fresh());
    for mut record in records {
        batch.expect.push((record.key.clone(), None));
        record.version = batch.id;
        batch.put.push(record);
    }
    batch
}

fn listed(name: &str, entries: Vec<crate::Entry>) -> Batch {
    batch_of(vec![Record { entries, ..record(name, "1") }])
}

fn logging(expect: Option<crate::Version>, seq: u64) -> Batch {
    let mut batch = Batch::new(P, fresh());
    batch.expect.push((key("a"), expect));
    batch.append.push(Append { log: key("a"), seq, body: Bytes::from("1") });
    batch
}

/// Every kind of malformed batch.
pub async fn broken_batches_are_refused_whole(subject: &dyn Subject) {
    let store = subject.open().await;
    let long = "x".repeat(KEY_BYTES_MAX + 1);
    for name in ["", "tab\t", "line\n", "zero\0", "del\u{7f}", long.as_str()] {
        refused(&*store, "a bad key", batch_of(vec![record(name, "1")])).await;
        refused(&*store, "a bad index name", listed("a", vec![entry(name, 1)])).await;
    }
    let mut unexpected = batch_of(vec![record("a", "1")]);
    unexpected.expect.clear();
    refused(&*store, "an unexpected key put", unexpected).await;
    let mut unexpected = batch_of(vec![record("a", "1")]);
    unexpected.delete.push(key("b"));
    refused(&*store, "an unexpected key deleted", unexpected).await;
    let mut version = batch_of(vec![record("a", "1")]);
    version.put[0].version = fresh();
    refused(&*store, "a version that is not the batch's id", version).await;
    refused(&*store, "an index named twice", listed("a", vec![entry("i", 1), entry("j", 1), entry("i", 2)])).await;
    let mut twice = batch_of(vec![record("a", "1")]);
    twice.put.push(twice.put[0].clone());
    refused(&*store, "a key put twice", twice).await;
    let mut twice = batch_of(vec![record("a", "1")]);
    twice.delete.push(key("a"));
    refused(&*store, "a key put and deleted", twice).await;
    let mut twice = batch_of(vec![record("a", "1")]);
    twice.expect.push((key("a"), None));
    refused(&*store, "a key expected twice", twice).await;
    let mut nowhere = batch_of(vec![record("a", "1")]);
    nowhere.partition = Partition(store.meta().partitions);
    refused(&*store, "a partition that does not exist", nowhere).await;
    logs_are_checked(&*store).await;
}

async fn logs_are_checked(store: &dyn Store) {
    refused(store, "a log without a record", logging(None, 1)).await;
    let mut deleted = logging(Some(fresh()), 1);
    deleted.delete.push(key("a"));
    refused(store, "a log of a deleted record", deleted).await;
    let mut unexpected = logging(Some(fresh()), 1);
    unexpected.expect.clear();
    refused(store, "a log of an unexpected record", unexpected).await;
    refused(store, "a sequence no store can hold", logging(Some(fresh()), SEQ_MAX + 1)).await;
    refused(store, "a sequence nobody can read", logging(Some(fresh()), 0)).await;
    let mut trimmed = Batch::new(P, fresh());
    trimmed.trim.push(Trim::Log { log: key("a"), through: 1 });
    refused(store, "a trimmed log of an unexpected record", trimmed).await;
}

/// A key that lives in one partition cannot be read or written in another.
pub async fn a_key_belongs_to_one_partition(subject: &dyn Subject) {
    let store = subject.open().await;
    let version = put(&*store, P, vec![record("a", "1")]).await;
    let other = Partition(2);
    let kind = |error: crate::Error| error.kind();
    assert_eq!(store.load(other, &[key("a")]).await.map_err(kind), Err(ErrorKind::Invalid));
    assert_eq!(store.load(other, &[key("b"), key("a")]).await.map_err(kind), Err(ErrorKind::Invalid));
    assert_eq!(store.read_log(other, &key("a"), 0, 1).await.map_err(kind), Err(ErrorKind::Invalid));
    for expected in [None, Some(version)] {
        let mut batch = Batch::new(other, fresh());
        batch.expect = vec![(key("b"), None), (key("a"), expected)];
        batch.put = vec![Record { version: batch.id, ..record("b", "1") }];
        let error = store.commit(vec![batch]).await.expect_err("the key lives elsewhere");
        assert!(error.kind() == ErrorKind::Invalid && error.is_unwritten(), "{error}");
    }
    assert_eq!(load(&*store, other, "b").await, None);
    let beyond = Partition(store.meta().partitions);
    assert_eq!(store.load(beyond, &[]).await.map_err(kind), Err(ErrorKind::Invalid));
    assert_eq!(store.read_log(beyond, &key("a"), 0, 1).await.map_err(kind), Err(ErrorKind::Invalid));
    assert_eq!(load(&*store, P, "a").await.map(|record| record.version), Some(version));
}

/// Batches and loads over the limits are refused before they cost anything.
pub async fn oversized_batches_are_refused(subject: &dyn Subject) {
    let store = subject.open().await;
    let entries = (0..=ENTRIES_MAX).map(|at| entry(&format!("i{at}"), 1)).collect();
    refused(&*store, "too many entries", listed("a", entries)).await;
    let mut events = Batch::new(P, fresh());
    events.events = vec![Bytes::from("1"); BATCH_ROWS_MAX + 1];
    refused(&*store, "too many rows", events).await;
    let mut expect = Batch::new(P, fresh());
    expect.expect = (0..=KEYS_MAX).map(|at| (key(&format!("k{at}")), None)).collect();
    let keys: Vec<Key> = expect.expect.iter().map(|(key, _)| key.clone()).collect();
    refused(&*store, "too many expectations", expect).await;
    let mut large = batch_of(vec![record("a", "1"), record("b", "1")]);
    large.put[0].body = Bytes::from(vec![b'x'; BATCH_BYTES_MAX / 2]);
    large.put[1].body = Bytes::from(vec![b'x'; BATCH_BYTES_MAX / 2 + 1]);
    refused(&*store, "too many bytes", large).await;
    let error = store.load(P, &keys).await.expect_err("too many keys");
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

/// What is exactly at a limit works like everything else.
pub async fn largest_names_are_accepted(subject: &dyn Subject) {
    let store = subject.open().await;
    let long = "ü".repeat(KEY_BYTES_MAX / 2);
    let mut made = record(&long, "1");
    made.entries = (0..ENTRIES_MAX - 1).map(|at| entry(&format!("i{at}"), u64::MAX)).collect();
    made.entries.push(entry(&long, u64::MAX));
    let mut batch = batch_of(vec![made.clone()]);
    batch.append.push(Append { log: key(&long), seq: SEQ_MAX, body: Bytes::from("1") });
    made.version = batch.id;
    commit(&*store, batch).await;
    assert_eq!(load(&*store, P, &long).await, Some(made));
    assert_eq!(list(&*store, &long).await, [(u64::MAX, long.clone())]);
    let unknown = "y".repeat(KEY_BYTES_MAX + 1);
    assert_eq!(load(&*store, P, &unknown).await, None, "no key this long can be there");
    let page = store.scan(&index(&unknown), &crate::Partitions::All, crate::Range::default(), 1).await;
    assert_eq!(page.expect("the store scans").items, []);
}
