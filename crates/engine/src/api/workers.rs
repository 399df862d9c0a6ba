//! Worker calls on claimed executions: renew, complete, fail, give back, delay, report progress.

use crate::{Engine, Error, Wants};
use onward_core::{
    Claimed, End, Failure, Fence, Payload, Progress, Reason, Renew, Renewed, Report, Reported, Span, When, end,
};

impl Engine {
    /// Extends leases; the results come in the same order.
    pub async fn renew(&self, fences: &[Fence], ttl: Span) -> Vec<Result<Renewed, Error>> {
        self.run_many(fences.iter().map(|fence| Renew { fence: *fence, ttl })).await
    }

    /// Ends a lease. To be able to repeat the call, [`Engine::run`] a [`Report`] whose id was drawn before.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn report(&self, fence: Fence, end: impl Into<End>) -> Result<Reported, Error> {
        self.run(Report { command: self.command_id(), fence, end: end.into() }).await
    }

    /// Completes an execution with its result.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn complete(&self, fence: Fence, result: Payload) -> Result<(), Error> {
        self.report(fence, end::Complete { result }).await.map(|_| ())
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
    pub async fn fail(&self, fence: Fence, failure: Failure) -> Result<Reported, Error> {
        self.report(fence, end::Fail { failure }).await
    }

    /// Gives a lease back; the execution is ready again at once, and neither a retry nor a lost lease is counted.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn unclaim(&self, fence: Fence) -> Result<(), Error> {
        self.report(fence, end::Unclaim).await.map(|_| ())
    }

    /// Delays an attempt: its lease is released, and the same attempt is claimed again when its time comes.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn delay(&self, fence: Fence, when: When) -> Result<Reported, Error> {
        self.report(fence, end::Delay { when }).await
    }

    /// Reports the progress of an attempt; `None` keeps what was reported before.
    ///
    /// # Errors
    /// A refusal, or a failure of the store.
    pub async fn progress(&self, fence: Fence, percent: Option<u8>, message: Option<Reason>) -> Result<Renewed, Error> {
        self.run(Progress { fence, percent, message }).await
    }
}
