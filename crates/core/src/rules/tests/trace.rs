//! The trace from which an execution was submitted: kept for life and told to every worker.

use crate::rules::world::World;
use crate::rules::world::make::{self, id, submit, trace, with};
use crate::{Act, Span, act};

#[test]
fn every_attempt_is_told_of_the_trace() {
    let mut world = World::new(1);
    world.submit(with!(submit(1), trace: Some(trace()), policy: make::retry(1, Span(0))));
    world.submit(submit(2));
    assert_eq!(world.claim(id(2), 20).trace, None);
    let first = world.claim(id(1), 10);
    assert_eq!(first.trace, Some(trace()));
    world.accept(&make::fail(50, first.fence));
    let second = world.claim(id(1), 11);
    assert_eq!(second.trace, Some(trace()));
    world.accept(&make::complete(51, second.fence));
    world.accept(&make::operate(
        52,
        id(1),
        Act::Replay(act::Replay { reason: "again".into(), ..act::Replay::default() }),
    ));
    assert_eq!(world.claim(id(1), 12).trace, Some(trace()));
}

#[test]
fn it_is_kept_until_all_that_was_given_is_taken_out() {
    let mut world = World::new(1);
    world.submit(with!(submit(1), trace: Some(trace())));
    world.submit(submit(2));
    let traces = |world: &World| [1, 2].map(|n| world.execution(id(n)).trace);
    assert_eq!(traces(&world), [Some(trace()), None]);
    let (traced, other) = (world.claim(id(1), 10).fence, world.claim(id(2), 11).fence);
    world.accept(&make::renew(traced, Span::seconds(40)));
    world.accept(&make::complete(50, traced));
    world.accept(&make::complete(51, other));
    assert_eq!(traces(&world), [Some(trace()), None]);
    world.accept(&make::operate(52, id(1), Act::Purge(act::Purge {})));
    assert_eq!(traces(&world), [None, None], "what was given is taken out");
}
