//! Reports by which workers end their leases, many in one call.

use crate::engine::unexpected;
use crate::{Engine, Error};
use onward_core::{
    AfterFailure, Cancel, Command, CommandId, Complete, Delay, Fail, Failure, Fence, Millis, Payload, Reason, Reply,
    Unclaim, When,
};

/// A report by which a worker ends its lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseReport {
    /// Id of this report; a retry carries the same id and gets the same reply.
    pub command: CommandId,
    /// Proof that the worker holds the lease.
    pub fence: Fence,
    /// How the lease ends.
    pub end: End,
}

/// How a lease ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The execution is done, with this result.
    Complete(Payload),
    /// The attempt failed; the policy decides what follows.
    Fail(Failure),
    /// The same attempt continues at this time.
    Delay(When),
    /// The work is not wanted any more: the execution is cancelled.
    Cancel(Reason),
    /// The execution becomes ready for another worker.
    GiveBack,
}

/// The result of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reported {
    /// The execution is completed.
    Completed,
    /// What follows the failure.
    Failed(AfterFailure),
    /// When the attempt continues.
    Delayed(Millis),
    /// The execution is cancelled.
    Cancelled,
    /// The execution is ready for another worker.
    GivenBack,
}

impl Engine {
    /// Ends leases, each independently; the results come in the same order.
    pub async fn report(&self, reports: Vec<LeaseReport>) -> Vec<Result<Reported, Error>> {
        let commands = reports.into_iter().map(|LeaseReport { command, fence, end }| {
            let command = match end {
                End::Complete(result) => Command::Complete(Complete { command, fence, result }),
                End::Fail(failure) => Command::Fail(Fail { command, fence, failure, seed: self.shared.chance.word() }),
                End::Delay(when) => Command::Delay(Delay { command, fence, when }),
                End::Cancel(reason) => Command::Cancel(Cancel { command, fence, reason }),
                End::GiveBack => Command::Unclaim(Unclaim { command, fence }),
            };
            (fence.execution.partition(), command)
        });
        let answers = self.call_many(commands.collect()).await;
        answers.into_iter().map(|answer| answer.and_then(reported)).collect()
    }
}

fn reported(reply: Reply) -> Result<Reported, Error> {
    match reply {
        Reply::Completed => Ok(Reported::Completed),
        Reply::Failed(after) => Ok(Reported::Failed(after)),
        Reply::Delayed { until } => Ok(Reported::Delayed(until)),
        Reply::Cancelled => Ok(Reported::Cancelled),
        Reply::Returned => Ok(Reported::GivenBack),
        other => Err(unexpected(&other)),
    }
}
