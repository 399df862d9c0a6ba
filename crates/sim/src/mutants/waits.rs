//! The rules with a fault in how executions wait: mail that is lost, waits that are answered again, times that do not count.

use super::rules::{before_read, counted, swap};
use onward_core::{Command, Condition, Key, Millis, Reply, Span, Stop, View};
use onward_store as store;

/// How long a proof is good for after its end.
const TOO_LONG: Span = Span::seconds(10);

/// The names of the waits in a condition.
fn names(condition: &Condition) -> Vec<String> {
    condition.waits().into_iter().map(|wait| wait.name.to_string()).collect()
}

/// A suspension forgets the mail that it does not ask for.
pub(super) fn mailbox_lost(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Command::Suspend(suspend) = command
        && let Some(mut execution) = before_read(view, suspend.fence.execution)
        && let Some(waits) = &mut execution.waits
    {
        let asked = names(&suspend.new.condition);
        waits.mail.retain(|mail| asked.contains(&mail.wait.to_string()));
        swap(view, execution);
    }
    counted(view, command, now)
}

/// A suspension does not look for the records of waits that are over.
pub(super) fn wait_answered_twice(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Command::Suspend(suspend) = command
        && let Some(mut execution) = before_read(view, suspend.fence.execution)
        && let Some(waits) = &mut execution.waits
    {
        waits.over = 0;
        swap(view, execution);
    }
    counted(view, command, now)
}

pub(super) fn proof_outlives_itself(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    let mut command = command.clone();
    if let Command::Signal(signal) = &mut command
        && let Some(proof) = &mut signal.proof
    {
        proof.not_after = proof.not_after + TOO_LONG;
    }
    counted(view, &command, now)
}

/// Whether a row is the record of a wait that is over.
pub(super) fn is_wait(row: &store::Record) -> bool {
    matches!(row.key.as_str().parse(), Ok(Key::Wait(..)))
}

/// Whether a batch accepts a signal.
pub(super) fn accepts_signal(batch: &store::Batch) -> bool {
    batch.put.iter().any(|row| matches!(row.key.as_str().parse(), Ok(Key::Signal(..))))
}

/// A claim does not see that an operator holds the work.
pub(super) fn hold_ignored(view: &mut View<'_>, command: &Command, now: Millis) -> Result<Reply, Stop> {
    if let Command::Claim(claim) = command
        && let Some(mut execution) = before_read(view, claim.execution)
        && execution.held.take().is_some()
    {
        swap(view, execution);
    }
    counted(view, command, now)
}
