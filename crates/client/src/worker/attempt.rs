//! One attempt from lease to report: find the handler, run it, report how it ended unless the lease is lost.

use super::WorkerState;
use super::leases::HeldLease;
use super::report;
use super::running::Stage;
use crate::{Context, handler};
use onward_core::{Claimed, End, Payload, Report, end};
use tracing::Instrument;

/// Work whose lease is renewed from now on.
#[derive(Debug)]
pub(crate) struct Taken {
    claimed: Claimed,
    lease: HeldLease,
}

impl Taken {
    pub(crate) fn new(state: &WorkerState, claimed: Claimed) -> Self {
        let lease = state.leases.take(&claimed, state.ttl());
        Self { claimed, lease }
    }
}

/// Runs an execution and, while that brings more work, the next ones.
pub(crate) async fn run(state: std::sync::Arc<WorkerState>, taken: Taken) {
    let mut next = Some(taken);
    while let Some(taken) = next {
        let (execution, attempt) = (taken.claimed.fence.execution, taken.claimed.fence.attempt);
        let span = tracing::info_span!("attempt", %execution, kind = %taken.claimed.kind, attempt);
        #[cfg(feature = "otel")]
        crate::otel::go_on(&span, taken.claimed.trace);
        next = run_one(&state, taken).instrument(span).await;
        if state.stage() != Stage::Working
            && let Some(unused) = next.take()
        {
            give_back(&state, &unused.claimed).await;
        }
    }
}

/// Returns work that arrived when the worker had stopped taking any; nothing of it has run.
async fn give_back(state: &WorkerState, claimed: &Claimed) {
    let execution = claimed.fence.execution;
    let report = Report { command: state.command(), fence: claimed.fence, end: end::Unclaim.into() };
    if let Err(error) = report::send(&state.client, report, None).await.0 {
        tracing::warn!(%execution, %error, "unused work could not be given back; its lease will run out");
    }
}

/// Runs one execution; the answer is the next one, if the report brought one along.
pub(crate) async fn run_one(state: &WorkerState, taken: Taken) -> Option<Taken> {
    let Taken { claimed, lease } = taken;
    let fence = claimed.fence;
    let end = handle(state, claimed, &lease).await;
    if lease.is_lost() {
        tracing::info!("the lease was lost; the end of this attempt is not reported");
        return None;
    }
    match &end {
        End::Complete(_) => tracing::debug!("succeeded"),
        End::Fail(end::Fail { failure }) => {
            tracing::debug!(category = failure.category.as_str(), message = &*failure.message, "failed");
        }
        End::Delay(_) => tracing::debug!("goes on later"),
        End::Cancel(end::Cancel { reason }) => tracing::info!(%reason, "cancelled by its handler"),
        End::Unclaim(_) => tracing::info!("stopped before it ended; another worker takes over"),
    }
    report::end(state, &lease, fence, end).await
}

async fn handle(state: &WorkerState, mut claimed: Claimed, lease: &HeldLease) -> End {
    // Claims name the kinds that have handlers, so that no other work comes.
    let Some(handler) = state.handlers.get(&claimed.kind) else { return end::Unclaim.into() };
    let input = std::mem::replace(&mut claimed.input, Payload::null());
    let ctx = Context::new(state.client.clone(), claimed, lease.signs(), state.watch_stage());
    tokio::select! {
        biased;
        end = handler::call(handler, ctx, input) => end.map_or_else(End::from, |result| end::Complete { result }.into()),
        () = state.reaches(Stage::Stopping) => end::Unclaim.into(),
    }
}
