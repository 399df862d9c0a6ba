//! What the registry of watches has read, and what it tells.

use super::*;
use futures_util::FutureExt;
use onward_core::ExecutionId;
use uuid::Uuid;

fn key(n: u128, partition: u16) -> (PartitionId, Key) {
    let partition = PartitionId(partition);
    (partition, Key::Execution(ExecutionId::new(Uuid::from_u128(n), partition)))
}

fn read(watches: &Watches) -> usize {
    let mut loads = 0;
    while let Some(load) = watches.take(&BTreeSet::new()) {
        watches.show(&load, load.keys.iter().map(|_| Ok(None)));
        loads += 1;
    }
    loads
}

#[test]
fn watchers_of_a_partition_share_their_reads() {
    let watches = Watches::default();
    let (partition, same) = key(1, 3);
    let all: Vec<Watch> = (0..1_000).map(|_| watches.watch(partition, same.clone())).collect();
    let turns: Vec<u64> = all.iter().map(Watch::look).collect();
    assert_eq!(read(&watches), 1);
    assert!(all.iter().zip(turns).all(|(watch, turn)| watch.seen(turn).now_or_never().is_some()));
    let near: Vec<Watch> = (0..200).map(|n| watches.watch(partition, key(n + 2, 3).1)).collect();
    near.iter().for_each(|watch| assert!(watch.look() > 0));
    assert_eq!(read(&watches), 1, "neighbours are read together");
    watches.sweep();
    assert_eq!(read(&watches), 1);
}

#[test]
fn a_look_is_never_answered_with_what_was_read_before() {
    let watches = Watches::default();
    let (partition, key) = key(1, 0);
    let watch = watches.watch(partition, key);
    let first = watch.look();
    let load = watches.take(&BTreeSet::new()).expect("something to read");
    let second = watch.look();
    watches.show(&load, [Ok(None)]);
    assert!(watch.seen(first).now_or_never().is_some() && watch.seen(second).now_or_never().is_none());
    assert!(watches.take(&BTreeSet::from([partition])).is_none(), "one load of a partition at a time");
    assert_eq!(read(&watches), 1);
    assert!(watch.seen(second).now_or_never().is_some());
}

#[test]
fn hints_have_watched_records_read_and_no_others() {
    let watches = Watches::default();
    let ((partition, one), (_, other), (elsewhere, third)) = (key(1, 0), key(2, 0), key(3, 1));
    let watching = [watches.watch(partition, one.clone()), watches.watch(elsewhere, third.clone())];
    let named = |key: &Key| Ended::Named(BTreeSet::from([topics::short_name(key)]));
    watches.tell(partition, named(&other));
    assert_eq!(read(&watches), 0);
    watches.tell(partition, named(&one));
    assert_eq!(watches.take(&BTreeSet::new()).map(|load| load.keys), Some(vec![one]));
    watches.tell(elsewhere, Ended::Many);
    assert!(watches.want_unnamed() && !watches.want_unnamed());
    assert_eq!(watches.take(&BTreeSet::new()).map(|load| load.keys), Some(vec![third]));
    watches.suspect_all();
    assert!(watches.want_unnamed());
    assert_eq!(read(&watches), 2, "one load for each partition");
    drop(watching);
    assert!(watches.is_empty() && watches.lock().names.is_empty());
    watches.sweep();
    assert_eq!(read(&watches), 0);
}

#[test]
fn a_sweep_is_bounded_and_the_next_one_goes_on() {
    let watches = Watches::default();
    let many = SWEPT_MAX as u128 + 10;
    let watching: Vec<Watch> = (0..many).map(|n| watches.watch(PartitionId(0), key(n, 0).1)).collect();
    let swept = || {
        watches.sweep();
        let mut swept = BTreeSet::new();
        while let Some(load) = watches.take(&BTreeSet::new()) {
            assert!(load.keys.len() <= LOAD_KEYS_MAX);
            swept.extend(load.keys);
        }
        swept
    };
    let (first, second) = (swept(), swept());
    assert_eq!((first.len(), second.len()), (SWEPT_MAX, 10));
    assert_eq!(first.union(&second).count(), watching.len());
}
