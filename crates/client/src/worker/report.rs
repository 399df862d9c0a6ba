//! How the end of an attempt is reported: with one id, again and again while the lease is held.

use super::Shared;
use super::attempt::Taken;
use super::leases::HeldLease;
use crate::failed::Why;
use futures_util::future::join;
use onward_core::{Category, CommandId, Failure, Fence, Payload, Reason, Rejection, Span, When};
use onward_engine::{Engine, Error};

/// The first pause before a report is repeated; it doubles up to the longest.
const PAUSE_FIRST: Span = Span(50);
const PAUSE_MAX: Span = Span::seconds(2);
/// How often a report is repeated that broke something inside the engine. The first repeat nearly always helps; one that
/// breaks it every time must not go on for ever under a lease that is renewed meanwhile.
const BROKEN_MAX: u32 = 5;

/// How an attempt ended.
#[derive(Debug, Clone)]
pub(crate) enum End {
    /// With a result.
    Success(Payload),
    /// With an error.
    Failed(Failure),
    /// Not yet: it goes on later.
    Later(When),
    /// Unwanted.
    Cancelled(Reason),
    /// By the worker, which stops: another one starts over, and no retry is used up.
    Stopped,
}

impl From<Why> for End {
    fn from(why: Why) -> Self {
        match why {
            Why::Failed(failure) => Self::Failed(failure),
            Why::Later(when) => Self::Later(when),
            Why::Cancelled(reason) => Self::Cancelled(reason),
        }
    }
}

impl End {
    async fn send(&self, engine: &Engine, command: CommandId, fence: Fence) -> Result<(), Error> {
        match self {
            Self::Success(result) => engine.complete_with(command, fence, result.clone()).await,
            Self::Failed(failure) => engine.fail_with(command, fence, failure.clone()).await.map(|_| ()),
            Self::Later(when) => engine.delay_with(command, fence, *when).await.map(|_| ()),
            Self::Cancelled(reason) => engine.cancel_own(command, fence, reason.clone()).await,
            Self::Stopped => engine.unclaim_with(command, fence).await,
        }
    }
}

/// Reports an end. After a success the next execution is asked for in the same breath, since a slot becomes free.
pub(crate) async fn end(shared: &Shared, lease: &HeldLease, fence: Fence, end: End) -> Option<Taken> {
    let engine = shared.client.engine();
    let command = engine.command_id();
    let (first, next) = if matches!(end, End::Success(_)) && shared.refills() {
        join(end.send(engine, command, fence), next(shared)).await
    } else {
        (end.send(engine, command, fence).await, None)
    };
    if let Err(error) = first {
        insist(shared, lease, fence, command, end, error).await;
    }
    next
}

/// The next execution if there is one. Its lease is renewed from now on, however long the report before it takes.
async fn next(shared: &Shared) -> Option<Taken> {
    let claimed = shared.client.engine().claim(&shared.wants(1), Span(0)).await;
    // A claim that failed is made again by whoever waits for work.
    claimed.unwrap_or_default().pop().map(|claimed| Taken::new(shared, claimed))
}

/// Repeats a report that was not accepted, for as long as that may help.
async fn insist(
    shared: &Shared,
    lease: &HeldLease,
    fence: Fence,
    mut command: CommandId,
    mut end: End,
    mut error: Error,
) {
    let engine = shared.client.engine();
    let execution = fence.execution;
    let (mut pause, mut broken) = (PAUSE_FIRST, 0);
    loop {
        broken += u32::from(matches!(error, Error::Internal(_)));
        let may_pass = error.is_temporary() || (1..=BROKEN_MAX).contains(&broken);
        match &error {
            Error::Refused(Rejection::InvalidArgument { .. }) if matches!(end, End::Success(_) | End::Later(_)) => {
                // What the handler returned is refused, and so it would be after another attempt.
                end = End::Failed(Failure::new(Category::permanent(), &format!("the answer is refused: {error}")));
                command = engine.command_id();
            }
            Error::Refused(refusal) => {
                return tracing::info!(%execution, %refusal, "the attempt is over; its end is not reported");
            }
            error if lease.is_lost() || !may_pass || *error == Error::ShuttingDown => {
                return tracing::warn!(%execution, %error, "the end of an attempt could not be reported");
            }
            error => {
                tracing::warn!(%execution, %error, "the end of an attempt could not be reported; trying again");
                shared.client.clock().sleep(shared.client.chance().jittered(pause)).await;
                pause = Span(pause.0 * 2).min(PAUSE_MAX);
            }
        }
        match end.send(engine, command, fence).await {
            Ok(()) => return,
            Err(again) => error = again,
        }
    }
}
