//! One command on its way through a partition loop, and who is told what came of it.

use crate::Error;
use crate::board::Origin;
use crate::collect::Ticket;
use crate::doubt::Doubt;
use crate::shared::Shared;
use crate::waiters::Waiter;
use onward_core::{Act, Claimed, Command, Millis, Reply, limits};
use std::sync::Arc;
use tokio::sync::oneshot;

/// A command with its sender.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) command: Command,
    pub(crate) answer: Answer,
    /// Local time after which it is given up.
    pub(crate) deadline: Millis,
    /// How often it met records that others had changed.
    pub(crate) conflicts: u32,
    /// How often the store's clock was outside the window of its batch.
    pub(crate) outsides: u32,
    /// How often the store failed it.
    pub(crate) failures: u32,
    /// The batches it was part of whose outcome is unknown.
    pub(crate) doubts: Vec<Arc<Doubt>>,
}

/// Who is told.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A caller inside this process.
    Caller(oneshot::Sender<Parcel>),
    /// A caller inside this process that asked for many things at once.
    Part(Ticket),
    /// A parked worker; the command is a claim for it, of work that stood there on the board.
    Waiter(Waiter, Option<Box<Origin>>),
    /// Nobody.
    Nobody,
}

/// An answer on its way. A lease in a parcel that nobody opens goes back at once: its receiver may have gone away
/// after the answer was sent.
#[derive(Debug)]
pub(crate) struct Parcel {
    answer: Option<Result<Reply, Error>>,
    shared: Arc<Shared>,
}

impl Parcel {
    pub(crate) fn new(answer: Result<Reply, Error>, shared: Arc<Shared>) -> Self {
        Self { answer: Some(answer), shared }
    }

    pub(crate) fn open(mut self) -> Result<Reply, Error> {
        self.answer.take().unwrap_or(Err(Error::ShuttingDown))
    }

    /// What a parked worker gets.
    pub(crate) fn claimed(self) -> Option<Claimed> {
        match self.open() {
            Ok(Reply::Claimed(claimed)) => Some(*claimed),
            _ => None,
        }
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        if let Some(Ok(Reply::Claimed(claimed))) = self.answer.take() {
            self.shared.give_back(claimed.fence);
        }
    }
}

impl Task {
    pub(crate) fn new(command: Command, answer: Answer, deadline: Millis) -> Self {
        Self { command, answer, deadline, conflicts: 0, outsides: 0, failures: 0, doubts: Vec::new() }
    }

    /// Whether it has been in the way of its neighbours and gets a batch of its own.
    pub(crate) fn is_alone(&self) -> bool {
        self.conflicts > 1
    }

    /// Background work yields to calls when both are waiting.
    pub(crate) fn is_background(&self) -> bool {
        matches!(self.command, Command::Due(_) | Command::Deliver(_) | Command::Forget(_) | Command::Bury(_))
    }

    /// About how many rows and bytes the command writes.
    pub(crate) fn weight(&self, partitions: u16) -> (usize, usize) {
        match &self.command {
            Command::Submit(submit) => (8 + submit.tags.len(), 1_024 + submit.input.as_bytes().len()),
            Command::Complete(complete) => (7, 1_024 + complete.result.as_bytes().len()),
            Command::Operate(operate) => match &operate.act {
                Act::Purge => (limits::PURGE_PIECE as usize + 8, 2_048),
                _ => (10 + limits::TAGS_MAX, 4_096),
            },
            Command::Deliver(deliver) => (8 * deliver.messages.len() + 2, 1_024 * deliver.messages.len() + 4_096),
            Command::Forget(_) => (2 * limits::MESSAGES_MAX + 1, 1_024),
            Command::SetLane(_) => (4 * usize::from(partitions) + 4, 512 * usize::from(partitions)),
            _ => (7, 2_048),
        }
    }
}

/// Work that must get through when new work is turned away: it frees what is held.
pub(crate) fn is_essential(command: &Command) -> bool {
    !matches!(command, Command::Submit(_) | Command::Claim(_) | Command::SetLane(_) | Command::IssueKey(_))
}
