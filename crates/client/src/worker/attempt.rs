//! One attempt from lease to report: find the handler, run it, report how it ended unless the lease is lost.

use super::WorkerState;
use super::hub::Hub;
use super::leases::HeldLease;
use super::report;
use super::running::Stage;
use super::suspend::{self, Outcome};
use crate::{Context, handler};
use onward_core::{Claimed, End, Millis, Payload, Report, end};
use std::sync::Arc;
use std::task::Poll;
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
pub(crate) async fn run(state: Arc<WorkerState>, taken: Taken) {
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
    let end = match handle(state, claimed, &lease).await {
        Handled::Ended(end) => end,
        Handled::Suspended => {
            tracing::debug!("suspended; it goes on when what it waits for has come");
            return None;
        }
        Handled::Stopped(why) => {
            tracing::info!("{why}; its handler was stopped");
            return None;
        }
    };
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

/// What became of a handler.
enum Handled {
    /// It ended, or was told to.
    Ended(End),
    /// It waits for the world, and its lease is over.
    Suspended,
    /// It may not go on, for this reason: another worker may run the execution, or it has ended.
    Stopped(&'static str),
}

/// Runs the handler of an execution. Its future is dropped when it waits for the world, and when its attempt may not go on.
async fn handle(state: &WorkerState, mut claimed: Claimed, lease: &HeldLease) -> Handled {
    // Claims name the kinds that have handlers, so that no other work comes.
    let Some(handler) = state.handlers.get(&claimed.kind) else { return Handled::Ended(end::Unclaim.into()) };
    let input = std::mem::replace(&mut claimed.input, Payload::null());
    let hub = Arc::new(Hub::new(claimed.woke.as_deref(), &claimed.open_waits));
    let (fence, acts_until) = (claimed.fence, claimed.times_out_at.into_iter().chain(claimed.deadline).min());
    let drops = !state.keeps_running(&claimed.kind);
    let ctx = Context::new(state.client.clone(), claimed, lease.signs(), state.watch_stage(), hub.clone());
    let mut running = std::pin::pin!(handler::call(handler, ctx, input));
    let mut stopped = std::pin::pin!(stopped(state, lease, acts_until, drops));
    loop {
        let polled = std::future::poll_fn(|task| match running.as_mut().poll(task) {
            Poll::Ready(end) => Poll::Ready(Some(end)),
            // It can only wait: whatever else it has begun is dropped.
            Poll::Pending if hub.suspension().is_some() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        let suspension = tokio::select! {
            biased;
            end = polled => match end {
                Some(end) => {
                    return Handled::Ended(end.map_or_else(End::from, |result| end::Complete { result }.into()));
                }
                None => hub.suspension(),
            },
            why = &mut stopped => return Handled::Stopped(why),
            () = state.reaches(Stage::Stopping) => return Handled::Ended(end::Unclaim.into()),
        };
        let Some(suspension) = suspension else { continue };
        match suspend::suspend(state, lease, fence, suspension).await {
            Outcome::Met(woken) if hub.learn(&woken) => {}
            Outcome::Met(_) => return Handled::Ended(suspend::broken("a wait was met and did not end")),
            Outcome::Suspended => return Handled::Suspended,
            Outcome::Over => return Handled::Stopped("the attempt is over"),
            Outcome::Refused(end) => return Handled::Ended(end),
        }
    }
}

/// Ends when the attempt may not go on: its lease is lost, its time is over, or it was asked to stop and did not in time.
/// A handler that must not be dropped runs on.
async fn stopped(state: &WorkerState, lease: &HeldLease, acts_until: Option<Millis>, drops: bool) -> &'static str {
    if !drops {
        return std::future::pending().await;
    }
    let mut signs = lease.signs();
    loop {
        let sign = signs.borrow_and_update().clone();
        if sign.lost {
            return "the lease was lost";
        }
        let until = sign.stop.map(|stop| stop.until).into_iter().chain(acts_until).min();
        let over = async {
            match until {
                Some(until) => state.client.clock().sleep(until - state.client.store_time()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            changed = signs.changed() => if changed.is_err() { return std::future::pending().await },
            () = over => return "its time is over",
        }
    }
}
