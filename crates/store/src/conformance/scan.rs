//! Whether indexes are ordered, paged and filtered as promised, and follow their records.

use super::Subject;
use super::kit::{P, delete, entry, index, key, list, put, record, scan};
use crate::{Direction, IndexName, Key, Page, Partition, Partitions, Range, Record, Store};

/// Ranks at the edges of signed, floating and unsigned numbers.
const RANKS: [u64; 11] =
    [0, 1, 2, (1 << 53) - 1, 1 << 53, (1 << 53) + 1, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX];
/// Keys that share prefixes, in bytewise order, which is not the order of any language.
const KEYS: [&str; 12] = ["A", "Z", "a", "a ", "a/", "a/b", "a0", "aa", "b", "é", "\u{ffff}", "😀"];

fn listed(name: &str, index: &str, rank: u64) -> Record {
    let mut made = record(name, "body");
    made.entries = vec![entry(index, rank)];
    made
}

/// Puts a key for every rank and name, and returns the order they must have.
async fn fill(store: &dyn Store) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    for (at, rank) in RANKS.iter().enumerate() {
        let mut records = Vec::new();
        for name in KEYS {
            let name = format!("{name}{at:02}");
            records.push(listed(&name, "i", *rank));
            all.push((*rank, name));
        }
        put(store, P, records).await;
    }
    all.sort_by(|a, b| (a.0, a.1.as_bytes()).cmp(&(b.0, b.1.as_bytes())));
    all
}

/// Order is by rank as an unsigned number, then by the bytes of the key.
pub async fn order_is_rank_then_key_bytewise(subject: &dyn Subject) {
    let store = subject.open().await;
    put(&*store, P, KEYS.iter().rev().map(|name| listed(name, "same", 7)).collect()).await;
    let names: Vec<String> = list(&*store, "same").await.into_iter().map(|found| found.1).collect();
    assert_eq!(names, KEYS);
    let all = fill(&*store).await;
    put(&*store, P, vec![Record { due: Some(1), ..record("due", "") }]).await;
    assert_eq!(list(&*store, "i").await, all);
    let reversed: Vec<_> = all.into_iter().rev().collect();
    let range = Range { direction: Direction::Descending, ..Range::default() };
    assert_eq!(scan(&*store, "i", range).await, reversed);
    for other in ["", "i ", "i/", "h", "j"] {
        assert_eq!(list(&*store, other).await, [], "{other:?} is another index");
    }
}

/// Pages of any size, each started behind the last item of the one before, give every entry once.
pub async fn pages_join_up_in_both_directions(subject: &dyn Subject) {
    let store = subject.open().await;
    let all = fill(&*store).await;
    for (direction, limit) in [
        (Direction::Ascending, 1),
        (Direction::Ascending, 7),
        (Direction::Descending, 1),
        (Direction::Descending, 13),
        (Direction::Ascending, all.len()),
    ] {
        let mut after: Option<(u64, Key)> = None;
        let mut seen = Vec::new();
        loop {
            let range = Range { after: after.clone(), direction, ..Range::default() };
            let page = store.scan(&index("i"), &Partitions::All, range, limit).await.expect("the store scans");
            assert!(page.items.len() <= limit);
            assert!(!page.more || page.items.len() == limit, "a short page cannot have more behind it");
            after = page.items.last().map(|found| (found.rank, found.key.clone()));
            seen.extend(page.items.into_iter().map(|found| (found.rank, found.key.to_string())));
            if !page.more {
                break;
            }
            assert!(seen.len() <= all.len(), "paging does not end");
        }
        if direction == Direction::Descending {
            seen.reverse();
        }
        assert_eq!(seen, all, "{direction:?} in pages of {limit}");
    }
}

/// `from` is included, `until` is not, and both combine with `after`.
pub async fn ranges_bound_a_scan(subject: &dyn Subject) {
    let store = subject.open().await;
    let all = fill(&*store).await;
    let afters = [None, Some((1, key("a"))), Some((1 << 63, key("b03"))), Some((u64::MAX, key("zzz")))];
    for from in RANKS.iter().copied().map(Some).chain([None]) {
        for until in [None, Some(0), Some(2), Some(1 << 63), Some(u64::MAX)] {
            for after in &afters {
                for direction in [Direction::Ascending, Direction::Descending] {
                    let range = Range { after: after.clone(), from, until, direction };
                    let expected = within(&all, &range);
                    assert_eq!(scan(&*store, "i", range.clone()).await, expected, "{range:?}");
                }
            }
        }
    }
}

fn within(all: &[(u64, String)], range: &Range) -> Vec<(u64, String)> {
    let mut found: Vec<(u64, String)> = all
        .iter()
        .filter(|(rank, _)| range.from.is_none_or(|from| *rank >= from))
        .filter(|(rank, _)| range.until.is_none_or(|until| *rank < until))
        .filter(|(rank, name)| {
            let place = (*rank, name.as_bytes());
            range.after.as_ref().is_none_or(|(at, key)| match range.direction {
                Direction::Ascending => place > (*at, key.as_str().as_bytes()),
                Direction::Descending => place < (*at, key.as_str().as_bytes()),
            })
        })
        .cloned()
        .collect();
    if range.direction == Direction::Descending {
        found.reverse();
    }
    found
}

/// Only entries of the asked partitions are found, and each says where it lives.
pub async fn partitions_filter_a_scan(subject: &dyn Subject) {
    let store = subject.open().await;
    for at in 0..12_u16 {
        let partition = Partition(at % 4);
        let mut made = listed(&format!("k{at:02}"), "i", u64::from(at));
        made.due = Some(u64::from(at));
        put(&*store, partition, vec![made]).await;
    }
    let some = Partitions::Some(vec![Partition(1), Partition(3)]);
    let page = store.scan(&index("i"), &some, Range::default(), 100).await.expect("the store scans");
    let found: Vec<(u64, u16)> = page.items.iter().map(|found| (found.rank, found.partition.0)).collect();
    assert_eq!(found, [(1, 1), (3, 3), (5, 1), (7, 3), (9, 1), (11, 3)]);
    let page = store.scan(&index("i"), &some, Range::default(), 4).await.expect("the store scans");
    assert_eq!((page.items.len(), page.more), (4, true));
    let due = store.due(&some, Range::between(2, 10), 100).await.expect("the store tells due times");
    let due: Vec<(u64, u16)> = due.items.iter().map(|found| (found.rank, found.partition.0)).collect();
    assert_eq!(due, [(3, 3), (5, 1), (7, 3), (9, 1)]);
    let count = store.count(&index("i"), &some, 100).await.expect("the store counts");
    assert_eq!((count.n, count.capped), (6, false));
    let none = Partitions::Some(Vec::new());
    assert_eq!(store.scan(&index("i"), &none, Range::default(), 9).await.expect("the store scans").items, []);
}

/// Pages of several indexes in one call are those of single scans, in the order asked, and together are one read.
pub async fn several_indexes_are_scanned_at_once(subject: &dyn Subject) {
    let store = subject.open().await;
    for at in 0..20_u16 {
        let mut made = record(&format!("k{at:02}"), "body");
        made.entries = vec![entry("i", u64::from(at / 2)), entry("i/j", u64::MAX - u64::from(at))];
        made.entries.extend((at % 3 == 0).then(|| entry("thirds", 7)));
        made.due = Some(u64::from(at));
        put(&*store, Partition(at % 4), vec![made]).await;
    }
    let up = several_ranges();
    let mut down = up.clone();
    down.reverse();
    down.iter_mut().for_each(|(_, range)| range.direction = Direction::Descending);
    let mixed: Vec<(IndexName, Range)> =
        up.iter().zip(&down).flat_map(|(up, down)| [up.clone(), down.clone()]).collect();
    for partitions in
        [Partitions::All, Partitions::Some(vec![Partition(1), Partition(2)]), Partitions::Some(Vec::new())]
    {
        for limit in [0, 1, 3, 10, 100] {
            for wanted in [&up[..], &down, &mixed, &up[..1], &up[up.len() - 1..]] {
                agrees_with_single_scans(&*store, wanted, &partitions, limit).await;
            }
        }
    }
    let pages = store.scan_many(&up, &Partitions::All, 4).await.expect("the store scans");
    let text = |page: &Page| {
        let names: Vec<&str> = page.items.iter().map(|found| found.key.as_str()).collect();
        names.join(" ") + if page.more { " ..." } else { "" }
    };
    let pages: Vec<String> = pages.iter().map(text).collect();
    let (first, inner) = ("k00 k01 k02 k03 ...", "k12 k11 k10 k09 ...");
    let (third, cut, last) = ("k09 k12 k15 k18", "k10 k11 k12 k13 ...", "k04 k03 k02 k01");
    assert_eq!(pages, [first, "", third, "", inner, cut, "", last, "", "", ""]);
    let before = store.stats().reads;
    assert_eq!(store.scan_many(&[], &Partitions::All, 9).await.expect("the store scans"), []);
    assert_eq!(store.stats().reads, before, "nothing was read");
}

/// Indexes with entries in ranges of every kind, some more than once, and names without entries or that no index can have.
fn several_ranges() -> Vec<(IndexName, Range)> {
    let after = |rank, name| Range { after: Some((rank, key(name))), ..Range::default() };
    let ranges = [
        ("i", Range::default()),
        ("nothing", Range::default()),
        ("thirds", after(7, "k06")),
        ("", Range::default()),
        ("i/j", Range::between(u64::MAX - 12, u64::MAX - 3)),
        ("i", Range { from: Some(2), ..after(4, "k09") }),
        ("zero\0", Range::default()),
        ("i/j", Range { until: Some(u64::MAX), ..after(u64::MAX - 5, "k05") }),
        ("thirds", Range::between(8, 8)),
        ("i", Range { until: Some(0), ..Range::default() }),
        ("line\n", Range::default()),
    ];
    ranges.into_iter().map(|(name, range)| (index(name), range)).collect()
}

async fn agrees_with_single_scans(
    store: &dyn Store,
    wanted: &[(IndexName, Range)],
    partitions: &Partitions,
    limit: usize,
) {
    let before = store.stats().reads;
    let pages = store.scan_many(wanted, partitions, limit).await.expect("the store scans");
    assert_eq!(store.stats().reads, before + 1, "one call is one read");
    assert_eq!(pages.len(), wanted.len());
    for ((name, range), page) in wanted.iter().zip(pages) {
        let alone = store.scan(name, partitions, range.clone(), limit).await.expect("the store scans");
        assert_eq!(page, alone, "{name:?} {partitions:?} {range:?} {limit}");
    }
}

/// An entry appears, moves and goes with its record, in the same commit.
pub async fn entries_follow_their_record(subject: &dyn Subject) {
    let store = subject.open().await;
    let mut made = record("a", "1");
    made.entries = vec![entry("x", 1), entry("y", 2)];
    put(&*store, P, vec![made.clone(), listed("b", "x", 1)]).await;
    made.entries = vec![entry("z", 4), entry("x", 3)];
    put(&*store, P, vec![made.clone()]).await;
    assert_eq!(list(&*store, "x").await, [(1, "b".to_owned()), (3, "a".to_owned())]);
    assert_eq!(list(&*store, "y").await, []);
    assert_eq!(list(&*store, "z").await, [(4, "a".to_owned())]);
    made.entries.reverse();
    put(&*store, P, vec![made.clone()]).await;
    assert_eq!(super::kit::load(&*store, P, "a").await.map(|record| record.entries), Some(made.entries));
    assert_eq!(list(&*store, "x").await, [(1, "b".to_owned()), (3, "a".to_owned())]);
    delete(&*store, P, "a").await;
    assert_eq!(list(&*store, "x").await, [(1, "b".to_owned())]);
    assert_eq!(list(&*store, "z").await, []);
}

/// A count is exact up to its cap and says when it stopped there.
pub async fn counts_stop_at_the_cap(subject: &dyn Subject) {
    let store = subject.open().await;
    put(&*store, P, (0..10).map(|at| listed(&format!("k{at}"), "i", at)).collect()).await;
    for (cap, n, capped) in [(0, 0, true), (1, 1, true), (9, 9, true), (10, 10, false), (u64::MAX, 10, false)] {
        let count = store.count(&index("i"), &Partitions::All, cap).await.expect("the store counts");
        assert_eq!((count.n, count.capped), (n, capped), "cap {cap}");
    }
    let none = store.count(&index("none"), &Partitions::All, 5).await.expect("the store counts");
    assert_eq!((none.n, none.capped), (0, false));
}
