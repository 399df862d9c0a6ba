//! Removing an ended execution with all that belongs to it, piece by piece, its own record last.

use crate::record::{Execution, Finished, Held, Record, State};
use crate::{CommandId, Event, Key, Millis, PayloadSlot, Rejection, Stop, View, What, limits};

/// Only what has ended can be removed.
pub(crate) fn check(execution: &Execution) -> Result<(), Stop> {
    match &execution.state {
        State::Finished(_) => Ok(()),
        State::Waiting(_) | State::Active(_) => {
            let state = execution.public_state();
            Err(Rejection::NotFinished { execution: execution.id, state }.into())
        }
    }
}

/// Removes the next piece. From the first one on nobody finds the execution any more; while pieces are left its record
/// stays, and is due.
pub(crate) fn remove(
    view: &mut View,
    mut execution: Execution,
    by: Option<CommandId>,
    now: Millis,
) -> Result<(), Stop> {
    let State::Finished(finished) = execution.state.clone() else { return Ok(()) };
    if finished.purging.is_none() {
        view.event(event(&execution, now));
    }
    let first = finished.purging.unwrap_or(0);
    let pieces = pieces(&execution);
    let end = first.saturating_add(limits::PURGE_PIECE).min(pieces);
    view.for_each(first..end, |view, piece| view.delete(key(&execution, piece)))?;
    if end == pieces {
        return view.delete(Key::Execution(execution.id));
    }
    if let Some(by) = by {
        super::operate::remember(&mut execution, by, crate::record::Did::Purged);
    }
    execution.changed_at = now;
    execution.state = State::Finished(Finished { purging: Some(end), ..finished });
    view.put(Key::Execution(execution.id), Record::Execution(execution))
}

/// How many records may stand beside it: payloads, ended attempts, pages of its history.
fn pieces(execution: &Execution) -> u32 {
    let held = |held: &Held| matches!(held, Held::Beside { .. });
    let payloads = held(&execution.input) || execution.result.as_ref().is_some_and(held);
    let payloads = if payloads { 2 } else { 0 };
    payloads + execution.attempts.saturating_sub(1) + execution.pages
}

fn key(execution: &Execution, piece: u32) -> Key {
    let attempts = execution.attempts.saturating_sub(1);
    let (id, pages) = (execution.id, execution.pages);
    match piece.checked_sub(attempts + pages) {
        Some(0) => Key::Payload(id, PayloadSlot::Input),
        Some(_) => Key::Payload(id, PayloadSlot::Result),
        None if piece < attempts => Key::Attempt(id, piece),
        None => Key::History(id, piece - attempts),
    }
}

fn event(execution: &Execution, now: Millis) -> Event {
    Event {
        format: crate::record::Format,
        at: now,
        namespace: execution.namespace.clone(),
        lane: execution.lane.clone(),
        execution: Some(execution.id),
        what: What::Purged,
    }
}
