//! Worker calls on claimed executions: renew, report, complete.

use crate::{Engine, Error};
use onward_core::{End, Fence, Payload, Renew, Renewed, Report, Reported, Span, end};

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
}
