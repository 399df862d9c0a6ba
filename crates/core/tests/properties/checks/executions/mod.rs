//! The invariants of executions as a whole: what never changes, their ends, what they remember of calls, their removal.

pub(super) mod states;
pub(super) mod work;

use super::{Change, unended};
use onward_core::record::{Execution, Readiness, State, StoredPayload};
use onward_core::{Command, Due, Event, ExecutionId, Json, Key, What, index, limits};

/// Identity and policy are frozen; labels, priority and deadline change by the one command that is for it.
pub(super) fn what_never_changes(change: &Change<'_>) {
    for (before, after) in change.executions() {
        let Some(before) = before else { continue };
        let by = |name: &str| change.act().is_some_and(|act| act.name() == name);
        let stub = after.is_purging();
        let frozen = Execution {
            input: if stub { StoredPayload::Json(Json::null()) } else { before.input.clone() },
            tags: if by("tag") { after.tags.clone() } else { before.tags.clone() },
            note: if stub || by("annotate") { after.note.clone() } else { before.note.clone() },
            priority: if by("prioritise") { after.priority } else { before.priority },
            deadline: if by("replay") { after.deadline } else { before.deadline },
            state: after.state.clone(),
            held: after.held.clone(),
            life: after.life,
            waits: after.waits.clone(),
            changed_at: after.changed_at,
            place: after.place,
            started_at: after.started_at,
            attempts: after.attempts,
            retries: after.retries,
            reclaims: after.reclaims,
            reclaims_in_a_row: after.reclaims_in_a_row,
            replays: after.replays,
            epoch: after.epoch,
            last: after.last.clone(),
            result: after.result.clone(),
            progress: after.progress.clone(),
            operated: after.operated.clone(),
            pages: after.pages,
            history: after.history.clone(),
            ..before.clone()
        };
        assert_eq!(&frozen, after, "only the state and what follows from it may change");
    }
}

/// One end for every life, told once, by the event of the transition that made it.
pub(super) fn ends(change: &Change<'_>) {
    for (before, execution) in change.executions() {
        let story = change.story(execution.id);
        let finished = matches!(execution.state, State::Finished(_));
        let ended = execution.replays as usize - story.replayed_held + usize::from(finished);
        assert_eq!(story.ends_told, ended, "one end for every life, told once");
        let was = before.is_some_and(|before| matches!(before.state, State::Finished(_)));
        if let (State::Finished(finished), false) = (&execution.state, was) {
            let outcomes: Vec<_> = change.done.events.iter().filter_map(|event| event.what.outcome()).collect();
            assert_eq!(outcomes, [finished.outcome], "the event tells the end");
        }
    }
    let going = |id: ExecutionId| change.after.find(id).is_none_or(|execution| execution.is_purging());
    let written = change.changed().filter(|(_, execution)| !execution.is_purging()).count();
    let transition = |event: &&Event| !matches!(event.what, What::Signalled { .. });
    let told = change.done.events.iter().filter(transition);
    let told = told.filter(|event| event.execution().is_some_and(|id| !going(id))).count();
    // A running attempt whose times were brought nearer goes on as before.
    let early = |due: &Due| change.before.record(&due.key).and_then(index::due) > Some(change.after.now);
    let silent = match change.command {
        Command::Renew(_) | Command::Progress(_) => true,
        // What waits takes a signal, or is told at once what has come: it stays where it was.
        Command::Signal(_) | Command::Suspend(_) | Command::Submit(_) => told != written,
        Command::Due(due) => early(due) || wait_ended(change, due),
        _ => false,
    };
    let most = if matches!(change.command, Command::Signal(_) | Command::Submit(_)) { told.min(3) } else { 0 };
    assert_eq!(told, if silent { most } else { written }, "one event per transition");
}

/// Whether one of several waits came to its end by time, and the others are waited for as before.
fn wait_ended(change: &Change<'_>, due: &Due) -> bool {
    let Key::Execution(id) = due.key else { return false };
    let is_suspended = |execution: Option<&Execution>| {
        execution.is_some_and(|found| matches!(&found.state, State::Waiting(waiting) if matches!(waiting.readiness, Readiness::Suspended(_))))
    };
    let told = change.done.events.is_empty();
    told && is_suspended(change.before.find(id)) && is_suspended(change.after.find(id))
}

/// What is remembered of calls is bounded.
pub(super) fn memories(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        assert!(execution.operated.len() <= limits::OPERATOR_COMMANDS_KEPT);
        assert!(execution.tags.len() <= limits::TAGS_MAX);
        let pauses = unended(execution).map_or(0, |attempt| attempt.pauses.len());
        assert!(pauses <= limits::OPERATOR_COMMANDS_KEPT);
    }
}

/// Only what has ended is removed, at once or piece by piece with its record last; then nothing of it is left.
pub(super) fn purges(change: &Change<'_>) {
    for (id, story) in &change.history.stories {
        let now = change.after.find(*id);
        let going = now.is_none_or(|execution| execution.is_purging());
        assert_eq!(story.purges_told, usize::from(going), "a removal is told once, when it begins");
        if let (Some(before), true) = (change.before.find(*id), going) {
            let State::Finished(finished) = &before.state else { panic!("{before:?} was removed") };
            let kept = finished.at + before.policy.retention();
            let asked = change.act().is_some_and(|act| act.name() == "purge");
            let over = change.after.now >= kept;
            assert!(asked || before.is_purging() || over, "removed before its retention was over");
        }
        if now.is_none() {
            let mut left = change.after.records.keys().filter(|key| belongs_to(key, *id));
            assert_eq!(left.next(), None, "left behind by a purge");
        }
    }
    let told = change.done.events.iter().filter(|event| event.what == What::Purged).count();
    assert!(told <= 1);
}

fn belongs_to(key: &Key, id: ExecutionId) -> bool {
    key.to_string().starts_with(&id.to_string())
}
