//! The order of ready work: priority first, then who was ready first; a place once taken is kept.

use crate::index::{self, Entry};
use crate::rules::world::World;
use crate::rules::world::make::{self, class, id, lane, namespace, submit, with};
use crate::{Arrival, ExecutionId, Span, Submit, When, limits};

fn queue(world: &World) -> Vec<ExecutionId> {
    let name = index::ready(&namespace(), &lane(), &class(&[]), &"work".parse().unwrap());
    let mut ready: Vec<(u64, ExecutionId)> = world
        .executions()
        .flat_map(|execution| {
            let entries = index::entries(
                &crate::Key::Execution(execution.id),
                &crate::record::Record::Execution(execution.clone().into()),
            );
            let ranks = entries.into_iter().filter(|entry| entry.name == name).map(|entry| entry.rank);
            ranks.map(|rank| (rank, execution.id)).collect::<Vec<_>>()
        })
        .collect();
    ready.sort();
    ready.into_iter().map(|(_, id)| id).collect()
}

#[test]
fn higher_priority_runs_first_and_equals_by_their_time() {
    let mut world = World::new(1);
    for (n, priority) in [(1, 0), (2, 5), (3, 0), (4, 9_000), (5, 5)] {
        world.submit(with!(submit(n), priority));
        world.pass(Span(1));
    }
    assert_eq!(queue(&world), [4, 2, 5, 1, 3].map(id));
    world.claim(id(2), 10);
    assert_eq!(queue(&world), [4, 5, 1, 3].map(id));
}

/// Within one millisecond, whatever their ids and the order of their commits.
#[test]
fn work_is_ordered_by_its_arrival() {
    for delay in [Span(0), Span::seconds(5)] {
        let mut world = World::new(1);
        let arrived = [3, 1, 4, 2].map(|n| (n, Arrival::at(world.now, 4 - n as u8)));
        for (n, arrived) in arrived {
            world.submit(Submit { arrived, ..with!(submit(n), when: When::After(delay)) });
        }
        world.pass(delay);
        if delay > Span(0) {
            (1..=4).for_each(|n| drop(world.accept(&make::due(id(n)))));
        }
        assert_eq!(queue(&world), [4, 3, 2, 1].map(id), "after {delay}");
    }
}

#[test]
fn retries_reclaims_and_returns_keep_their_place() {
    let mut world = World::new(1);
    let policy = make::retry(5, Span::seconds(1));
    for n in 1..=3 {
        world.submit(with!(submit(n), policy: policy.clone()));
        world.pass(Span::seconds(10));
    }
    let place = world.execution(id(1)).ready_rank();
    for round in 0..3 {
        let fence = world.claim(id(1), 10 + round).fence;
        match round {
            0 => drop(world.accept(&make::unclaim(50, fence))),
            1 => drop(world.when_due(id(1))),
            _ => {
                world.accept(&make::fail(51, fence));
                world.when_due(id(1));
            }
        }
        assert_eq!(queue(&world), [1, 2, 3].map(id), "round {round}");
        assert_eq!(world.execution(id(1)).ready_rank(), place, "round {round}");
    }
}

#[test]
fn delayed_work_queues_by_its_time_not_by_its_creation() {
    let mut world = World::new(1);
    let start = world.now;
    world.submit(with!(submit(1), when: When::At(start + Span::seconds(30))));
    world.submit(with!(submit(2), when: When::At(start + Span::seconds(20))));
    world.pass(Span::seconds(10));
    world.submit(submit(3));
    assert_eq!(queue(&world), [3].map(id));
    world.pass(Span::seconds(60));
    world.submit(submit(4));
    world.accept(&make::due(id(1)));
    world.accept(&make::due(id(2)));
    assert_eq!(queue(&world), [3, 2, 1, 4].map(id), "late promotion costs nobody a place");
}

#[test]
fn each_class_and_kind_has_a_queue_of_its_own() {
    let mut world = World::new(1);
    world.submit(with!(submit(1), requires: class(&["linux", "gpu"]), priority: 1));
    let execution = world.execution(id(1)).clone();
    let rank = (u64::from(limits::PRIORITY_MAX - 1) << 50) | Arrival::at(world.now, 0).bits();
    let name = "ready/default/default/gpu+linux/work".to_owned();
    assert!(
        index::entries(&crate::Key::Execution(execution.id), &crate::record::Record::Execution(execution.into()))
            .contains(&Entry { name, rank })
    );
}
