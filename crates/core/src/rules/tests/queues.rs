//! The registry of queues: every way to become ready is listed, and what is empty for a day is forgotten.

use crate::record::{LaneQueues, QueueSeen, Record};
use crate::rules::world::World;
use crate::rules::world::make::{self, HOME, class, id, lane, namespace, submit, with};
use crate::{Act, Class, Fence, Key, Kind, Prune, Rejection, Reply, Span, When, act, limits};

fn key() -> Key {
    Key::Queues(namespace(), lane(), HOME)
}

fn registry(world: &World) -> Option<LaneQueues> {
    match world.record(&key()) {
        Some(Record::Queues(registry)) => Some(registry.clone()),
        None => None,
        Some(other) => panic!("{other:?}"),
    }
}

fn kind(name: &str) -> Kind {
    name.parse().unwrap()
}

fn prune(world: &mut World, empty: &[(&str, Class)]) {
    let empty = empty.iter().map(|(name, class)| (kind(name), class.clone())).collect();
    assert_eq!(world.accept(&Prune { namespace: namespace(), lane: lane(), empty }.into()), Reply::Prune(()));
}

#[test]
fn one_record_lists_the_queues_of_a_lane() {
    let mut world = World::new(1);
    world.submit(submit(1));
    world.submit(with!(submit(2), requires: class(&["gpu"])));
    world.pass(Span::seconds(1));
    world.submit(with!(submit(3), kind: kind("other")));
    let registry = registry(&world).unwrap();
    let listed: Vec<_> = registry.queues.iter().map(|seen| (seen.kind.as_str(), seen.class.name())).collect();
    assert_eq!(listed, [("other", "-".into()), ("work", "-".into()), ("work", "gpu".into())]);
    assert_eq!(registry.grown_at, world.now, "a process reads what grew after it last read");
    let before = world.records.clone();
    world.pass(Span::hours(1));
    let done = world.home(&submit(4).into());
    assert!(done.result.is_ok() && !done.step.writes.contains(&key()), "a use is not noted every time");
    assert_eq!(before.get(&key()), world.records.get(&key()));
    world.pass(limits::QUEUE_USE_NOTED);
    assert!(world.home(&submit(5).into()).step.writes.contains(&key()), "but twice a day");
}

#[test]
fn queues_that_were_empty_for_a_day_are_forgotten() {
    let mut world = World::new(1);
    world.submit(submit(1));
    world.submit(with!(submit(2), kind: kind("other")));
    prune(&mut world, &[("work", class(&[])), ("other", class(&[]))]);
    assert_eq!(registry(&world).unwrap().queues.len(), 2, "they are not stale");
    world.pass(limits::QUEUE_KEPT);
    prune(&mut world, &[("other", class(&[]))]);
    let left = registry(&world).unwrap();
    assert_eq!((left.queues.len(), left.queues[0].used_at), (1, world.now), "what is not empty is in use");
    world.pass(limits::QUEUE_KEPT);
    world.submit(submit(3));
    prune(&mut world, &[("work", class(&[]))]);
    assert!(registry(&world).is_some(), "it was used after it had been found empty");
    world.pass(limits::QUEUE_KEPT);
    prune(&mut world, &[("work", class(&[]))]);
    assert_eq!(registry(&world), None);
}

#[test]
fn work_that_becomes_ready_is_listed_again() {
    let forget = |world: &mut World| drop(world.records.remove(&key()));
    let lists = |world: &World| registry(world).is_some_and(|registry| registry.lists(&kind("work"), &class(&[])));
    type Begin = fn(&mut World);
    let cases: [(&str, Begin); 7] = [
        ("a delay", |world| {
            world.submit(with!(submit(1), when: When::After(Span::days(3))));
        }),
        ("a retry", |world| {
            let fence = world.running(with!(submit(1), policy: make::retry(3, Span::hours(1))), 10);
            world.accept(&make::fail(60, fence));
        }),
        ("a lost lease", |world| {
            world.running(submit(1), 10);
        }),
        ("a pause", |world| {
            let fence = world.running(submit(1), 10);
            world.accept(&make::delay(60, fence, When::After(Span::hours(1))));
        }),
        ("a return", |world| {
            world.running(submit(1), 10);
        }),
        ("a hold", |world| {
            world.submit(submit(1));
            world.operate(60, id(1), act::Pause::default().into());
        }),
        ("a replay", |world| {
            let fence = world.running(submit(1), 10);
            world.accept(&make::complete(60, fence));
        }),
    ];
    for (name, begin) in cases {
        let mut world = World::new(1);
        begin(&mut world);
        forget(&mut world);
        match name {
            "a hold" => drop(world.operate(61, id(1), act::Resume::default().into())),
            "a replay" => drop(world.operate(61, id(1), make::replay())),
            "a return" => {
                let held = world.active(id(1)).clone();
                let (execution, lease, epoch) = (id(1), held.lease.id, held.lease.epoch);
                let fence = Fence { execution, lease, epoch, attempt: held.attempt.number };
                world.accept(&make::unclaim(61, fence));
            }
            _ => drop(world.when_due(id(1))),
        }
        assert!(lists(&world), "{name}");
    }
    let mut world = World::new(1);
    world.submit(with!(submit(1), when: When::After(Span::days(3))));
    forget(&mut world);
    world.operate(60, id(1), Act::Reschedule(act::Reschedule::from(When::Now)));
    assert!(lists(&world), "an operator");
}

/// The longest set of required capabilities, different for each number.
fn long(n: usize) -> Class {
    let width = limits::CAPABILITY_BYTES_MAX;
    let names: Vec<String> = (0..limits::CAPABILITIES_MAX).map(|at| format!("{:0>width$}", n * 100 + at)).collect();
    class(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

fn bytes(world: &World) -> usize {
    crate::codec::encode(world.record(&key()).unwrap()).len()
}

#[test]
fn the_record_of_a_lanes_queues_has_so_many_bytes_and_what_comes_back_waits_for_room() {
    let mut world = World::new(1);
    world.submit(with!(submit(1), requires: long(1), when: When::After(Span::days(40))));
    world.records.remove(&key());
    let full = Rejection::TooManyQueues { lane: lane() };
    let refused = (2..).find(|n| {
        let new = with!(submit(*n as u128), requires: long(*n));
        world.home(&new.into()).result == Err(full.clone())
    });
    let accepted = refused.unwrap();
    assert!((20..limits::QUEUES_MAX).contains(&accepted), "{accepted} long ones, and not as many as short ones");
    assert!(bytes(&world) <= limits::QUEUES_RECORD_BYTES_MAX, "{}", bytes(&world));
    world.submit(with!(submit(3_000), requires: long(2)));

    world.operate(5_000, id(1), Act::Reschedule(act::Reschedule::from(When::Now)));
    assert_eq!(world.execution(id(1)).public_state().as_str(), "waiting", "what was accepted before has room beyond");
    assert!(registry(&world).unwrap().lists(&kind("work"), &long(1)));

    let mut crowd = registry(&world).unwrap();
    for n in 10_000.. {
        let next = crowd.bytes() + QueueSeen::bytes_of(&kind("work"), &long(n));
        if next > limits::QUEUES_RECORD_BYTES_MAX + limits::QUEUES_RECORD_BYTES_RESERVE {
            break;
        }
        crowd.note(&kind("work"), &long(n), world.now);
    }
    world.put(key(), Record::Queues(crowd));
    assert!(bytes(&world) <= limits::BATCH_BYTES_MAX, "{}", bytes(&world));
    world.submit(with!(submit(2_000), when: When::After(Span::hours(1)), lane: "other".parse().unwrap()));
    let late = with!(submit(4_000), when: When::After(Span::hours(1)), requires: long(2));
    let late = world.submit(late);
    // As if its queue had been forgotten while it was delayed.
    let mut without = registry(&world).unwrap();
    let at = without.queues.iter().position(|seen| seen.class == long(2)).unwrap();
    without.queues[at].class = long(9_999);
    without.queues.sort_by(|one, other| (&one.kind, &one.class).cmp(&(&other.kind, &other.class)));
    world.put(key(), Record::Queues(without));

    let events = world.execution(late).history.len();
    let done = world.when_due(late);
    assert!(done.result.is_ok() && done.events.is_empty(), "{done:?}");
    let again = world.now + limits::QUEUES_FULL_PAUSE;
    assert_eq!((world.execution(late).due(), world.execution(late).history.len()), (Some(again), events));
    assert_eq!(world.execution(late).public_state().as_str(), "delayed");
    let place = world.execution(late).place;
    assert!(place.is_some(), "it keeps its place");
    let mut smaller = registry(&world).unwrap();
    smaller.queues.truncate(1);
    world.put(key(), Record::Queues(smaller));
    world.when_due(late);
    assert_eq!((world.execution(late).public_state().as_str(), world.execution(late).place), ("waiting", place));
    assert!(registry(&world).unwrap().lists(&kind("work"), &long(2)), "and is found");
}
