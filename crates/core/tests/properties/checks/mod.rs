//! The invariants that are checked after every command of a random run, each by a function of its own.
//!
//! What is checked about one kind of record stands in one module:
//!
//! | kinds of record | module |
//! |---|---|
//! | Execution | `executions` |
//! | Attempt | `attempts` |
//! | Payload | `payloads` |
//! | History | `history` |
//! | Unique | `unique` |
//! | Signal, Wait | `waits` |
//! | all others | `records`, with what holds for every record |

mod attempts;
mod executions;
mod history;
mod payloads;
mod records;
mod unique;
mod waits;

use crate::history::{History, Story};
use crate::world::{Done, World};
use executions::{states, work};
use onward_core::record::{EndedAttempt, Execution, Record, State};
use onward_core::{Act, Command, ExecutionId, Fence, Key};

/// One command and what it did.
pub(crate) struct Change<'a> {
    pub(crate) before: &'a World,
    pub(crate) after: &'a World,
    pub(crate) command: &'a Command,
    pub(crate) done: &'a Done,
    pub(crate) history: &'a History,
}

type Check = fn(&Change<'_>);

/// All of them by name; `coverage` says which invariant each one guards.
pub(crate) const CHECKS: [(&str, Check); 29] = [
    ("what_never_changes", executions::what_never_changes),
    ("vectors", states::vectors),
    ("phases", states::phases),
    ("times", states::times),
    ("places", states::places),
    ("indexes", records::indexes),
    ("due_times", records::due_times),
    ("ranks", states::ranks),
    ("leases", work::leases),
    ("fences", work::fences),
    ("windows", work::windows),
    ("renewals", work::renewals),
    ("progress", work::progress),
    ("stops", work::stops),
    ("attempts", attempts::attempts),
    ("ended_attempts", attempts::ended_attempts),
    ("attempt_kinds", attempts::attempt_kinds),
    ("counters", attempts::counters),
    ("retries", attempts::retries),
    ("run_time", attempts::run_time),
    ("ends", executions::ends),
    ("histories", history::histories),
    ("memories", executions::memories),
    ("payloads", payloads::payloads),
    ("unique_keys", unique::unique_keys),
    ("waits", waits::waits),
    ("conditions", waits::conditions),
    ("purges", executions::purges),
    ("agreement", records::agreement),
];

impl<'a> Change<'a> {
    /// Every execution with what it was before, if it was.
    fn executions(&self) -> impl Iterator<Item = (Option<&'a Execution>, &'a Execution)> {
        let before = self.before;
        self.after.executions().map(move |execution| (before.find(execution.id), execution))
    }

    /// Those that are not being removed, so that everything that belongs to them is there.
    fn whole(&self) -> impl Iterator<Item = (Option<&'a Execution>, &'a Execution)> {
        self.executions().filter(|(_, execution)| !execution.is_purging())
    }

    /// Those that this command wrote.
    fn changed(&self) -> impl Iterator<Item = (Option<&'a Execution>, &'a Execution)> {
        let writes = &self.done.step.writes;
        let changed = move |execution: &Execution| writes.contains(&Key::Execution(execution.id));
        self.executions().filter(move |(_, execution)| changed(execution)).collect::<Vec<_>>().into_iter()
    }

    fn story(&self, id: ExecutionId) -> &'a Story {
        &self.history.stories[&id]
    }

    /// All attempts of an execution that have ended, in order.
    fn ended(&self, execution: &'a Execution) -> Vec<&'a EndedAttempt> {
        let between = Key::Attempt(execution.id, 0)..=Key::Attempt(execution.id, u32::MAX);
        let stored = self.after.records.range(between).map(|(key, record)| match &**record {
            Record::Attempt(attempt) => attempt,
            other => panic!("{key} is {other:?}"),
        });
        stored.chain(&execution.last).collect()
    }

    /// What an operator did, if one did.
    fn act(&self) -> Option<&'a Act> {
        match self.command {
            Command::Operate(operate) => Some(&operate.act),
            _ => None,
        }
    }

    fn fence(&self) -> Option<&'a Fence> {
        match self.command {
            Command::Renew(renew) => Some(&renew.fence),
            Command::Report(report) => Some(&report.fence),
            Command::Progress(progress) => Some(&progress.fence),
            Command::Suspend(suspend) => Some(&suspend.fence),
            Command::Signal(_)
            | Command::Submit(_)
            | Command::Claim(_)
            | Command::Operate(_)
            | Command::Due(_)
            | Command::Deliver(_)
            | Command::Forget(_)
            | Command::Bury(_)
            | Command::Prune(_)
            | Command::SetLane(_)
            | Command::IssueKey(_)
            | Command::RevokeKey(_)
            | Command::RotateTokenKeys(_) => None,
        }
    }
}

/// The attempt that has begun and not ended, running or paused, with its number and kind.
fn unended(execution: &Execution) -> Option<&onward_core::record::Attempt> {
    match &execution.state {
        State::Active(active) => Some(&active.attempt),
        State::Waiting(waiting) => waiting.next.paused().map(|paused| &paused.attempt),
        State::Finished(_) => None,
    }
}
