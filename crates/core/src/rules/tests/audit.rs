//! What an audit says about records that were damaged from outside, and that its fixes set them right.

use crate::audit::{self, Fix, Verdict};
use crate::record::{LaneState, Record, UniqueRecord};
use crate::rules::world::World;
use crate::rules::world::make::{self, id, submit, with};
use crate::{Key, PartitionId, Payload, PayloadSlot, Span, end, limits};
use bytes::Bytes;
use std::sync::Arc;

fn large() -> Payload {
    Payload::bytes("image/png", vec![7; 2_000]).unwrap()
}

/// Every verdict about every record, with its key.
fn verdicts(world: &World) -> Vec<(Key, Verdict)> {
    let of = |key: &Key, record: &Record| {
        let presumed = audit::presumes(key, record);
        let beside = |key: &Key| presumed.contains(key).then(|| world.records.get(key).map(|found| &**found)).flatten();
        audit::judge(key, record, world.now, beside)
    };
    let all = world.records.iter();
    all.flat_map(|(key, record)| of(key, record).into_iter().map(|verdict| (key.clone(), verdict))).collect()
}

fn codes(world: &World) -> Vec<&'static str> {
    verdicts(world).iter().map(|(_, verdict)| verdict.finding.name()).collect()
}

/// Carries out every fix once.
fn mend(world: &mut World) {
    for (_, verdict) in verdicts(world) {
        match verdict.fix {
            Some(Fix::Put(key, record)) => drop(world.records.insert(key, Arc::new(*record))),
            Some(Fix::Delete(key)) => drop(world.records.remove(&key)),
            None => {}
        }
    }
}

/// Execution 1 runs for the second time with a unique key and a payload beside it; execution 2 has ended with
/// one, and execution 3 waits.
fn world() -> World {
    let mut world = World::new(2);
    let unique_key = Some("only".parse().unwrap());
    let policy = make::retry(limits::RETRIES_MAX, Span(0));
    world.submit(with!(submit(1), input: large(), unique_key, policy));
    let fence = world.claim(id(1), 10).fence;
    world.accept(&make::fail(20, fence));
    world.claim(id(1), 11);
    world.submit(submit(2));
    let fence = world.claim(id(2), 12).fence;
    world.accept(&make::report(50, fence, end::Complete { result: large() }));
    world.submit(submit(3));
    world
}

fn unique() -> Key {
    Key::Unique(submit(1).new.namespace, "only".parse().unwrap())
}

fn queues() -> Key {
    let submit = submit(1);
    Key::Queues(submit.new.namespace.clone(), submit.new.lane.clone(), id(1).partition())
}

#[test]
fn healthy_records_agree() {
    assert_eq!(verdicts(&world()), []);
}

#[test]
fn what_is_lost_is_found_and_made_again_where_it_can_be() {
    let damage: [(Key, &str, bool); 6] = [
        (queues(), "queue_missing", true),
        (unique(), "unique_key_missing", true),
        (Key::Attempt(id(1), 1), "part_missing", false),
        (Key::Payload(id(1), PayloadSlot::Input), "part_missing", false),
        (Key::Payload(id(2), PayloadSlot::Result), "part_missing", false),
        (Key::Execution(id(2)), "part_orphaned", true),
    ];
    for (key, code, mendable) in damage {
        let healthy = world();
        let mut hurt = healthy.clone();
        let lost = hurt.records.remove(&key).unwrap();
        assert_eq!(codes(&hurt), [code], "{key} is lost");
        mend(&mut hurt);
        assert_eq!(codes(&hurt), if mendable { vec![] } else { vec![code] }, "{key} is mended as far as possible");
        if matches!(*lost, Record::Queues(_) | Record::Unique(_)) {
            assert_eq!(hurt.records, healthy.records, "{key} is as it was");
        }
    }
}

#[test]
fn a_unique_key_that_no_execution_holds_is_freed() {
    let mut hurt = world();
    hurt.records.remove(&Key::Execution(id(1)));
    assert!(codes(&hurt).contains(&"unique_key_stale"));
    mend(&mut hurt);
    let freed = Record::Unique(UniqueRecord::freed(id(1), hurt.now));
    assert_eq!(hurt.record(&unique()), Some(&freed), "it is free, and not absent at once");
    assert!(codes(&hurt).is_empty());
}

#[test]
fn a_freed_unique_key_is_healthy_and_stands_for_nothing() {
    let mut healthy = world();
    healthy.operate(60, id(1), make::end());
    assert_eq!(codes(&healthy), <[&str; 0]>::default());
    let mut hurt = world();
    hurt.put(unique(), Record::Unique(UniqueRecord::freed(id(1), hurt.now)));
    assert_eq!(codes(&hurt), ["unique_key_missing"]);
    mend(&mut hurt);
    assert_eq!(hurt.records, world().records);
}

#[test]
fn a_unique_key_that_stands_for_another_is_told_and_left() {
    let mut hurt = world();
    hurt.put(unique(), Record::Unique(UniqueRecord::held(id(2))));
    let mut found = codes(&hurt);
    found.sort_unstable();
    assert_eq!(found, ["unique_key_stale", "unique_key_taken"]);
    // The stale one is freed first; then the key is there for its holder.
    mend(&mut hurt);
    assert_eq!(codes(&hurt), ["unique_key_missing"]);
    mend(&mut hurt);
    assert_eq!(codes(&hurt), <[&str; 0]>::default());
}

#[test]
fn a_message_that_its_queue_forgot_is_listed_again() {
    let mut hurt = world();
    let gates = PartitionId::of_gates(&make::namespace(), hurt.partitions);
    hurt.run(gates, &make::set_lane(70, LaneState::Paused));
    assert_eq!(verdicts(&hurt), []);
    let boxes: Vec<Key> = hurt.records.keys().filter(|key| matches!(key, Key::Outbox(..))).cloned().collect();
    let healthy = hurt.clone();
    for key in &boxes {
        hurt.records.remove(key);
    }
    assert_eq!(codes(&hurt), vec!["message_unlisted"; boxes.len()]);
    mend(&mut hurt);
    assert_eq!(hurt.records, healthy.records);
    for key in &boxes {
        let Record::Outbox(known) = Arc::make_mut(hurt.records.get_mut(key).unwrap()) else { panic!("not an outbox") };
        known.first = known.next;
    }
    mend(&mut hurt);
    assert_eq!(codes(&hurt), <[&str; 0]>::default());
}

#[test]
fn what_cannot_be_read_is_told_and_never_touched() {
    let mut hurt = world();
    let newer = Arc::new(Record::Unreadable(Bytes::from_static(b"{\"v\":99}")));
    for key in [unique(), queues(), Key::Execution(id(2))] {
        hurt.records.insert(key, newer.clone());
    }
    let before = hurt.records.clone();
    assert_eq!(codes(&hurt), ["record_unreadable"; 3]);
    mend(&mut hurt);
    assert_eq!(hurt.records, before);
}

#[test]
fn every_finding_explains_itself() {
    let mut hurt = world();
    hurt.records.remove(&Key::Execution(id(2)));
    hurt.records.remove(&queues());
    for (_, verdict) in verdicts(&hurt) {
        assert!(verdict.finding.to_string().contains(' '), "{verdict:?}");
    }
}
