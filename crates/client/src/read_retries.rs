//! Retries reads of an embedded engine while its store is unavailable. Writes are retried by the engine itself.

use crate::call::{Answer, Ask, Call};
use crate::calls::Calls;
use crate::{Error, Result};
use onward_core::Span;
use onward_engine::Error as EngineError;
use onward_engine::clock::{Chance, Clock};
use onward_store::ErrorKind;

/// The pauses between tries, each up to twice as long as the one before.
const PAUSE_FIRST: Span = Span(16);
const PAUSE_MAX: Span = Span(1_024);

impl Ask {
    /// How long it is retried while the store is unavailable, when a call may take `call`; zero for writes. A call that waits
    /// for something to happen is retried until its wait ends.
    fn read_timeout(&self, call: Span) -> Span {
        match self {
            Self::Get(_) | Self::Input(_) | Self::Attempts(_) | Self::History(_) | Self::Why(_) => call,
            Self::Find { .. } | Self::Counts | Self::Lanes | Self::Lane(_) | Self::Keys => call,
            Self::Waits(_) | Self::SignalPayload { .. } | Self::DescribeToken(_) | Self::TokenKeys => call,
            Self::Ending { wait: Span(0), .. } | Self::Events { wait: Span(0), .. } => call,
            Self::Ending { wait, .. } | Self::Events { wait, .. } => call.min(*wait),
            _ => Span(0),
        }
    }
}

/// Carries a call out. A read is retried while the store is unavailable, for up to `time`.
pub(crate) async fn ask<T>(calls: &Calls, call: Call, time: Span, clock: &dyn Clock, chance: &Chance) -> Result<T>
where
    T: TryFrom<Answer, Error = Error>,
{
    let timeout = call.ask.read_timeout(time);
    if timeout == Span(0) {
        return calls.ask(call).await;
    }
    let (deadline, mut pause) = (clock.now() + timeout, PAUSE_FIRST);
    loop {
        match calls.ask(call.clone()).await {
            Err(error) if is_unavailable(&error) && clock.now() < deadline => {
                tracing::debug!(%error, "the store is unavailable; reading again");
            }
            answer => return answer,
        }
        clock.rest(chance.jittered(pause)).await;
        pause = Span(pause.0 * 2).min(PAUSE_MAX);
    }
}

fn is_unavailable(error: &Error) -> bool {
    matches!(error, Error::Engine(EngineError::Store { kind: ErrorKind::Unavailable, .. }))
}
