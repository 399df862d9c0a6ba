//! Whether a store can be left and opened again, cleanly or not.

use super::Subject;
use super::kit::{P, commit, dues, entry, feed, fresh, index, key, list, load, log, put, putting, record, soon};
use crate::{Append, Batch, Cursor, ErrorKind, Partitions, Range, Store};
use bytes::Bytes;
use futures_util::StreamExt;

/// A process that goes away without a word leaves everything it was told was committed.
pub async fn a_store_dropped_without_closing_keeps_everything(subject: &dyn Subject) {
    let store = subject.open().await;
    let meta = store.meta();
    let mut made = record("a", "1");
    made.entries = vec![entry("i", 3)];
    made.due = Some(9);
    let mut batch = putting(&*store, P, vec![made.clone()]).await;
    batch.append.push(Append { log: key("a"), seq: 1, body: Bytes::from("line") });
    batch.events.push(Bytes::from("event"));
    made.version = batch.id;
    commit(&*store, batch).await;
    let cursor = store.read_feed(&Cursor::start(), 10).await.expect("the store reads feeds").cursor;
    drop(store);

    let store = subject.open().await;
    assert_eq!(store.meta(), meta);
    assert_eq!(load(&*store, P, "a").await, Some(made));
    assert_eq!(list(&*store, "i").await, [(3, "a".to_owned())]);
    assert_eq!(dues(&*store).await, [(9, "a".to_owned())]);
    assert_eq!(log(&*store, P, "a").await, [(1, Bytes::from("line"))]);
    assert_eq!(feed(&*store).await.len(), 1);
    let next = store.read_feed(&cursor, 10).await.expect("a cursor outlives the process");
    assert_eq!((next.events.len(), next.gap), (0, false));
    put(&*store, P, vec![record("a", "2")]).await;
}

/// After closing, one handle refuses every call and its hints end; another handle goes on.
pub async fn closing_ends_one_handle_only(subject: &dyn Subject) {
    let (store, other) = (subject.open().await, subject.open().await);
    put(&*store, P, vec![record("a", "1")]).await;
    let mut hints = store.watch();
    let last = putting(&*store, P, vec![record("b", "1")]).await;
    let racing = {
        let store = store.clone();
        tokio::spawn(async move { store.commit(vec![last]).await })
    };
    store.close().await.expect("a store closes");
    store.close().await.expect("closing again does nothing");
    let written = match racing.await.expect("no panic") {
        Ok(_) => true,
        Err(error) => {
            assert!(error.kind() == ErrorKind::Closed && error.is_unwritten(), "{error}");
            false
        }
    };
    assert_eq!(load(&*other, P, "b").await.is_some(), written, "the answer before closing was true");
    refuses_everything(&*store).await;
    soon("the end of the hints", async { while hints.next().await.is_some() {} }).await;

    put(&*other, P, vec![record("a", "2")]).await;
    let again = subject.open().await;
    assert_eq!(load(&*again, P, "a").await.map(|record| record.body), Some(Bytes::from("2")));
}

async fn refuses_everything(store: &dyn Store) {
    let (all, name) = (Partitions::All, index("i"));
    let answers = [
        store.load(P, &[key("a")]).await.err(),
        store.commit(vec![Batch::new(P, fresh())]).await.err(),
        store.scan(&name, &all, Range::default(), 1).await.err(),
        store.count(&name, &all, 1).await.err(),
        store.due(&all, Range::between(0, 1), 1).await.err(),
        store.read_log(P, &key("a"), 0, 1).await.err(),
        store.read_feed(&Cursor::start(), 1).await.err(),
        store.health().await.err(),
    ];
    for (at, answer) in answers.into_iter().enumerate() {
        let error = answer.unwrap_or_else(|| panic!("call {at} worked on a closed store"));
        assert_eq!(error.kind(), ErrorKind::Closed, "call {at}: {error}");
        assert!(error.is_unwritten(), "call {at}: {error}");
    }
}

/// A store can serve, says so, and is the same store in every handle.
pub async fn health_and_meta_are_stable(subject: &dyn Subject) {
    let (first, second) = (subject.open().await, subject.open().await);
    assert_eq!(first.meta(), second.meta());
    assert!(first.meta().partitions >= 4, "the suite needs four partitions");
    let (one, two) = (first.health().await.expect("it serves"), second.health().await.expect("it serves"));
    assert_eq!(one.durability, two.durability);
    assert!(!one.detail.is_empty());
    let before = first.stats().reads;
    load(&*first, P, "a").await;
    assert!(first.stats().reads > before, "reads are counted");
}
