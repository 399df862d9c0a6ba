//! Whether an audit sees everything, finds what is wrong and nothing else, and can be acted upon.

use super::Subject;
use super::kit::{Chance, P, commit, dues, entry, fresh, key, list, load, outcome_of, put, record};
use crate::{AuditPage, Batch, ErrorKind, Fault, FaultKind, IndexPlace, Key, Mend, Outcome, Partition, Record, Store};

/// Small, so that every phase has several pages.
const PAGE: usize = 7;

fn listed(name: &str, rank: u64) -> Record {
    Record { entries: vec![entry("a", rank), entry("b", rank + 1)], due: Some(rank + 2), ..record(name, "body") }
}

/// All pages, joined.
async fn audit(store: &dyn Store) -> AuditPage {
    let mut all = AuditPage::default();
    let mut from = None;
    loop {
        let page = store.audit(from.as_deref(), PAGE).await.expect("the store audits itself");
        all.records.extend(page.records);
        all.faults.extend(page.faults);
        all.rows += page.rows;
        from = page.next;
        if from.is_none() {
            return all;
        }
    }
}

async fn faults(store: &dyn Store) -> Vec<Fault> {
    let mut faults = audit(store).await.faults;
    faults.sort_by(|a, b| (&a.key, &a.place).cmp(&(&b.key, &b.place)));
    faults
}

/// A batch with one repair of one record as it is now.
async fn mending(store: &dyn Store, partition: Partition, mend: Mend) -> Batch {
    let version = load(store, partition, mend.key.as_str()).await.map(|now| now.version);
    let mut batch = Batch::new(partition, fresh());
    batch.expect.push((mend.key.clone(), version));
    batch.mend.push(mend);
    batch
}

async fn damage(store: &dyn Store, name: &str, place: IndexPlace, listed: bool) {
    let batch = mending(store, P, Mend { key: key(name), place, listed }).await;
    commit(store, batch).await;
}

/// Every record and every row is seen, whatever the size of the pages.
pub async fn an_audit_sees_everything(subject: &dyn Subject) {
    let store = subject.open().await;
    assert_eq!(audit(&*store).await, AuditPage::default());
    for at in 0..40_u16 {
        put(&*store, Partition(at % 4), vec![listed(&format!("r{at:02}"), u64::from(at))]).await;
    }
    let all = audit(&*store).await;
    let mut seen: Vec<(Key, Partition)> = all.records.iter().map(|(p, record)| (record.key.clone(), *p)).collect();
    seen.sort();
    seen.dedup();
    let expected: Vec<_> = (0..40_u16).map(|at| (key(&format!("r{at:02}")), Partition(at % 4))).collect();
    assert_eq!(seen, expected);
    assert!(all.rows >= 120, "{} rows", all.rows);
    for (partition, found) in &all.records {
        assert_eq!(Some(found), load(&*store, *partition, found.key.as_str()).await.as_ref());
    }
    let error = store.audit(Some("somewhere else"), PAGE).await.expect_err("a place nobody gave is refused");
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

/// Each kind of damage is found, and the repair it asks for sets it right.
pub async fn faults_are_found_and_mended(subject: &dyn Subject) {
    let store = subject.open().await;
    for at in 0..9 {
        put(&*store, P, vec![listed(&format!("r{at}"), at)]).await;
    }
    let (lists, due) = ((list(&*store, "a").await, list(&*store, "b").await), dues(&*store).await);
    damage(&*store, "r1", IndexPlace::Entry(entry("a", 1)), false).await;
    damage(&*store, "r2", IndexPlace::Due(4), false).await;
    damage(&*store, "r3", IndexPlace::Entry(entry("a", 70)), true).await;
    damage(&*store, "r4", IndexPlace::Entry(entry("c", 4)), true).await;
    damage(&*store, "r5", IndexPlace::Due(70), true).await;
    damage(&*store, "gone", IndexPlace::Entry(entry("b", 7)), true).await;
    damage(&*store, "gone", IndexPlace::Due(7), true).await;
    let found = faults(&*store).await;
    let names: Vec<_> = found.iter().map(|fault| (fault.key.as_str(), fault.kind, &fault.place)).collect();
    assert_eq!(
        names,
        [
            ("gone", FaultKind::Stray, &IndexPlace::Entry(entry("b", 7))),
            ("gone", FaultKind::Stray, &IndexPlace::Due(7)),
            ("r1", FaultKind::Missing, &IndexPlace::Entry(entry("a", 1))),
            ("r2", FaultKind::Missing, &IndexPlace::Due(4)),
            ("r3", FaultKind::Stray, &IndexPlace::Entry(entry("a", 70))),
            ("r4", FaultKind::Stray, &IndexPlace::Entry(entry("c", 4))),
            ("r5", FaultKind::Stray, &IndexPlace::Due(70)),
        ]
    );
    for fault in &found {
        let version = load(&*store, P, fault.key.as_str()).await.map(|now| now.version);
        assert_eq!((fault.partition, fault.version), (P, version), "{fault:?}");
        let batch = mending(&*store, fault.partition, fault.mend()).await;
        commit(&*store, batch).await;
    }
    assert_eq!(faults(&*store).await, []);
    assert_eq!(((list(&*store, "a").await, list(&*store, "b").await), dues(&*store).await), (lists, due));
    assert_eq!(list(&*store, "c").await, []);
}

/// A repair of what has changed meanwhile changes nothing.
pub async fn mending_is_conditional(subject: &dyn Subject) {
    let store = subject.open().await;
    put(&*store, P, vec![listed("r", 1)]).await;
    let late = mending(&*store, P, Mend { key: key("r"), place: IndexPlace::Entry(entry("a", 1)), listed: true }).await;
    put(&*store, P, vec![record("r", "listed nowhere")]).await;
    assert!(matches!(outcome_of(&*store, late).await, Outcome::Conflict { .. }));
    assert_eq!((list(&*store, "a").await, faults(&*store).await), (vec![], vec![]));
    let mut blind = Batch::new(P, fresh());
    blind.mend.push(Mend { key: key("r"), place: IndexPlace::Due(1), listed: true });
    let error = store.commit(vec![blind]).await.expect_err("a repair without an expectation is refused");
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

/// While others write, a healthy store shows no fault, and what stays is seen.
pub async fn no_fault_is_imagined_while_others_write(subject: &dyn Subject) {
    let store = subject.open().await;
    for at in 0..60 {
        put(&*store, P, vec![listed(&format!("s{at:02}"), at)]).await;
    }
    let writer = subject.open().await;
    let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
    let (start, started) = tokio::sync::oneshot::channel::<()>();
    let writing = tokio::spawn(async move {
        put(&*writer, P, vec![listed("m00", 1)]).await;
        start.send(()).expect("somebody waits for the first write");
        let mut chance = Chance::new(5);
        let mut writes = 1_u32;
        while matches!(stopped.try_recv(), Err(tokio::sync::oneshot::error::TryRecvError::Empty)) {
            let name = format!("m{:02}", chance.below(60));
            put(&*writer, P, vec![listed(&name, chance.next() % 1000)]).await;
            writes += 1;
        }
        writes
    });
    started.await.expect("the writer writes");
    for _ in 0..20 {
        let page = audit(&*store).await;
        assert_eq!(page.faults, []);
        let mut stay: Vec<_> = page.records.iter().map(|(_, found)| found.key.clone()).collect();
        stay.sort();
        stay.dedup();
        assert_eq!(stay.iter().filter(|key| key.as_str().starts_with('s')).count(), 60);
    }
    drop(stop);
    println!("writes beside the audits: {}", writing.await.expect("the writer ends well"));
}
