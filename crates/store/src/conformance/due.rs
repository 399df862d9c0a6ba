//! Whether due times are found in order, between their bounds, and follow their records.

use super::Subject;
use super::kit::{P, delete, dues, put, record};
use crate::{Millis, Partitions, Range, Record, Store};

fn due_at(name: &str, due: Option<Millis>) -> Record {
    Record { due, ..record(name, "body") }
}

async fn between(store: &dyn Store, from: Millis, until: Millis, limit: usize) -> Vec<(u64, String)> {
    let found =
        store.due(&Partitions::All, Range::between(from, until), limit).await.expect("the store tells due times");
    found.items.into_iter().map(|found| (found.rank, found.key.to_string())).collect()
}

/// `from <= due < until`, earliest first, equal times by key, at most as many as asked.
pub async fn bounds_and_order_hold(subject: &dyn Subject) {
    let store = subject.open().await;
    let times =
        [("e", 30), ("d", 20), ("c", 20), ("b/x", 20), ("b", 20), ("a", 10), ("zero", 0), ("late", u64::MAX - 1)];
    put(&*store, P, times.iter().map(|(name, due)| due_at(name, Some(*due))).collect()).await;
    put(&*store, P, vec![due_at("never", None)]).await;
    let named = |found: &[(u64, &str)]| -> Vec<(u64, String)> {
        found.iter().map(|(due, name)| (*due, (*name).to_owned())).collect()
    };
    let twenties = [(20, "b"), (20, "b/x"), (20, "c"), (20, "d")];
    assert_eq!(between(&*store, 20, 21, 9).await, named(&twenties));
    assert_eq!(between(&*store, 11, 30, 9).await, named(&twenties));
    assert_eq!(between(&*store, 20, 30, 2).await, named(&twenties[..2]));
    assert_eq!(between(&*store, 0, 20, 9).await, named(&[(0, "zero"), (10, "a")]));
    assert_eq!(between(&*store, 30, u64::MAX, 9).await, named(&[(30, "e"), (u64::MAX - 1, "late")]));
    assert_eq!(between(&*store, 20, 20, 9).await, []);
    assert_eq!(between(&*store, 21, 20, 9).await, []);
    assert_eq!(between(&*store, 0, u64::MAX, 0).await, []);
}

/// A due time appears, moves and goes with its record, in the same commit.
pub async fn due_times_follow_their_record(subject: &dyn Subject) {
    let store = subject.open().await;
    put(&*store, P, vec![due_at("a", Some(10)), due_at("b", Some(20)), due_at("c", Some(30))]).await;
    put(&*store, P, vec![due_at("a", Some(25)), due_at("b", None)]).await;
    assert_eq!(dues(&*store).await, [(25, "a".to_owned()), (30, "c".to_owned())]);
    put(&*store, P, vec![due_at("b", Some(25))]).await;
    delete(&*store, P, "a").await;
    assert_eq!(dues(&*store).await, [(25, "b".to_owned()), (30, "c".to_owned())]);
}
