//! Calls that do several things at once: every one of them is answered on its own.

use super::calls::{Caller, Heard};
use crate::world::Running;
use onward_core::{Claimed, Fence, NewExecution, Payload, Renewed, Span, Submitted};
use onward_engine::{Error, Wants};

/// The answers to a completion and to the claim that came with it.
pub(crate) type Both = (Result<(), Error>, Result<Vec<Claimed>, Error>);

impl Caller {
    /// Submits many executions; the engine chooses their ids, so this cannot be repeated.
    pub(crate) async fn submit_many(
        &mut self,
        process: &Running,
        many: &[NewExecution],
    ) -> Heard<Vec<Result<Submitted, Error>>> {
        let (since, hurry) = (self.since(), self.hurry());
        self.say(process, format_args!("submit {} at once", many.len()));
        let heard = self.hear(process, hurry, process.engine.submit_many(many.to_vec())).await;
        self.judge(&heard, |checker, now, answer| checker.submitted_many(since, now, many, answer));
        heard
    }

    /// Renews several leases.
    pub(crate) async fn renew(
        &mut self,
        process: &Running,
        fences: &[Fence],
        ttl: Span,
    ) -> Heard<Vec<Result<Renewed, Error>>> {
        let (since, hurry) = (self.since(), self.hurry());
        let names: Vec<String> =
            fences.iter().map(|fence| format!("{} epoch {}", fence.execution, fence.epoch)).collect();
        self.say(process, format_args!("renew {}", names.join(", ")));
        let heard = self.hear(process, hurry, async { Ok(process.engine.renew(fences, ttl).await) }).await;
        if let Some(Ok(answers)) = &heard {
            let hub = &self.world.hub;
            let now = hub.now();
            if answers.len() != fences.len() {
                hub.violate("answers", format!("{} renewals got {} answers", fences.len(), answers.len()));
            }
            for (fence, answer) in fences.iter().zip(answers) {
                hub.check(|checker| checker.renewed(since, now, *fence, answer));
            }
        }
        heard
    }

    /// Completes an execution and claims the next; the engine chooses the id, so this cannot be repeated.
    pub(crate) async fn complete_and_claim(
        &mut self,
        process: &Running,
        fence: Fence,
        result: &Payload,
        wants: &Wants,
    ) -> Heard<Both> {
        let (since, hurry) = (self.since(), self.hurry());
        self.say(process, format_args!("complete {} epoch {} and claim", fence.execution, fence.epoch));
        let (complete, claim) = (process.engine.complete(fence, result.clone()), process.engine.claim(wants, Span(0)));
        let heard = self.hear(process, hurry, async { Ok(tokio::join!(biased; complete, claim)) }).await;
        if let Some(Ok((completed, claimed))) = &heard {
            let now = self.world.hub.now();
            self.world.hub.check(|checker| {
                checker.completed(since, now, fence, result, completed);
                checker.claimed(wants, claimed);
            });
        }
        heard
    }
}
