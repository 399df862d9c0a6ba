//! Removing an ended execution with all that belongs to it, piece by piece, its own record last.

use crate::act::ActOutcome;
use crate::record::{Execution, Finished, Purging, Record, State, StoredPayload};
use crate::{CommandId, Event, Json, Key, Millis, PayloadSlot, Stop, Subject, View, What, limits};
use std::sync::Arc;

/// Removes the next piece. From the first one on the execution is found no more; its record goes last, and not before
/// the call that changed it last, or that purges it, has stopped being repeated.
pub(crate) fn remove(
    view: &mut View,
    mut shared: Arc<Execution>,
    by: Option<CommandId>,
    now: Millis,
) -> Result<(), Stop> {
    let execution = Arc::make_mut(&mut shared);
    let State::Finished(finished) = execution.state.clone() else { return Ok(()) };
    let Purging { left, until } = finished.purging.unwrap_or_else(|| {
        view.event(Event::new(now, Subject::of(execution), What::Purged));
        // The call that purges is repeated for as long as the one before it.
        let last_call = if by.is_some() { now } else { execution.changed_at };
        Purging { left: pieces(execution), until: last_call + limits::STUB_LIFE }
    });
    let end = left.saturating_sub(limits::PURGE_PIECE);
    view.for_each(end..left, |view, piece| view.delete(key(execution, piece)))?;
    if end == 0 {
        if until <= now {
            view.not_before(until);
            return view.delete(Key::Execution(execution.id));
        }
        empty(execution);
    }
    if let Some(by) = by {
        super::operate::remember(execution, by, ActOutcome::Purged);
    }
    execution.changed_at = now;
    execution.state = State::Finished(Finished { purging: Some(Purging { left: end, until }), ..finished });
    view.put(Key::Execution(execution.id), Record::Execution(shared))
}

/// Takes out what its submitter and its workers gave; what is left only tells that it was.
fn empty(execution: &mut Execution) {
    let nothing = StoredPayload::Json(Json::null());
    execution.result = execution.result.is_some().then(|| nothing.clone());
    execution.input = nothing;
    execution.progress = None;
    execution.note = None;
    execution.trace = None;
    execution.tags.clear();
    execution.history.clear();
    if let Some(last) = &mut execution.last {
        last.details = None;
    }
}

/// How many records may stand beside it: payloads, ended attempts, pages of its history.
fn pieces(execution: &Execution) -> u32 {
    let is_beside = |stored: &StoredPayload| matches!(stored, StoredPayload::Beside { .. });
    let payloads = is_beside(&execution.input) || execution.result.as_ref().is_some_and(is_beside);
    let payloads = if payloads { 2 } else { 0 };
    payloads + execution.attempts.saturating_sub(1) + execution.pages
}

fn key(execution: &Execution, piece: u32) -> Key {
    let attempts = execution.attempts.saturating_sub(1);
    let (id, pages) = (execution.id, execution.pages);
    match piece.checked_sub(attempts + pages) {
        Some(0) => Key::Payload(id, PayloadSlot::Input),
        Some(_) => Key::Payload(id, PayloadSlot::Result),
        None if piece < attempts => Key::Attempt(id, piece + 1),
        None => Key::History(id, piece - attempts),
    }
}
