//! Whether a reader of the feeds sees every event once, in order, and learns about those it came too late for.

use super::Subject;
use super::kit::{P, commit, feed, fresh, soon};
use crate::{Batch, Cursor, Event, Partition, Store, Trim};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

async fn emit(store: &dyn Store, partition: Partition, bodies: &[&str]) {
    let mut batch = Batch::new(partition, fresh());
    batch.events = bodies.iter().map(|body| Bytes::copy_from_slice(body.as_bytes())).collect();
    commit(store, batch).await;
}

async fn trim(store: &dyn Store, partition: Partition, through: u64) {
    let mut batch = Batch::new(partition, fresh());
    batch.trim.push(Trim::Feed { through });
    commit(store, batch).await;
}

fn bodies(events: &[Event], partition: Partition) -> Vec<&str> {
    let own = events.iter().filter(|event| event.partition == partition);
    own.map(|event| std::str::from_utf8(&event.body).expect("text")).collect()
}

/// Events of a partition come in the order of their commits, and a cursor goes on exactly behind the last.
pub async fn events_come_in_order_and_resume(subject: &dyn Subject) {
    let store = subject.open().await;
    let nothing = store.read_feed(&Cursor::start(), 10).await.expect("the store reads feeds");
    assert_eq!((nothing.events.len(), nothing.gap), (0, false));
    emit(&*store, P, &["1", "2"]).await;
    emit(&*store, Partition(2), &["a"]).await;
    emit(&*store, P, &["3"]).await;
    let whole = feed(&*store).await;
    assert_eq!(bodies(&whole, P), ["1", "2", "3"]);
    assert_eq!(bodies(&whole, Partition(2)), ["a"]);
    let mut end = Cursor::start();
    for limit in [1, 2, 3, 10] {
        let (seen, cursor) = read_on(&*store, &nothing.cursor, limit).await;
        assert_eq!(bodies(&seen, P), ["1", "2", "3"], "pages of {limit}");
        assert_eq!(bodies(&seen, Partition(2)), ["a"], "pages of {limit}");
        end = cursor;
    }
    for (at, event) in whole.iter().enumerate() {
        let (rest, _) = read_on(&*store, &event.cursor, 10).await;
        assert_eq!(rest, whole[at + 1..], "a reader goes on behind any event");
    }
    emit(&*store, Partition(3), &["later"]).await;
    let (seen, _) = read_on(&*store, &Cursor::from_text(end.as_str()), 10).await;
    assert_eq!((seen.len(), bodies(&seen, Partition(3))), (1, vec!["later"]));
    let foreign = store.read_feed(&Cursor::from_text("not a cursor"), 1).await.expect_err("no store made this cursor");
    assert_eq!(foreign.kind(), crate::ErrorKind::Invalid);
}

/// A reader that starts at the end sees what is committed from then on, and nothing before it.
pub async fn a_reader_may_start_at_the_end(subject: &dyn Subject) {
    let store = subject.open().await;
    for _ in 0..2 {
        let end = store.read_feed(&Cursor::end(), 10).await.expect("the store reads feeds");
        assert_eq!((end.events.len(), end.gap), (0, false));
        let (seen, _) = read_on(&*store, &end.cursor, 10).await;
        assert_eq!(seen, []);
        emit(&*store, P, &["1", "2"]).await;
        emit(&*store, Partition(2), &["a"]).await;
        let (seen, _) = read_on(&*store, &end.cursor, 1).await;
        assert_eq!((bodies(&seen, P), bodies(&seen, Partition(2))), (vec!["1", "2"], vec!["a"]));
    }
}

/// As many pages as there are partitions show something of each, or all that was committed before the busy one's.
pub async fn a_busy_partition_keeps_no_other_waiting(subject: &dyn Subject) {
    let store = subject.open().await;
    let others = [1, 2, 3].map(Partition);
    for other in others {
        emit(&*store, other, &["early"]).await;
    }
    for _ in 0..10 {
        emit(&*store, Partition(0), &["busy"; 20]).await;
    }
    let (mut seen, mut cursor) = (BTreeMap::new(), Cursor::start());
    for _ in 0..store.meta().partitions {
        let page = store.read_feed(&cursor, 10).await.expect("the store reads feeds");
        page.events.iter().for_each(|event| *seen.entry(event.partition).or_insert(0) += 1);
        cursor = page.cursor;
    }
    assert!(others.iter().all(|other| seen.get(other) == Some(&1)), "{seen:?}");
}

/// Everything behind a cursor, page by page, and where it ends.
async fn read_on(store: &dyn Store, from: &Cursor, limit: usize) -> (Vec<Event>, Cursor) {
    let (mut seen, mut cursor) = (Vec::new(), from.clone());
    loop {
        let page = store.read_feed(&cursor, limit).await.expect("the store reads feeds");
        assert!(page.events.len() <= limit && !page.gap);
        cursor = page.cursor;
        if page.events.is_empty() {
            return (seen, cursor);
        }
        seen.extend(page.events);
    }
}

/// Writers of several processes race; a reader that pages along misses nothing and is never overtaken from behind.
pub async fn nothing_appears_behind_a_reader(subject: &dyn Subject) {
    const WRITERS: usize = 6;
    const EACH: usize = 60;
    let stores: Vec<Arc<dyn Store>> = vec![subject.open().await, subject.open().await, subject.open().await];
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let store = stores[writer % 2].clone();
        writers.push(tokio::spawn(async move {
            for at in 0..EACH {
                let partition = Partition(u16::try_from((writer + at) % 3).expect("small"));
                emit(&*store, partition, &[&format!("{writer}/{at}/a"), &format!("{writer}/{at}/b")]).await;
            }
        }));
    }
    let reader = stores[2].clone();
    let seen = soon("reading every event", async move {
        let (mut seen, mut cursor) = (Vec::new(), Cursor::start());
        while seen.len() < WRITERS * EACH * 2 {
            let page = reader.read_feed(&cursor, 17).await.expect("the store reads feeds");
            assert!(!page.gap, "nothing was trimmed");
            cursor = page.cursor;
            seen.extend(page.events);
            tokio::task::yield_now().await;
        }
        seen
    })
    .await;
    for writer in writers {
        writer.await.expect("no writer panics");
    }
    let mut last: BTreeMap<Partition, u64> = BTreeMap::new();
    for event in &seen {
        let before = last.insert(event.partition, event.position);
        assert!(before.is_none_or(|before| before < event.position), "{event:?} came behind {before:?}");
    }
    assert_eq!(sorted(seen.clone()), sorted(feed(&*stores[2]).await), "the reader saw what is there, each event once");
    println!("feed events read beside {WRITERS} writers: {}", seen.len());
}

/// Events without their cursors, which depend on how a reader got there when a cursor holds a place for each partition.
fn sorted(events: Vec<Event>) -> Vec<(Partition, u64, Bytes)> {
    let mut events: Vec<_> = events.into_iter().map(|event| (event.partition, event.position, event.body)).collect();
    events.sort();
    events
}

/// Trimming takes one partition's events up to a position; only a reader who had not read them hears of a gap.
pub async fn trimming_leaves_a_visible_gap(subject: &dyn Subject) {
    let store = subject.open().await;
    emit(&*store, P, &["1", "2", "3"]).await;
    emit(&*store, Partition(2), &["a", "b"]).await;
    emit(&*store, P, &["4"]).await;
    let all = feed(&*store).await;
    let own: Vec<&Event> = all.iter().filter(|event| event.partition == P).collect();
    let before = store.read_feed(&Cursor::start(), 100).await.expect("the store reads feeds");
    trim(&*store, P, own[1].position).await;

    let late = store.read_feed(&Cursor::start(), 100).await.expect("the store reads feeds");
    assert!(late.gap, "a reader from the start misses two events");
    assert_eq!(bodies(&late.events, P), ["3", "4"]);
    assert_eq!(bodies(&late.events, Partition(2)), ["a", "b"]);
    let next = store.read_feed(&late.cursor, 100).await.expect("the store reads feeds");
    assert_eq!((next.events.len(), next.gap), (0, false));
    emit(&*store, P, &["5"]).await;
    let current = store.read_feed(&before.cursor, 100).await.expect("the store reads feeds");
    assert_eq!(
        (bodies(&current.events, P), current.gap),
        (vec!["5"], false),
        "a reader that had read them misses nothing"
    );
}

/// The newest event stays even when everything is trimmed, so that no position is given twice.
pub async fn positions_never_start_again(subject: &dyn Subject) {
    let store = subject.open().await;
    let mut highest = 0;
    for round in 0..5 {
        emit(&*store, P, &["event", &format!("{round}")]).await;
        let page = feed(&*store).await;
        let newest = page.last().expect("just written").position;
        assert!(newest > highest, "position {newest} after {highest}");
        highest = newest;
        trim(&*store, P, u64::MAX).await;
        let left = feed(&*store).await;
        assert_eq!(bodies(&left, P), [format!("{round}")]);
    }
    drop(store);
    let store = subject.open().await;
    emit(&*store, P, &["after"]).await;
    assert!(feed(&*store).await.last().expect("just written").position > highest);
}

/// Positions can be raised above those of a time that was lost; readers from below hear of it once and go on.
pub async fn positions_can_be_raised(subject: &dyn Subject) {
    const ABOVE: u64 = 1 << 61;
    let store = subject.open().await;
    emit(&*store, P, &["1", "2"]).await;
    let before = store.read_feed(&Cursor::start(), 100).await.expect("the store reads feeds");
    let mut batch = Batch::new(P, fresh());
    batch.events = vec!["raised".into()];
    batch.feed_above = ABOVE;
    commit(&*store, batch).await;
    emit(&*store, P, &["3"]).await;

    let page = store.read_feed(&before.cursor, 100).await.expect("the store reads feeds");
    assert_eq!((bodies(&page.events, P), page.gap), (vec!["raised", "3"], true));
    assert!(page.events.iter().all(|event| event.position > ABOVE));
    let next = store.read_feed(&page.cursor, 100).await.expect("the store reads feeds");
    assert_eq!((next.events.len(), next.gap), (0, false));
    let all = store.read_feed(&Cursor::start(), 100).await.expect("the store reads feeds");
    assert_eq!((bodies(&all.events, P), all.gap), (vec!["1", "2", "raised", "3"], true), "nothing is passed over");
    let mut lower = Batch::new(P, fresh());
    lower.events = vec!["4".into()];
    lower.feed_above = 5;
    commit(&*store, lower).await;
    let page = store.read_feed(&page.cursor, 100).await.expect("the store reads feeds");
    assert_eq!((bodies(&page.events, P), page.gap), (vec!["4"], false), "positions never go down again");
}
