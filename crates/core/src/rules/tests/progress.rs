//! What an attempt says about how far it is.

use crate::record;
use crate::rules::world::World;
use crate::rules::world::make::{self, TTL, id, submit, with};
use crate::{Command, Progress, Reason, Rejection, Renewed, Reply, Span, When, limits};

fn said(world: &World) -> (Option<u8>, &str) {
    let progress = world.execution(id(1)).progress.as_ref().unwrap();
    (progress.percent, progress.message.as_str())
}

#[test]
fn the_last_word_stands_and_nobody_is_told() {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    let before = world.execution(id(1)).clone();
    let noted = Reply::Progress(Renewed { expires_at: world.now + TTL, stop: None });
    for (percent, message, expected, wrote) in [
        (Some(10), None, (Some(10), ""), true),
        (None, Some("reading"), (Some(10), "reading"), true),
        (None, None, (Some(10), "reading"), false),
        (Some(10), Some("reading"), (Some(10), "reading"), false),
        (Some(5), None, (Some(5), "reading"), true),
        (None, Some(""), (Some(5), ""), true),
        (Some(100), None, (Some(100), ""), true),
        (Some(0), None, (Some(0), ""), true),
    ] {
        world.pass(Span(10));
        let done = world.home(&make::progress(fence, percent, message));
        assert_eq!(done.result, Ok(noted.clone()), "{percent:?} {message:?}");
        assert_eq!(said(&world), expected, "{percent:?} {message:?}");
        assert_eq!(!done.step.writes.is_empty(), wrote, "{percent:?} {message:?}");
        assert!(done.events.is_empty());
    }
    let after = world.execution(id(1));
    let progress = Some(record::Progress { percent: Some(0), message: Reason::default(), at: world.now });
    let expected = record::Execution { progress, changed_at: world.now, ..before };
    assert_eq!(*after, expected, "nothing else changed");
}

#[test]
fn a_percentage_is_at_most_a_hundred() {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    for percent in [101, 255] {
        let refused = world.refuse(&make::progress(fence, Some(percent), None));
        assert!(matches!(refused, Rejection::InvalidArgument { field: "percent", .. }), "{percent}");
    }
}

#[test]
fn a_long_message_is_cut_between_characters() {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    let message = Some(Reason::new(&"é".repeat(limits::REASON_BYTES_MAX)));
    world.accept(&Command::Progress(Progress { fence, percent: None, message }));
    assert_eq!(said(&world).1.len(), limits::REASON_BYTES_MAX);
}

#[test]
fn it_belongs_to_the_attempt() {
    let mut world = World::new(1);
    world.submit(with!(submit(1), policy: make::retry(3, Span(0))));
    let fence = world.claim(id(1), 10).fence;
    world.accept(&make::progress(fence, Some(40), None));
    world.accept(&make::delay(50, fence, When::Now));
    let fence = world.claim(id(1), 11).fence;
    assert_eq!(said(&world), (Some(40), ""), "the same attempt goes on");
    world.accept(&make::fail(51, fence));
    assert_eq!(said(&world), (Some(40), ""), "people can see how far it came");
    let fence = world.claim(id(1), 12).fence;
    assert_eq!(world.execution(id(1)).progress, None, "a fresh one has said nothing");
    world.accept(&make::progress(fence, Some(90), None));
    world.accept(&make::complete(52, fence));
    assert_eq!(said(&world), (Some(90), ""));
    world.operate(53, id(1), make::replay());
    assert_eq!(world.execution(id(1)).progress, None);
}
