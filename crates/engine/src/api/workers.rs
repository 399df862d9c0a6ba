//! Worker calls on claimed executions: renew, complete, fail, give back, delay, report progress, cancel.

use crate::engine::unexpected;
use crate::{Engine, Error, Wants};
use onward_core::{
    AfterFailure, Cancel, Claimed, Command, CommandId, Complete, Delay, Fail, Failure, Fence, Millis, Payload,
    Progress, Reason, Renew, Renewed, Reply, Span, Unclaim, When,
};

impl Engine {
    /// Extends leases; the results come in the same order.
    pub async fn renew(&self, fences: &[Fence], ttl: Span) -> Vec<Result<Renewed, Error>> {
        let renew = |fence: &Fence| (fence.execution.partition(), Command::Renew(Renew { fence: *fence, ttl }));
        let renewed = |reply| match reply {
            Reply::Renewed(renewed) => Ok(renewed),
            other => Err(unexpected(&other)),
        };
        let answers = self.call_many(fences.iter().map(renew).collect()).await;
        answers.into_iter().map(|answer| answer.and_then(renewed)).collect()
    }

    /// Completes an execution with its result.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn complete(&self, fence: Fence, result: Payload) -> Result<(), Error> {
        self.complete_with(self.command_id(), fence, result).await
    }

    /// Completes an execution under an id drawn before, so that the call can be retried.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn complete_with(&self, command: CommandId, fence: Fence, result: Payload) -> Result<(), Error> {
        let complete = Command::Complete(Complete { command, fence, result });
        match self.call(fence.execution.partition(), complete).await? {
            Reply::Completed => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// Completes an execution and claims the next one if there is one, both in one group of commits.
    ///
    /// # Errors
    /// A refusal of the completion, or a failure of the store. Work that was claimed nevertheless is returned with it.
    pub async fn complete_and_claim(
        &self,
        fence: Fence,
        result: Payload,
        wants: &Wants,
    ) -> (Result<(), Error>, Result<Vec<Claimed>, Error>) {
        futures_util::future::join(self.complete(fence, result), self.claim(wants, Span(0))).await
    }

    /// Fails an attempt; the policy decides what follows.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn fail(&self, fence: Fence, failure: Failure) -> Result<AfterFailure, Error> {
        self.fail_with(self.command_id(), fence, failure).await
    }

    /// Fails an attempt under an id drawn before, so that the call can be retried.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn fail_with(&self, command: CommandId, fence: Fence, failure: Failure) -> Result<AfterFailure, Error> {
        let fail = Command::Fail(Fail { command, fence, failure, seed: self.shared.chance.word() });
        match self.call(fence.execution.partition(), fail).await? {
            Reply::Failed(after) => Ok(after),
            other => Err(unexpected(&other)),
        }
    }

    /// Gives a lease back; the execution is ready again at once, and neither a retry nor a lost lease is counted.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn unclaim(&self, fence: Fence) -> Result<(), Error> {
        self.unclaim_with(self.command_id(), fence).await
    }

    /// Gives a lease back under an id drawn before, so that the call can be retried.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn unclaim_with(&self, command: CommandId, fence: Fence) -> Result<(), Error> {
        let unclaim = Command::Unclaim(Unclaim { command, fence });
        self.call(fence.execution.partition(), unclaim).await.map(|_| ())
    }

    /// Delays an attempt: its lease is released, and the same attempt is claimed again when its time comes.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn delay(&self, fence: Fence, when: When) -> Result<Millis, Error> {
        self.delay_with(self.command_id(), fence, when).await
    }

    /// Delays an attempt under an id drawn before, so that the call can be retried.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn delay_with(&self, command: CommandId, fence: Fence, when: When) -> Result<Millis, Error> {
        let delay = Command::Delay(Delay { command, fence, when });
        match self.call(fence.execution.partition(), delay).await? {
            Reply::Delayed { until } => Ok(until),
            other => Err(unexpected(&other)),
        }
    }

    /// Reports the progress of an attempt; `None` keeps what was reported before.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn progress(&self, fence: Fence, percent: Option<u8>, message: Option<Reason>) -> Result<Renewed, Error> {
        let progress = Command::Progress(Progress { fence, percent, message });
        match self.call(fence.execution.partition(), progress).await? {
            Reply::Noted(renewed) => Ok(renewed),
            other => Err(unexpected(&other)),
        }
    }

    /// Cancels an execution that its worker finds unwanted, under an id drawn before, so that the call can be retried.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn cancel_own(&self, command: CommandId, fence: Fence, reason: Reason) -> Result<(), Error> {
        let cancel = Command::Cancel(Cancel { command, fence, reason });
        self.call(fence.execution.partition(), cancel).await.map(|_| ())
    }
}
