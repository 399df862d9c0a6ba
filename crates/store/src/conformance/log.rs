//! Whether a record's log keeps its entries in order and ends with the record.

use super::Subject;
use super::kit::{P, commit, delete, key, log, put, putting, record};
use crate::{Append, Store, Trim};
use bytes::Bytes;

fn line(name: &str, seq: u64, body: &str) -> Append {
    Append { log: key(name), seq, body: Bytes::copy_from_slice(body.as_bytes()) }
}

async fn append(store: &dyn Store, name: &str, lines: &[(u64, &str)]) {
    let mut batch = putting(store, P, vec![record(name, "owner")]).await;
    batch.append = lines.iter().map(|(seq, body)| line(name, *seq, body)).collect();
    commit(store, batch).await;
}

fn lines(of: &[(u64, &str)]) -> Vec<(u64, Bytes)> {
    of.iter().map(|(seq, body)| (*seq, Bytes::copy_from_slice(body.as_bytes()))).collect()
}

/// Entries come by sequence, behind the one asked, at most as many as asked; logs of similar names do not mix.
pub async fn entries_are_read_in_order(subject: &dyn Subject) {
    let store = subject.open().await;
    append(&*store, "a", &[(3, "three"), (1, "one")]).await;
    append(&*store, "a", &[(2, "two"), (300, "last"), (crate::limits::SEQ_MAX, "max")]).await;
    append(&*store, "a/b", &[(1, "other")]).await;
    append(&*store, "a0", &[(1, "other")]).await;
    let all = lines(&[(1, "one"), (2, "two"), (3, "three"), (300, "last"), (crate::limits::SEQ_MAX, "max")]);
    assert_eq!(log(&*store, P, "a").await, all);
    for (after, limit) in
        [(0, 2), (1, 2), (2, 100), (3, 1), (299, 9), (crate::limits::SEQ_MAX, 9), (u64::MAX, 9), (0, 0)]
    {
        let found = store.read_log(P, &key("a"), after, limit).await.expect("the store reads logs");
        let found: Vec<(u64, Bytes)> = found.into_iter().map(|entry| (entry.seq, entry.body)).collect();
        let expected: Vec<_> = all.iter().filter(|(seq, _)| *seq > after).take(limit).cloned().collect();
        assert_eq!(found, expected, "after {after}, at most {limit}");
    }
    assert_eq!(log(&*store, P, "none").await, []);
}

/// The same sequence again replaces what was there.
pub async fn an_entry_written_again_is_replaced(subject: &dyn Subject) {
    let store = subject.open().await;
    append(&*store, "a", &[(1, "one"), (2, "two")]).await;
    append(&*store, "a", &[(2, "second"), (3, "three")]).await;
    assert_eq!(log(&*store, P, "a").await, lines(&[(1, "one"), (2, "second"), (3, "three")]));
}

/// Trimming takes entries up to and including a sequence from one log only.
pub async fn trimming_forgets_up_to_a_sequence(subject: &dyn Subject) {
    let store = subject.open().await;
    append(&*store, "a", &[(1, "one"), (2, "two"), (5, "five")]).await;
    append(&*store, "b", &[(1, "one")]).await;
    for (through, left) in [(0, 3), (1, 2), (4, 1), (u64::MAX, 0)] {
        let mut batch = putting(&*store, P, vec![record("a", "owner")]).await;
        batch.trim.push(Trim::Log { log: key("a"), through });
        commit(&*store, batch).await;
        assert_eq!(log(&*store, P, "a").await.len(), left, "through {through}");
    }
    assert_eq!(log(&*store, P, "b").await, lines(&[(1, "one")]));
}

/// Deleting the record deletes its log, and a record made again starts with an empty one.
pub async fn a_log_ends_with_its_record(subject: &dyn Subject) {
    let store = subject.open().await;
    append(&*store, "a", &[(1, "one"), (2, "two")]).await;
    append(&*store, "ab", &[(1, "one")]).await;
    delete(&*store, P, "a").await;
    assert_eq!(log(&*store, P, "a").await, []);
    put(&*store, P, vec![record("a", "again")]).await;
    assert_eq!(log(&*store, P, "a").await, []);
    assert_eq!(log(&*store, P, "ab").await, lines(&[(1, "one")]));
}
