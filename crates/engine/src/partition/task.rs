//! One command in a partition's loop, and the recipient of its reply.

use crate::Error;
use crate::partition::answers::Ticket;
use crate::partition::doubt::Doubt;
use crate::shared::Shared;
use crate::work::board::Origin;
use crate::work::waiters::Waiter;
use onward_core::{Act, Claimed, Command, Millis, Reply, limits};
use std::sync::Arc;
use tokio::sync::oneshot;

/// A command, the recipient of its reply, and its failed tries so far.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) command: Command,
    pub(crate) answer: Answer,
    /// Local time after which the command is given up.
    pub(crate) deadline: Millis,
    /// How often another commit had changed records that it read.
    pub(crate) conflicts: u32,
    /// How often the store's clock was outside the window of its batch.
    pub(crate) outsides: u32,
    /// How often the store could not load or commit it.
    pub(crate) failures: u32,
    /// The batches of unknown outcome that it was part of.
    pub(crate) doubts: Vec<Arc<Doubt>>,
}

/// The recipient of a reply.
#[derive(Debug)]
pub(crate) enum Answer {
    /// A caller inside this process.
    Caller(oneshot::Sender<SealedReply>),
    /// A caller inside this process that sent many commands at once.
    Part(Ticket),
    /// A parked worker; the command claims work for it, which stood at this origin on the board if not handed off.
    Waiter(Waiter, Option<Box<Origin>>),
    /// The result is not needed.
    Discard,
}

/// A reply in flight. If it is dropped unopened, a lease in it is given back at once: its receiver may have gone after
/// the reply was sent.
#[derive(Debug)]
pub(crate) struct SealedReply {
    answer: Option<Result<Reply, Error>>,
    shared: Arc<Shared>,
}

impl SealedReply {
    pub(crate) fn new(answer: Result<Reply, Error>, shared: Arc<Shared>) -> Self {
        Self { answer: Some(answer), shared }
    }

    pub(crate) fn open(mut self) -> Result<Reply, Error> {
        self.answer.take().unwrap_or(Err(Error::ShuttingDown))
    }

    /// Opens the reply to a parked worker; `None` unless it holds claimed work.
    pub(crate) fn claimed(self) -> Option<Claimed> {
        match self.open() {
            Ok(Reply::Claimed(claimed)) => Some(*claimed),
            _ => None,
        }
    }
}

impl Drop for SealedReply {
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

    /// Whether it kept conflicting and gets a batch of its own.
    pub(crate) fn is_alone(&self) -> bool {
        self.conflicts > 1
    }

    /// Whether it is background work, which yields to calls when both are waiting.
    pub(crate) fn is_background(&self) -> bool {
        matches!(self.command, Command::Due(_) | Command::Deliver(_) | Command::Forget(_) | Command::Bury(_))
    }

    /// Estimated rows and bytes that the command writes.
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

/// Whether a command must get through when new work is refused: it frees what is held.
pub(crate) fn is_essential(command: &Command) -> bool {
    !matches!(command, Command::Submit(_) | Command::Claim(_) | Command::SetLane(_) | Command::IssueKey(_))
}
