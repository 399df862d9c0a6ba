//! One command in a partition's loop, and the recipient of its reply.

use crate::Error;
use crate::partition::answers::Ticket;
use crate::partition::doubt::Doubt;
use crate::shared::Shared;
use crate::work::board::Origin;
use crate::work::queue_bytes::HeldBytes;
use crate::work::waiters::Waiter;
use onward_core::{Claimed, Command, Millis, Reply, Urgency};
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
    /// Its bytes, for as long as it is in memory; unset for what the loop adds by itself.
    pub(crate) held: Option<HeldBytes>,
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
            Ok(Reply::Claim(claimed)) => Some(*claimed),
            _ => None,
        }
    }
}

impl Drop for SealedReply {
    fn drop(&mut self) {
        if let Some(Ok(Reply::Claim(claimed))) = self.answer.take() {
            self.shared.give_back(claimed.fence);
        }
    }
}

impl Task {
    pub(crate) fn new(command: Command, answer: Answer, deadline: Millis) -> Self {
        Self { command, answer, deadline, conflicts: 0, outsides: 0, failures: 0, doubts: Vec::new(), held: None }
    }

    /// Whether it kept conflicting and gets a batch of its own.
    pub(crate) fn is_alone(&self) -> bool {
        self.conflicts > 1
    }

    /// Whether it is background work, which yields to calls when both are waiting.
    pub(crate) fn is_background(&self) -> bool {
        self.command.urgency() == Urgency::Background
    }
}
