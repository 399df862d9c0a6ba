//! The rules with a fault in them: each wraps the real ones and gets one thing wrong.

use super::{Mutant, letters, lives, waits};
use crate::hub::Hub;
use onward_core::record::{Errand, Execution, Next, Readiness, Record, State, Waiting};
use onward_core::{
    Claim, Command, CommandId, Deliver, End, ExecutionId, Fence, Key, Looked, Millis, Rejection, Reply, Report, Span,
    Stop, View, What, When, apply, index, limits,
};
use onward_engine::Rules;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// How long something that has just happened is overlooked; a sweep looks later than that.
const OVERLOOKED: Span = Span(500);

/// The rules that an engine runs, with or without a fault.
pub(crate) fn rules(mutant: Option<Mutant>) -> Rules {
    match mutant {
        Some(Mutant::NoFence) => no_fence,
        Some(Mutant::MarkInsteadOfIds) => mark_instead_of_ids,
        Some(Mutant::HintTrusted) => hint_trusted,
        Some(Mutant::EpochReuse) => epoch_reuse,
        Some(Mutant::RepeatForgotten) => repeat_forgotten,
        Some(Mutant::TimerOnlyBySweep) => timer_only_by_sweep,
        Some(Mutant::WaiterNotWoken) => waiter_not_woken,
        Some(Mutant::GivesUpAtOnce) => gives_up_at_once,
        Some(Mutant::LeaseTooLong) => lease_too_long,
        Some(Mutant::DelayIgnored) => delay_ignored,
        Some(Mutant::PurgeWithoutTombstone) => lives::purge_without_tombstone,
        Some(Mutant::StopForgotten) => lives::stop_forgotten,
        Some(Mutant::PausesTimeOut) => lives::pauses_time_out,
        Some(Mutant::ReplayKeepsResult) => lives::replay_keeps_result,
        Some(Mutant::AnnouncedByDifference) => announced_by_difference,
        Some(Mutant::HalfPurgedDenies) => lives::half_purged_denies,
        Some(Mutant::ErrandForgotten) => lives::errand_forgotten,
        Some(Mutant::PageTrusted) => lives::page_trusted,
        Some(Mutant::MessageByDifference) => letters::by_difference,
        Some(Mutant::MailboxLost) => waits::mailbox_lost,
        Some(Mutant::WaitAnsweredTwice) => waits::wait_answered_twice,
        Some(Mutant::ProofOutlivesItself) => waits::proof_outlives_itself,
        Some(Mutant::HoldIgnored) => waits::hold_ignored,
        _ => counted,
    }
}

thread_local! {
    /// The run of this thread: rules are plain functions and find it here.
    static RUN: RefCell<Option<Arc<Hub>>> = const { RefCell::new(None) };
    static OPERATIONS: Cell<u64> = const { Cell::new(0) };
}

/// Says which run the rules on this thread belong to, and forgets what the last one counted.
pub(crate) fn begin(hub: &Arc<Hub>) {
    RUN.with(|run| *run.borrow_mut() = Some(hub.clone()));
    OPERATIONS.set(0);
}

/// Ends the run of this thread; answers how many commands its rules ran, repeats and timers included.
pub(crate) fn end() -> u64 {
    RUN.with(|run| *run.borrow_mut() = None);
    OPERATIONS.get()
}

pub(super) fn hub() -> Option<Arc<Hub>> {
    RUN.with(|run| run.borrow().clone())
}

pub(super) fn counted(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    OPERATIONS.set(OPERATIONS.get() + 1);
    let told = view.events().len();
    let reply = apply(view, command, now)?;
    chronicle(view, told)?;
    Ok(reply)
}

/// Keeps what is told of each execution in the log of its record too, so that logs live through every fault.
fn chronicle(view: &mut View<'_>, told: usize) -> Result<(), Stop> {
    for key in view.step().writes.clone() {
        let Key::Execution(id) = key else { continue };
        let Some(Record::Execution(execution)) = view.get(&key)?.as_deref().cloned() else { continue };
        let pages = u64::from(execution.pages) * limits::HISTORY_PAGE as u64;
        if execution.is_purging() {
            view.trim(key, pages + limits::HISTORY_PAGE as u64);
            continue;
        }
        // A signal is in the feed and not in the history of its execution.
        let is_line = |what: &What| !matches!(what, What::Signalled { .. });
        let own = view.events()[told..].iter().filter(|event| event.execution() == Some(id) && is_line(&event.what));
        let new: Vec<_> = own.cloned().collect();
        let first = pages + (execution.history.len() - new.len()) as u64;
        for (at, event) in (first + 1..).zip(new) {
            view.append(key.clone(), at, entry(event.at, &event.what).into());
        }
    }
    Ok(())
}

/// What a log holds about a transition.
pub(crate) fn entry(at: Millis, what: &What) -> String {
    format!("{at} {}", what.name())
}

fn no_fence(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    let mut command = command.clone();
    let fence = match &mut command {
        Command::Renew(renew) => Some(&mut renew.fence),
        Command::Progress(progress) => Some(&mut progress.fence),
        Command::Report(report) => Some(&mut report.fence),
        _ => None,
    };
    if let Some(fence) = fence
        && let Some(Record::Execution(execution)) = view.get(&Key::Execution(fence.execution))?.as_deref()
        && let State::Active(active) = &execution.state
    {
        let execution = execution.id;
        *fence = Fence { execution, lease: active.lease.id, epoch: active.lease.epoch, attempt: active.attempt.number };
    }
    counted(view, &command, now)
}

fn repeat_forgotten(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    let mut command = command.clone();
    if let Command::Report(Report { command: id, end: End::Complete(_), .. }) = &mut command {
        *id = CommandId(id.0 ^ u128::from(OPERATIONS.get() + 1));
    }
    counted(view, &command, now)
}

fn mark_instead_of_ids(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    let Command::Deliver(deliver) = command else { return counted(view, command, now) };
    let Some(hub) = hub() else { return counted(view, command, now) };
    let (to, from) = (view.partition(), deliver.from);
    let messages = hub.check(|checker| {
        let mark = checker.mark(to, from);
        let is_new = |id| mark.is_none_or(|mark| checker.seq(id).is_none_or(|seq| seq > mark));
        deliver.messages.iter().filter(|message| is_new(message.id)).cloned().collect()
    });
    counted(view, &Command::Deliver(Deliver { from, messages }), now)
}

/// The errand that a rule is about to read, if it can still be swapped for another.
pub(super) fn errand_before_read(view: &View<'_>, key: &Key) -> Option<Errand> {
    if view.has(key) {
        return None;
    }
    hub()?.check(|checker| match checker.record(key) {
        Some(Record::Errand(errand)) => Some(errand.clone()),
        _ => None,
    })
}

/// The record that a rule is about to read, if it can still be swapped for another.
pub(super) fn before_read(view: &View<'_>, id: ExecutionId) -> Option<Execution> {
    if view.has(&Key::Execution(id)) { None } else { hub()?.check(|checker| checker.execution(id).cloned()) }
}

pub(super) fn swap(view: &mut View<'_>, execution: Execution) {
    view.supply(Key::Execution(execution.id), Some(Arc::new(Record::Execution(Arc::new(execution)))));
}

fn hint_trusted(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Command::Claim(claim) = command
        && let Some(mut execution) = before_read(view, claim.execution)
    {
        let repeats = matches!(&execution.state, State::Active(active) if active.lease.id == claim.lease);
        if !repeats && !matches!(execution.state, State::Waiting(_)) {
            let readiness = Readiness::Ready { since: execution.changed_at };
            execution.state = State::Waiting(Waiting { readiness, next: Next::Reclaim });
            execution.result = None;
            swap(view, execution);
        }
    }
    counted(view, command, now)
}

fn epoch_reuse(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Command::Claim(claim) = command
        && let Some(mut execution) = before_read(view, claim.execution)
        && matches!(execution.state, State::Waiting(_))
        && execution.epoch > 0
    {
        execution.epoch -= 1;
        swap(view, execution);
    }
    counted(view, command, now)
}

fn timer_only_by_sweep(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Command::Due(due) = command
        && let Some(record) = view.get(&due.key)?
        && let Some(at) = index::due(&record)
        && (at..at + OVERLOOKED).contains(&now)
    {
        return Ok(Reply::Due(Looked { acted: false, next: None }));
    }
    counted(view, command, now)
}

fn waiter_not_woken(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Command::Claim(Claim { execution, .. }) = command
        && let Some(Record::Execution(found)) = view.get(&Key::Execution(*execution))?.as_deref()
        && let State::Waiting(Waiting { readiness: Readiness::Ready { since }, .. }) = found.state
        && now < since + OVERLOOKED
    {
        return Err(Rejection::NotReady { execution: *execution, state: found.public_state() }.into());
    }
    counted(view, command, now)
}

/// Such work is not offered before the next sweep: an earlier claim finds nothing.
fn announced_by_difference(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Command::Claim(Claim { execution, .. }) = command
        && let Some(Record::Execution(found)) = view.get(&Key::Execution(*execution))?.as_deref()
        && let State::Waiting(Waiting { readiness: Readiness::Ready { since }, .. }) = found.state
        && now < since + Span(8 * OVERLOOKED.0)
        && found.history.len() >= 2
        && let [claimed, revoked] = &found.history[found.history.len() - 2..]
        && (claimed.what.name(), revoked.what.name()) == ("claimed", "lease_revoked")
        && claimed.at == revoked.at
    {
        return Err(Rejection::NotReady { execution: *execution, state: found.public_state() }.into());
    }
    counted(view, command, now)
}

fn gives_up_at_once(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Command::Due(due) = command
        && let Key::Execution(id) = due.key
        && let Some(mut execution) = before_read(view, id)
        && matches!(execution.state, State::Active(_))
    {
        execution.reclaims = limits::RECLAIMS_MAX;
        swap(view, execution);
    }
    counted(view, command, now)
}

fn lease_too_long(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    let mut command = command.clone();
    if let Command::Claim(claim) = &mut command {
        claim.ttl = Span(claim.ttl.0 + 1);
    }
    counted(view, &command, now)
}

fn delay_ignored(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    let mut command = command.clone();
    if let Command::Submit(submit) = &mut command {
        submit.new.set_when(When::Now);
    }
    counted(view, &command, now)
}
