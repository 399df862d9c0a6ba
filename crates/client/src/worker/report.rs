//! How the end of an attempt is reported: with one id, again and again while the lease is held.

use super::Shared;
use super::leases::HeldLease;
use onward_core::{Category, Claimed, CommandId, Failure, Fence, Payload, Rejection, Span};
use onward_engine::Error;

/// The first pause before a report is repeated; it doubles up to the longest.
const PAUSE_FIRST: Span = Span(50);
const PAUSE_MAX: Span = Span::seconds(2);

/// Reports success. With `refill` the next execution is asked for in the same breath, since a slot becomes free.
pub(crate) async fn success(
    shared: &Shared,
    lease: &HeldLease,
    fence: Fence,
    result: Payload,
    refill: bool,
) -> Option<Claimed> {
    let engine = shared.client.engine();
    let command = engine.command_id();
    let (first, next) = if refill {
        let wants = shared.wants(1);
        let (first, next) = futures_util::future::join(
            engine.complete_with(command, fence, result.clone()),
            engine.claim(&wants, Span(0)),
        )
        .await;
        // A claim that failed is made again by whoever waits for work.
        (first, next.unwrap_or_default().into_iter().next())
    } else {
        (engine.complete_with(command, fence, result.clone()).await, None)
    };
    if let Err(error) = first {
        insist(shared, lease, fence, command, Ok(result), error).await;
    }
    next
}

/// Reports a failure.
pub(crate) async fn failure(shared: &Shared, lease: &HeldLease, fence: Fence, failure: Failure) {
    let engine = shared.client.engine();
    let command = engine.command_id();
    if let Err(error) = engine.fail_with(command, fence, failure.clone()).await {
        insist(shared, lease, fence, command, Err(failure), error).await;
    }
}

/// Repeats a report that was not accepted, for as long as that may help.
async fn insist(
    shared: &Shared,
    lease: &HeldLease,
    fence: Fence,
    mut command: CommandId,
    mut end: Result<Payload, Failure>,
    mut error: Error,
) {
    let engine = shared.client.engine();
    let execution = fence.execution;
    let mut pause = PAUSE_FIRST;
    loop {
        match &error {
            Error::Refused(Rejection::InvalidArgument { .. }) if end.is_ok() => {
                // The result itself is refused, and so it would be after another attempt.
                end = Err(Failure::new(Category::permanent(), &format!("the result is refused: {error}")));
                command = engine.command_id();
            }
            Error::Refused(refusal) => {
                return tracing::info!(%execution, %refusal, "the attempt is over; its end is not reported");
            }
            error if lease.is_lost() || !error.is_temporary() || *error == Error::ShuttingDown => {
                return tracing::warn!(%execution, %error, "the end of an attempt could not be reported");
            }
            error => {
                tracing::warn!(%execution, %error, "the end of an attempt could not be reported; trying again");
                shared.client.clock().sleep(shared.client.chance().jittered(pause)).await;
                pause = Span(pause.0 * 2).min(PAUSE_MAX);
            }
        }
        let answer = match &end {
            Ok(result) => engine.complete_with(command, fence, result.clone()).await,
            Err(failure) => engine.fail_with(command, fence, failure.clone()).await.map(|_| ()),
        };
        match answer {
            Ok(()) => return,
            Err(again) => error = again,
        }
    }
}
