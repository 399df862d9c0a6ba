//! One attempt from lease to report: find the handler, run it, report how it ended unless the lease is lost.

use super::running::Stage;
use super::{Shared, report};
use crate::{Context, handler};
use onward_core::{Category, Claimed, Failure, Payload};
use tokio::sync::watch;
use tracing::Instrument;

/// Runs an execution and, while that brings more work, the next ones.
pub(crate) async fn run(shared: std::sync::Arc<Shared>, claimed: Claimed) {
    let mut next = Some(claimed);
    while let Some(claimed) = next {
        let (execution, attempt) = (claimed.fence.execution, claimed.fence.attempt + 1);
        let span = tracing::info_span!("attempt", %execution, kind = %claimed.kind, attempt);
        next = run_one(&shared, claimed).instrument(span).await;
        if shared.stage() != Stage::Working
            && let Some(claimed) = next.take()
        {
            give_back(&shared, &claimed).await;
        }
    }
}

/// Returns work that arrived when the worker had stopped taking any; nothing of it has run.
async fn give_back(shared: &Shared, claimed: &Claimed) {
    let execution = claimed.fence.execution;
    if let Err(error) = shared.client.engine().unclaim(claimed.fence).await {
        tracing::warn!(%execution, %error, "unused work could not be given back; its lease will run out");
    }
}

/// Runs one execution; the answer is the next one, if the report brought one along.
pub(crate) async fn run_one(shared: &Shared, claimed: Claimed) -> Option<Claimed> {
    let lease = shared.leases.take(&claimed, shared.ttl());
    let fence = claimed.fence;
    let end = handle(shared, claimed, lease.lost().clone()).await;
    if lease.is_lost() {
        tracing::info!("the lease was lost; the end of this attempt is not reported");
        return None;
    }
    match end {
        Ok(result) => {
            tracing::debug!("succeeded");
            report::success(shared, &lease, fence, result, shared.refills()).await
        }
        Err(failure) => {
            tracing::debug!(category = failure.category.as_str(), message = &*failure.message, "failed");
            report::failure(shared, &lease, fence, failure).await;
            None
        }
    }
}

async fn handle(shared: &Shared, claimed: Claimed, lost: watch::Receiver<bool>) -> Result<Payload, Failure> {
    let Some(handler) = shared.handlers.get(&claimed.kind) else {
        let message = format!("worker {} has no handler for {}", shared.name(), claimed.kind);
        return Err(Failure::new(category("no_handler"), &message));
    };
    let ctx = Context::new(shared.client.clone(), &claimed, lost);
    tokio::select! {
        biased;
        end = handler::call(handler, ctx, claimed.input) => end,
        () = shared.reaches(Stage::Stopping) => {
            Err(Failure::new(category("shutdown"), "the worker stopped before the handler ended"))
        }
    }
}

fn category(name: &str) -> Category {
    Category::new(name).unwrap_or_else(|_| Category::transient())
}
