//! Removing an ended execution with all that belongs to it: first its contents, then its parts, its own record last.
//!
//! The first commit takes the execution out of every index, so that no query returns it, empties its record, and removes
//! the few parts that most executions have, such as a large input. An errand removes what is left in pieces. The record
//! stays until the call that changed it last, or that purges it, has stopped being repeated.

use crate::act::ActOutcome;
use crate::record::{Errand, ErrandKind, Execution, Finished, Purging, Record, State, StoredPayload};
use crate::rules::due::Looked;
use crate::rules::errand;
use crate::{CommandId, Event, ExecutionId, Json, Key, Millis, Stop, Subject, View, What, index, limits};
use std::sync::Arc;

/// Begins the removal, or ends it: the record of an execution that has been emptied goes when its time is over.
pub(crate) fn remove(
    view: &mut View,
    mut shared: Arc<Execution>,
    by: Option<CommandId>,
    now: Millis,
) -> Result<(), Stop> {
    let execution = Arc::make_mut(&mut shared);
    let State::Finished(finished) = execution.state.clone() else { return Ok(()) };
    if let Some(Purging { until }) = finished.purging {
        view.not_before(until);
        return end(view, shared, now);
    }
    view.event(Event::new(now, Subject::of(execution), What::Purged));
    // The call that purges is repeated for as long as the one before it.
    let last_call = if by.is_some() { now } else { execution.changed_at };
    let mut until = last_call + limits::STUB_LIFE;
    let mut parts = execution.parts();
    let left = parts.split_off(parts.len().min(limits::PURGE_AT_ONCE)).len() + execution.uncounted_parts() as usize;
    view.for_each(parts, |view, part| if view.get(&part)?.is_some() { view.delete(part) } else { Ok(()) })?;
    if left == 0 && until <= now {
        view.not_before(until);
        return view.delete(Key::Execution(execution.id));
    }
    if left > 0 {
        let errand = Errand::new(u32::try_from(left).unwrap_or(u32::MAX), now);
        view.put_new(Key::Errand(execution.id, ErrandKind::Purge), Record::Errand(errand))?;
        until = until.max(now + limits::PURGE_RECHECK);
    }
    empty(execution);
    if let Some(by) = by {
        super::operate::remember(execution, by, ActOutcome::Purged);
    }
    execution.changed_at = now;
    execution.state = State::Finished(Finished { purging: Some(Purging { until }), ..finished });
    view.put(Key::Execution(execution.id), Record::Execution(shared))
}

/// Removes the record, unless its errand is still under way.
fn end(view: &mut View, mut shared: Arc<Execution>, now: Millis) -> Result<(), Stop> {
    let key = Key::Execution(shared.id);
    let since = match view.get(&Key::Errand(shared.id, ErrandKind::Purge))?.as_deref() {
        None => return view.delete(key),
        Some(Record::Errand(errand)) => errand.since,
        Some(_) => now,
    };
    let execution = Arc::make_mut(&mut shared);
    execution.changed_at = now;
    if let State::Finished(Finished { purging: Some(purging), .. }) = &mut execution.state {
        purging.until = since.max(now) + limits::PURGE_RECHECK;
    }
    view.put(key, Record::Execution(shared))
}

/// Removes the next piece of what belongs to an execution, and the errand with the last one.
pub(crate) fn piece(view: &mut View, id: ExecutionId, mut errand: Errand, now: Millis) -> Result<Looked, Stop> {
    let key = Key::Errand(id, ErrandKind::Purge);
    let found = errand::candidates(view, &index::parts(id), limits::PURGE_PIECE)?;
    for part in &found.keys {
        view.delete(part.clone())?;
    }
    if found.keys.is_empty() && (errand.left > 0 || found.has_unknown) {
        errand.put_off(now);
    } else {
        errand.done(found.keys.len(), now);
    }
    // A part of a kind that this version does not know waits for a version that does.
    let damaged = errand.pauses > limits::ERRAND_PAUSES_MAX;
    if found.has_unknown || errand.left > 0 && !damaged {
        let next = errand.since;
        view.put(key, Record::Errand(errand))?;
        return Ok(Looked { acted: true, next: Some(next) });
    }
    view.delete(key)?;
    let until = view.execution(id)?.as_deref().and_then(emptied_until);
    if let Some(until) = until.filter(|until| *until <= now) {
        view.not_before(until);
        view.delete(Key::Execution(id))?;
    }
    Ok(Looked { acted: true, next: None })
}

/// Until when the record of an execution stays that has been emptied.
fn emptied_until(execution: &Execution) -> Option<Millis> {
    if let State::Finished(Finished { purging: Some(purging), .. }) = &execution.state {
        return Some(purging.until);
    }
    None
}

/// Takes out what its submitter and its workers gave; what is left only tells that it was. Tags stay, since they say whose
/// work it is: a process that looks after those with one tag removes them too.
fn empty(execution: &mut Execution) {
    let nothing = StoredPayload::Json(Json::null());
    execution.result = execution.result.is_some().then(|| nothing.clone());
    execution.input = nothing;
    execution.progress = None;
    execution.note = None;
    execution.trace = None;
    execution.waits = None;
    execution.history.clear();
    if let Some(last) = &mut execution.last {
        last.details = None;
    }
}
