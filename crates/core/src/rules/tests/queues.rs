//! The registry of queues: every way to become ready is listed, and what is empty for a day is forgotten.

use crate::record::{LaneQueues, Record};
use crate::rules::world::World;
use crate::rules::world::make::{self, HOME, class, id, lane, namespace, submit, with};
use crate::{Act, Class, Fence, Key, Kind, Prune, Reply, Span, When, act, limits};

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
    let cases: [(&str, Begin); 6] = [
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
