//! The invariants of what is told and kept: ends, history, memories of calls, payloads, unique keys, removals.

use super::Change;
use onward_core::record::{Record, State, StoredPayload};
use onward_core::{Command, ExecutionId, Key, Payload, PayloadSlot, What, audit, limits};

/// One end for every life, told once, by the event of the transition that made it.
pub(super) fn ends(change: &Change<'_>) {
    for (before, execution) in change.executions() {
        let told = change.story(execution.id).ends_told;
        let finished = matches!(execution.state, State::Finished(_));
        assert_eq!(told, execution.replays as usize + usize::from(finished), "one end for every life, told once");
        let was = before.is_some_and(|before| matches!(before.state, State::Finished(_)));
        if let (State::Finished(finished), false) = (&execution.state, was) {
            let outcomes: Vec<_> = change.done.events.iter().filter_map(|event| event.what.outcome()).collect();
            assert_eq!(outcomes, [finished.outcome], "the event tells the end");
        }
    }
    let going = |id: ExecutionId| change.after.find(id).is_none_or(|execution| execution.is_purging());
    let written = change.changed().filter(|(_, execution)| !execution.is_purging()).count();
    let told = change.done.events.iter().filter(|event| event.execution.is_some_and(|id| !going(id))).count();
    let silent = matches!(change.command, Command::Renew(_) | Command::Progress(_));
    assert_eq!(told, if silent { 0 } else { written }, "one event per transition");
}

/// What an execution remembers of itself is what was told about it, in full pages and a rest.
pub(super) fn histories(change: &Change<'_>) {
    for (_, execution) in change.whole() {
        let mut remembered = Vec::new();
        for page in 0..execution.pages {
            let Some(Record::History(page)) = change.after.record(&Key::History(execution.id, page)) else {
                panic!("page {page} of {} is missing", execution.id)
            };
            assert_eq!(page.transitions.len(), limits::HISTORY_PAGE, "pages are full");
            remembered.extend(page.transitions.iter());
        }
        assert!((1..=limits::HISTORY_PAGE).contains(&execution.history.len()));
        remembered.extend(&execution.history);
        let told = &change.story(execution.id).told;
        assert!(remembered.len() == told.len() && remembered.iter().zip(told).all(|(one, other)| *one == other));
    }
}

/// What is remembered of calls is bounded.
pub(super) fn memories(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        assert!(execution.operated.len() <= limits::OPERATOR_COMMANDS_KEPT);
        assert!(execution.tags.len() <= limits::TAGS_MAX);
        let pauses = super::unended(execution).map_or(0, |attempt| attempt.pauses.len());
        assert!(pauses <= limits::OPERATOR_COMMANDS_KEPT);
    }
}

pub(super) fn payloads(change: &Change<'_>) {
    for (_, execution) in change.whole() {
        let story = change.story(execution.id);
        let input = Some(&execution.input);
        let slots = [
            (PayloadSlot::Input, input, &story.input),
            (PayloadSlot::Result, execution.result.as_ref(), &story.result),
        ];
        for (slot, payload, given) in slots {
            let stored = change.after.record(&Key::Payload(execution.id, slot));
            assert_eq!(payload.map(|payload| read(payload, stored)), *given, "{slot:?} of {}", execution.id);
            assert!(payload.is_some() || stored.is_none(), "{slot:?} of {} was left behind", execution.id);
        }
    }
}

fn read(payload: &StoredPayload, stored: Option<&Record>) -> Payload {
    match (payload, stored) {
        (StoredPayload::Json(json), None) => Payload::json(json.as_str()).unwrap(),
        (StoredPayload::Beside { content_type, bytes }, Some(Record::Payload(stored))) => {
            assert_eq!(*bytes, stored.len() as u64);
            Payload::bytes(content_type, stored.clone()).unwrap()
        }
        other => panic!("{other:?}"),
    }
}

/// A unique key stands for exactly the one unfinished execution that was submitted under it.
pub(super) fn unique_keys(change: &Change<'_>) {
    for (_, execution) in change.executions() {
        let Some(unique) = &execution.unique_key else { continue };
        let record = change.after.record(&Key::Unique(execution.namespace.clone(), unique.clone()));
        let held = matches!(record, Some(Record::Unique(record)) if record.holder() == Some(execution.id));
        assert_eq!(held, !matches!(execution.state, State::Finished(_)), "{:?} for {:?}", record, execution.state);
    }
    for (key, record) in &change.after.records {
        let Record::Unique(record) = &**record else { continue };
        let Some(holder) = record.holder() else { continue };
        let holder = change.after.find(holder);
        let unfinished = holder.is_some_and(|holder| !matches!(holder.state, State::Finished(_)));
        assert!(unfinished, "{key} stands for what has ended");
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
    match key {
        Key::Execution(of) | Key::Attempt(of, _) | Key::Payload(of, _) | Key::History(of, _) => *of == id,
        _ => false,
    }
}

/// Records agree with those beside them, so that an audit of a healthy store finds nothing to mend.
pub(super) fn agreement(change: &Change<'_>) {
    let records = &change.after.records;
    for (key, record) in records.iter().filter(|(key, _)| !matches!(key, Key::Dead(..))) {
        let presumed = audit::presumes(key, record);
        let beside = |key: &Key| presumed.contains(key).then(|| records.get(key).map(|record| &**record)).flatten();
        let verdicts = audit::judge(key, record, change.after.now, beside);
        assert!(verdicts.is_empty() || matches!(**record, Record::Unreadable(_)), "{key}: {verdicts:?}");
    }
}
