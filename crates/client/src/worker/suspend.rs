//! How a worker suspends an attempt: with one id, again and again while the lease is held.

use super::WorkerState;
use super::leases::HeldLease;
use super::report::{PAUSE_FIRST, PAUSE_MAX};
use crate::call::Ask;
use crate::{Error, Result};
use onward_core::{Category, End, Failure, Fence, NewSuspension, Span, Suspended, Woken, end};

/// What came of a suspension.
pub(super) enum Outcome {
    /// All had come already; the lease is kept.
    Met(Box<Woken>),
    /// The attempt waits, and its lease is over.
    Suspended,
    /// The attempt is over.
    Over,
    /// The suspension can never be; the attempt ends so.
    Refused(End),
}

/// Suspends an attempt, for as long as trying may help.
pub(super) async fn suspend(state: &WorkerState, lease: &HeldLease, fence: Fence, new: NewSuspension) -> Outcome {
    let (command, mut pause) = (state.command(), PAUSE_FIRST);
    let execution = fence.execution;
    loop {
        let ask = Ask::Suspend { command, lease: fence, new: Box::new(new.clone()) };
        let answer: Result<Suspended> = state.client.ask(ask).await;
        let error: Error = match answer {
            Ok(Suspended { met: Some(woken) }) => return Outcome::Met(woken),
            Ok(Suspended { met: None }) => return Outcome::Suspended,
            Err(error) => error,
        };
        if error.is_refused() && !error.is_argument() {
            tracing::info!(%execution, %error, "the attempt is over; it is not suspended");
            return Outcome::Over;
        }
        if error.is_argument() {
            return Outcome::Refused(broken(&format!("the wait is refused: {error}")));
        }
        if lease.is_lost() || error.is_shut_down() || !(error.is_temporary() || error.is_internal()) {
            tracing::warn!(%execution, %error, "an attempt could not be suspended");
            return Outcome::Over;
        }
        tracing::warn!(%execution, %error, "an attempt could not be suspended; trying again");
        state.client.clock().sleep(state.client.chance().jittered(pause)).await;
        pause = Span(pause.0 * 2).min(PAUSE_MAX);
    }
}

/// A failure that another attempt would meet again.
pub(super) fn broken(why: &str) -> End {
    end::Fail { failure: Failure::new(Category::permanent(), why) }.into()
}
