//! Notes: who wrote what, what replaces it, and what is refused.

use crate::rules::world::World;
use crate::rules::world::make::{self, HOME, id, submit};
use crate::{ActOutcome, CommandId, Operate, Rejection, What, act, limits};

fn annotate(note: &str) -> act::Annotate {
    act::Annotate { note: note.into() }
}

#[test]
fn a_note_is_seen_on_the_execution_and_in_its_history_with_its_author() {
    let mut world = World::new(1);
    world.submit(submit(1));
    let by = Some("ada".parse().unwrap());
    let operate = Operate {
        command: CommandId(50),
        namespace: make::namespace(),
        execution: id(1),
        by: by.clone(),
        act: annotate("ask the customer\nbefore replaying").into(),
    };
    let done = world.run(HOME, &operate.into());
    assert_eq!(done.events.len(), 1);
    let execution = world.execution(id(1));
    assert_eq!(execution.note.as_deref(), Some("ask the customer\nbefore replaying"));
    let told = execution.history.last().unwrap();
    assert_eq!((&told.by, &told.what), (&by, &done.events[0].what));
    assert!(matches!(&told.what, What::Annotated { note } if Some(&**note) == execution.note.as_deref()));
}

#[test]
fn a_second_note_replaces_the_first_and_an_empty_one_removes_it() {
    let mut world = World::new(1);
    world.submit(submit(1));
    for (command, note, kept) in [(50, "first", Some("first")), (51, "second", Some("second")), (52, "", None)] {
        assert_eq!(world.operate(command, id(1), annotate(note).into()), ActOutcome::Annotated);
        assert_eq!(world.execution(id(1)).note.as_deref(), kept);
    }
    assert_eq!(world.operate(51, id(1), annotate("second").into()), ActOutcome::Annotated, "a repeat");
    assert_eq!(world.execution(id(1)).note, None, "a repeat changes nothing");
}

#[test]
fn a_note_has_a_limit_and_goes_with_a_purge() {
    let mut world = World::new(1);
    let fence = world.running(submit(1), 10);
    world.operate(50, id(1), annotate(&"é".repeat(limits::NOTE_BYTES_MAX / 2)).into());
    let refused = world.refuse(&make::operate(51, id(1), annotate(&"x".repeat(limits::NOTE_BYTES_MAX + 1)).into()));
    assert!(matches!(refused, Rejection::InvalidArgument { field: "note", .. }), "{refused}");
    world.accept(&make::complete(52, fence));
    world.operate(53, id(1), act::Purge {}.into());
    assert_eq!(world.execution(id(1)).note, None);
}
