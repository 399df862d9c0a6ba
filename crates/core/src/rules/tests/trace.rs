//! The trace from which an execution was submitted: kept for life, told to every worker, and written in a format of its own.

use crate::record::{Execution, ExecutionFormat, Record};
use crate::rules::world::World;
use crate::rules::world::make::{self, id, submit, trace};
use crate::{Act, Span, Submit, codec};

/// The number that the stored body starts with.
fn format(execution: &Execution) -> String {
    let body = codec::encode(&Record::Execution(execution.clone()));
    String::from_utf8_lossy(&body).split(',').next().unwrap().to_owned()
}

#[test]
fn every_attempt_is_told_of_the_trace() {
    let mut world = World::new(1);
    world.submit(Submit { trace: Some(trace()), policy: make::retry(1, Span(0)), ..submit(1) });
    world.submit(submit(2));
    assert_eq!(world.claim(id(2), 20).trace, None);
    let first = world.claim(id(1), 10);
    assert_eq!(first.trace, Some(trace()));
    world.accept(&make::fail(50, first.fence));
    let second = world.claim(id(1), 11);
    assert_eq!(second.trace, Some(trace()));
    world.accept(&make::complete(51, second.fence));
    world.accept(&make::operate(52, id(1), Act::Replay { reason: "again".into(), deadline: None }));
    assert_eq!(world.claim(id(1), 12).trace, Some(trace()));
}

#[test]
fn only_an_execution_with_a_trace_needs_the_newer_format() {
    let mut world = World::new(1);
    world.submit(Submit { trace: Some(trace()), ..submit(1) });
    world.submit(submit(2));
    let format_of = |world: &World, n| {
        let execution = world.execution(id(n));
        assert_eq!(execution.format, ExecutionFormat::of(execution.trace));
        format(execution)
    };
    assert_eq!((format_of(&world, 1), format_of(&world, 2)), ("{\"v\":2".to_owned(), "{\"v\":1".to_owned()));
    let (traced, other) = (world.claim(id(1), 10).fence, world.claim(id(2), 11).fence);
    world.accept(&make::renew(traced, Span::seconds(40)));
    world.accept(&make::complete(50, traced));
    world.accept(&make::complete(51, other));
    assert_eq!((format_of(&world, 1), format_of(&world, 2)), ("{\"v\":2".to_owned(), "{\"v\":1".to_owned()));
    world.accept(&make::operate(52, id(1), Act::Purge));
    assert_eq!(world.execution(id(1)).trace, None, "what was given is taken out");
    assert_eq!(format_of(&world, 1), "{\"v\":1");
}
