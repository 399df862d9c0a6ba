//! Cursors, ranges and places in audits, as strange as callers can make them: refused or answered, by all stores alike.

use bytes::Bytes;
use onward_fuzz::proptest::prelude::*;
use onward_fuzz::{fuzz, fuzz_all, near};
use onward_store::memory::Memory;
use onward_store::{
    Batch, Cursor, Direction, Entry, ErrorKind, IndexName, Key, Partition, Partitions, Range, Record, Result, Store,
    Version, sqlite,
};
use std::sync::Arc;
use tokio::runtime::Runtime;

/// Two stores with the same in them.
struct Both {
    runtime: Runtime,
    memory: Memory,
    sqlite: Arc<dyn Store>,
    _directory: tempfile::TempDir,
}

impl Both {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let directory = tempfile::tempdir().expect("a directory");
        let clock = || Arc::new(|| 1_700_000_000_000);
        let memory = Memory::new(4, clock(), 7);
        let options = sqlite::Options { partitions: Some(4), clock: clock(), ..sqlite::Options::default() };
        let sqlite = runtime.block_on(sqlite::open(directory.path().join("store.db"), options)).expect("a store");
        let both = Self { runtime, memory, sqlite: Arc::new(sqlite), _directory: directory };
        for number in 0..10_u16 {
            both.write(number);
        }
        both
    }

    fn write(&self, number: u16) {
        let mut batch = Batch::new(Partition(number % 4), Version(u128::from(number) + 1));
        let (key, rank) = (Key::new(format!("key-{number}")), u64::from(number % 5));
        let entries = vec![Entry { name: IndexName::new("list"), rank }];
        batch.expect.push((key.clone(), None));
        batch.put.push(Record { key, version: batch.id, body: Bytes::new(), entries, due: Some(rank) });
        batch.events.push(Bytes::from(format!("event {number}")));
        for store in [&self.memory as &dyn Store, &*self.sqlite] {
            self.runtime.block_on(store.commit(vec![batch.clone()])).expect("it is committed");
        }
    }

    /// What both stores answer, which must be the same, or that both refuse.
    fn ask<T, F>(&self, ask: impl Fn(Arc<dyn Store>) -> F) -> std::result::Result<Option<T>, TestCaseError>
    where
        T: PartialEq + std::fmt::Debug,
        F: Future<Output = Result<T>>,
    {
        let answers =
            [Arc::new(self.memory.clone()), self.sqlite.clone()].map(|store| self.runtime.block_on(ask(store)));
        match answers {
            [Ok(one), Ok(other)] => {
                prop_assert_eq!(&one, &other);
                Ok(Some(one))
            }
            [Err(one), Err(other)] => {
                prop_assert_eq!((one.kind(), other.kind()), (ErrorKind::Invalid, ErrorKind::Invalid));
                Ok(None)
            }
            [one, other] => Err(TestCaseError::fail(format!("{one:?} and {other:?}"))),
        }
    }
}

#[test]
fn fuzz_cursors_of_the_feed() {
    let both = Both::new();
    fuzz(near("[1-9][0-9]{0,18}|[0-9]"), |text| {
        let cursor = Cursor::from_text(text.as_str());
        let page = both.ask(|store| {
            let cursor = cursor.clone();
            async move { store.read_feed(&cursor, 3).await }
        })?;
        let Some(page) = page else { return Ok(false) };
        prop_assert!(page.events.len() <= 3);
        prop_assert!(text.is_empty() || text.parse::<u64>().is_ok_and(|position| position.to_string() == text));
        let next = both.ask(|store| {
            let cursor = page.cursor.clone();
            async move { store.read_feed(&cursor, 100).await }
        })?;
        prop_assert!(next.is_some(), "a cursor that a store gave is one");
        Ok(true)
    });
}

#[test]
fn fuzz_ranges_of_an_index() {
    let both = Both::new();
    let rank = || prop_oneof![4 => (0_u64..7).boxed(), 1 => Just(u64::MAX).boxed(), 1 => any::<u64>().boxed()];
    let after = prop::option::of((rank(), near("key-[0-9]")));
    let ranges = (after, prop::option::of(rank()), prop::option::of(rank()), any::<bool>(), 0_usize..12);
    fuzz_all(ranges, |(after, from, until, up, limit)| {
        // A key that a store would not take comes from nobody: cursors are read as ids first.
        let after = after.map(|(rank, key)| (rank, Key::new(key))).filter(|(_, key)| key.is_valid());
        let direction = if up { Direction::Ascending } else { Direction::Descending };
        let range = Range { after, from, until, direction };
        let page = both.ask(|store| {
            let range = range.clone();
            async move { store.scan(&IndexName::new("list"), &Partitions::All, range, limit).await }
        })?;
        prop_assert!(page.is_some_and(|page| page.items.len() <= limit));
        let due = both.ask(|store| {
            let range = range.clone();
            async move { store.due(&Partitions::All, range, limit).await }
        })?;
        prop_assert!(due.is_some_and(|due| due.items.len() <= limit));
        Ok(())
    });
}

/// The two stores name their places differently, so each is asked alone.
#[test]
fn fuzz_places_in_an_audit() {
    let both = Both::new();
    fuzz(
        near("record\nkey-[0-9]|entry\n[0-9]\nlist\nkey-[0-9]|entry\nlist\n-?[0-9]{1,19}\nkey-[0-9]|due\n[0-9]\nkey"),
        |text| {
            let mut accepted = false;
            for store in [&both.memory as &dyn Store, &*both.sqlite] {
                match both.runtime.block_on(store.audit(Some(&text), 3)) {
                    Ok(page) => {
                        prop_assert!(page.records.len() <= 3 && page.faults.is_empty(), "{page:?}");
                        accepted = true;
                    }
                    Err(error) => prop_assert_eq!(error.kind(), ErrorKind::Invalid),
                }
            }
            Ok(accepted)
        },
    );
}
