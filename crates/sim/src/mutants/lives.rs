//! The rules with a fault in how an execution lives on: after a pause, after its end, after it was asked to stop.

use super::rules::{before_read, counted, errand_before_read, swap};
use onward_core::record::{Next, Record, State};
use onward_core::{Act, Command, End, ExecutionId, Key, Millis, Rejection, Reply, Report, Span, Stop, View, limits};
use std::sync::Arc;

/// Which execution a command wants to run again, if it does.
fn replayed(command: &Command) -> Option<ExecutionId> {
    match command {
        Command::Operate(operate) if matches!(operate.act, Act::Replay(_)) => Some(operate.execution),
        _ => None,
    }
}

pub(super) fn purge_without_tombstone(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Some(id) = replayed(command)
        && let Some(mut execution) = before_read(view, id)
        && let State::Finished(finished) = &mut execution.state
        && finished.purging.take().is_some()
    {
        swap(view, execution);
    }
    counted(view, command, now)
}

pub(super) fn replay_keeps_result(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Some(id) = replayed(command)
        && let Some(mut execution) = before_read(view, id)
        && execution.result.take().is_some()
    {
        swap(view, execution);
    }
    counted(view, command, now)
}

pub(super) fn half_purged_denies(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    let by_operator = matches!(command, Command::Operate(_));
    match counted(view, command, now) {
        Err(Stop::Refuse(Rejection::Purged(execution))) if !by_operator => {
            let Some(Record::Execution(found)) = view.get(&Key::Execution(execution))?.as_deref().cloned() else {
                return Err(Rejection::ExecutionNotFound(execution).into());
            };
            Err(Rejection::NotActive { execution, state: found.public_state() }.into())
        }
        answer => answer,
    }
}

pub(super) fn stop_forgotten(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Command::Report(Report { fence, end: End::Fail(_) | End::Unclaim(_) | End::Delay(_), .. }) = command
        && let Some(mut execution) = before_read(view, fence.execution)
        && let State::Active(active) = &mut execution.state
        && active.stop.take().is_some()
    {
        swap(view, execution);
    }
    counted(view, command, now)
}

pub(super) fn pauses_time_out(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Command::Claim(claim) = command
        && let Some(mut execution) = before_read(view, claim.execution)
        && let State::Waiting(waiting) = &mut execution.state
        && let Next::Resume(paused) = &mut waiting.next
    {
        paused.attempt.ran = Span((now - paused.attempt.started_at).0);
        swap(view, execution);
    }
    counted(view, command, now)
}

pub(super) fn errand_forgotten(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Command::Due(due) = command
        && let Some(mut errand) = errand_before_read(view, &due.key)
    {
        errand.left = 0;
        view.supply(due.key.clone(), Some(Arc::new(Record::Errand(errand))));
    }
    counted(view, command, now)
}

pub(super) fn page_trusted(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Command::Due(due) = command
        && let Some(mut errand) = errand_before_read(view, &due.key)
    {
        errand.pauses = limits::ERRAND_PAUSES_MAX;
        view.supply(due.key.clone(), Some(Arc::new(Record::Errand(errand))));
    }
    counted(view, command, now)
}
