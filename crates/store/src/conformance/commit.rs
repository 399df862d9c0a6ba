//! Whether a batch is all or nothing, and whether versions decide.

use super::Subject;
use super::kit::{P, commit, delete, dues, entry, feed, fresh, key, list, load, log, outcome_of, put, putting, record};
use crate::{Append, Batch, Outcome, Record, Store, Version};
use bytes::Bytes;

/// Records, entries, due times, log entries and events of one batch are all there after it.
pub async fn a_batch_writes_all_it_says(subject: &dyn Subject) {
    let store = subject.open().await;
    put(&*store, P, vec![record("gone", "1")]).await;
    let gone = load(&*store, P, "gone").await.expect("put before");
    let mut first = record("a", r#"{"n":1}"#);
    first.entries = vec![entry("z", 9), entry("list", 7)];
    first.due = Some(1234);
    let mut batch = putting(&*store, P, vec![first.clone(), record("b", "2")]).await;
    batch.expect.push((key("gone"), Some(gone.version)));
    batch.delete.push(key("gone"));
    batch.append.push(Append { log: key("a"), seq: 1, body: Bytes::from("line") });
    batch.events = vec![Bytes::from("one"), Bytes::from("two")];
    first.version = batch.id;
    commit(&*store, batch).await;

    assert_eq!(load(&*store, P, "a").await, Some(first));
    assert_eq!(load(&*store, P, "b").await.map(|record| record.body), Some(Bytes::from("2")));
    assert_eq!(load(&*store, P, "gone").await, None);
    assert_eq!(list(&*store, "list").await, [(7, "a".to_owned())]);
    assert_eq!(list(&*store, "z").await, [(9, "a".to_owned())]);
    assert_eq!(dues(&*store).await, [(1234, "a".to_owned())]);
    assert_eq!(log(&*store, P, "a").await, [(1, Bytes::from("line"))]);
    let bodies: Vec<Bytes> = feed(&*store).await.into_iter().map(|event| event.body).collect();
    assert_eq!(bodies, ["one", "two"]);
}

/// One stale expectation among many: nothing changes, and exactly the stale keys come back as they are.
pub async fn a_conflict_writes_nothing_and_returns_what_is_there(subject: &dyn Subject) {
    let store = subject.open().await;
    let mut there = record("there", "old");
    there.entries = vec![entry("list", 1)];
    there.due = Some(5);
    there.version = put(&*store, P, vec![there.clone(), record("fine", "fine")]).await;

    let mut changed = record("there", "new");
    changed.entries = vec![entry("list", 2), entry("other", 1)];
    let mut batch = putting(&*store, P, vec![record("new", "new"), changed, record("fine", "changed")]).await;
    batch.expect[1].1 = Some(fresh());
    batch.expect.push((key("missing"), Some(fresh())));
    batch.append.push(Append { log: key("fine"), seq: 1, body: Bytes::from("line") });
    batch.events.push(Bytes::from("event"));
    let outcome = outcome_of(&*store, batch).await;
    let Outcome::Conflict { current, .. } = outcome else { panic!("a stale batch was {outcome:?}") };
    assert_eq!(current, [(key("there"), Some(there.clone())), (key("missing"), None)]);

    assert_eq!(load(&*store, P, "there").await, Some(there));
    assert_eq!(load(&*store, P, "new").await, None);
    assert_eq!(load(&*store, P, "fine").await.map(|record| record.body), Some(Bytes::from("fine")));
    assert_eq!(list(&*store, "list").await, [(1, "there".to_owned())]);
    assert_eq!(list(&*store, "other").await, []);
    assert_eq!(dues(&*store).await, [(5, "there".to_owned())]);
    assert_eq!(log(&*store, P, "fine").await, []);
    assert_eq!(feed(&*store).await, []);
}

/// `None` holds for a key that is not there, and only for it.
pub async fn absent_keys_can_be_expected(subject: &dyn Subject) {
    let store = subject.open().await;
    let expecting = |version: Option<Version>| {
        let mut batch = Batch::new(P, fresh());
        batch.expect.push((key("a"), version));
        batch
    };
    commit(&*store, expecting(None)).await;
    let outcome = outcome_of(&*store, expecting(Some(fresh()))).await;
    assert!(matches!(&outcome, Outcome::Conflict { current, .. } if current == &[(key("a"), None)]), "{outcome:?}");
    let version = put(&*store, P, vec![record("a", "1")]).await;
    assert!(matches!(outcome_of(&*store, expecting(None)).await, Outcome::Conflict { .. }));
    commit(&*store, expecting(Some(version))).await;
}

/// Deleting and making a key again gives it a version that no copy from before has.
pub async fn a_record_made_again_is_not_mistaken_for_the_old_one(subject: &dyn Subject) {
    let store = subject.open().await;
    let old = put(&*store, P, vec![record("a", "same")]).await;
    delete(&*store, P, "a").await;
    let new = put(&*store, P, vec![record("a", "same")]).await;
    assert_ne!(old, new);
    let mut batch = Batch::new(P, fresh());
    batch.expect.push((key("a"), Some(old)));
    let outcome = outcome_of(&*store, batch).await;
    let Outcome::Conflict { current, .. } = outcome else { panic!("the old version still counts: {outcome:?}") };
    assert_eq!(current[0].1.as_ref().map(|record| record.version), Some(new));
}

/// A conflict in a group stops only its own batch, and a batch sees what the ones before it wrote.
pub async fn batches_of_a_group_stand_on_their_own(subject: &dyn Subject) {
    let store = subject.open().await;
    let first = putting(&*store, P, vec![record("a", "first")]).await;
    let mut stale = putting(&*store, P, vec![record("a", "stale"), record("b", "stale")]).await;
    stale.expect[0].1 = Some(fresh());
    let mut second = putting(&*store, P, vec![record("a", "second")]).await;
    second.expect[0].1 = Some(first.id);
    let elsewhere = putting(&*store, crate::Partition(2), vec![record("c", "c")]).await;
    let outcomes = store.commit(vec![first, stale, second, elsewhere]).await.expect("a group is taken");
    let kinds: Vec<bool> = outcomes.iter().map(|outcome| matches!(outcome, Outcome::Committed { .. })).collect();
    assert_eq!(kinds, [true, false, true, true], "{outcomes:?}");
    assert_eq!(load(&*store, P, "a").await.map(|record| record.body), Some(Bytes::from("second")));
    assert_eq!(load(&*store, P, "b").await, None);
    assert_eq!(store.commit(Vec::new()).await.expect("an empty group is taken"), []);
}

/// A key that is expected to be absent may be deleted.
pub async fn deleting_an_absent_key_changes_nothing(subject: &dyn Subject) {
    let store = subject.open().await;
    let mut batch = Batch::new(P, fresh());
    batch.expect.push((key("never"), None));
    batch.delete.push(key("never"));
    commit(&*store, batch).await;
    assert_eq!(load(&*store, P, "never").await, None);
}

/// A batch without writes is answered by looking: no group is made durable for it and no row is written.
pub async fn batches_that_only_check_need_no_sync(subject: &dyn Subject) {
    let store = subject.open().await;
    let version = put(&*store, P, vec![record("a", "1")]).await;
    let before = store.stats();
    let mut holds = Batch::new(P, fresh());
    holds.expect = vec![(key("a"), Some(version)), (key("b"), None)];
    let mut fails = Batch::new(P, fresh());
    fails.expect = vec![(key("a"), None)];
    let outcomes = store.commit(vec![holds, fails]).await.expect("checks are taken");
    assert!(matches!(outcomes[0], Outcome::Committed { .. }), "{outcomes:?}");
    assert!(matches!(outcomes[1], Outcome::Conflict { .. }), "{outcomes:?}");
    let after = store.stats();
    assert_eq!((after.groups, after.rows, after.bytes), (before.groups, before.rows, before.bytes));
    assert_eq!((after.batches, after.conflicts), (before.batches + 1, before.conflicts + 1));
}

/// A store never looks into bodies: any bytes come back as they were.
pub async fn bodies_come_back_byte_for_byte(subject: &dyn Subject) {
    let store = subject.open().await;
    let long: Vec<u8> = (0..300_000_u32).map(|at| at.to_le_bytes()[0]).collect();
    let bodies: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"0".to_vec(),
        b"1e999".to_vec(),
        br#"{"a":"\u0000","b":[1,2.50]}"#.to_vec(),
        "{\"ä\":\"\u{10ffff}\"}".as_bytes().to_vec(),
        b"{\"zero\":\"\0\"}".to_vec(),
        "\u{feff}{}".as_bytes().to_vec(),
        vec![0xff, 0xfe, 0x00, 0x80],
        b"ends with zero\0".to_vec(),
        long,
    ];
    for (at, body) in bodies.iter().enumerate() {
        let name = format!("body/{at}");
        let mut written = record(&name, "");
        written.body = Bytes::copy_from_slice(body);
        let mut batch = putting(&*store, P, vec![written]).await;
        batch.append.push(Append { log: key(&name), seq: 1, body: Bytes::copy_from_slice(body) });
        batch.events.push(Bytes::copy_from_slice(body));
        commit(&*store, batch).await;
        assert_eq!(load(&*store, P, &name).await.map(|record| record.body.to_vec()), Some(body.clone()), "{at}");
        assert_eq!(log(&*store, P, &name).await, [(1, Bytes::copy_from_slice(body))], "{at}");
    }
    let events: Vec<Vec<u8>> = feed(&*store).await.into_iter().map(|event| event.body.to_vec()).collect();
    assert_eq!(events, bodies);
}

/// One answer for each key, in order, also for keys asked twice.
pub async fn loads_answer_in_the_order_asked(subject: &dyn Subject) {
    let store = subject.open().await;
    put(&*store, P, vec![record("b", "b"), record("a", "a"), record("c", "c")]).await;
    let keys: Vec<_> = ["c", "none", "a", "c", "b"].map(key).into();
    let found = store.load(P, &keys).await.expect("keys are loaded");
    let names: Vec<Option<String>> = found.into_iter().map(|found| found.map(|found| found.key.to_string())).collect();
    let expected = [Some("c"), None, Some("a"), Some("c"), Some("b")];
    assert_eq!(names, expected.map(|name| name.map(str::to_owned)));
    assert_eq!(store.load(P, &[]).await.expect("nothing is loaded"), []);
}

/// A record, each entry added or removed, each due time set or taken away, log entry and event is one row.
pub async fn rows_are_counted(subject: &dyn Subject) {
    let store = subject.open().await;
    let rows = |store: &dyn Store| (store.stats().rows, store.stats().bytes);
    let mut made: Record = record("a", "1234");
    made.entries = vec![entry("list", 1), entry("ready", 1)];
    put(&*store, P, vec![made.clone()]).await;
    assert_eq!(rows(&*store), (3, (1 + 4) + (4 + 8 + 1) + (5 + 8 + 1)));
    made.entries = vec![entry("list", 1)];
    made.due = Some(5);
    let mut batch = putting(&*store, P, vec![made.clone()]).await;
    batch.append.push(Append { log: key("a"), seq: 1, body: Bytes::from("1") });
    batch.events.push(Bytes::from("event"));
    commit(&*store, batch).await;
    assert_eq!(rows(&*store).0, 3 + 5, "record, entry gone, due time, log entry, event");
    made.due = Some(6);
    put(&*store, P, vec![made]).await;
    assert_eq!(rows(&*store).0, 8 + 3, "record, old due time, new due time");
    delete(&*store, P, "a").await;
    assert_eq!(rows(&*store).0, 11 + 4, "record, entry, due time, log entry");
}

/// Several processes add one to the same record at the same time; every success counts.
pub async fn no_update_is_lost_between_racing_writers(subject: &dyn Subject) {
    const EACH: u64 = 25;
    let stores = [subject.open().await, subject.open().await];
    put(&*stores[0], P, vec![record("sum", "0")]).await;
    let mut tasks = Vec::new();
    for at in 0..4 {
        let store = stores[at % 2].clone();
        tasks.push(tokio::spawn(async move {
            let mut added = 0;
            while added < EACH {
                let now = load(&*store, P, "sum").await.expect("the record stays");
                let sum: u64 = std::str::from_utf8(&now.body).expect("text").parse().expect("a number");
                let mut batch = Batch::new(P, fresh());
                batch.expect.push((key("sum"), Some(now.version)));
                batch.put.push(Record { version: batch.id, ..record("sum", &(sum + 1).to_string()) });
                if matches!(outcome_of(&*store, batch).await, Outcome::Committed { .. }) {
                    added += 1;
                }
            }
        }));
    }
    for task in tasks {
        task.await.expect("no writer panics");
    }
    let sum = load(&*stores[1], P, "sum").await.expect("the record stays");
    assert_eq!(sum.body, Bytes::from((4 * EACH).to_string()));
}
