//! How long a look at an embedded engine's store waits for one that is away; changes wait in the engine, by themselves.

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
    /// How long it waits for a store that is away, when a call may take so long; nothing for what is no look. Whoever waits
    /// for something to happen says how long that may take.
    fn patience(&self, call: Span) -> Span {
        match self {
            Self::Get(_) | Self::Input(_) | Self::Attempts(_) | Self::History(_) | Self::Why(_) => call,
            Self::Find { .. } | Self::Counts | Self::Lanes | Self::Lane(_) | Self::Keys => call,
            Self::Ending { wait: Span(0), .. } | Self::Events { wait: Span(0), .. } => call,
            Self::Ending { wait, .. } | Self::Events { wait, .. } => call.min(*wait),
            _ => Span(0),
        }
    }
}

/// Carries a call out, and a look again and again while the store is away.
pub(crate) async fn ask<T>(calls: &Calls, call: Call, time: Span, clock: &dyn Clock, chance: &Chance) -> Result<T>
where
    T: TryFrom<Answer, Error = Error>,
{
    let patience = call.ask.patience(time);
    if patience == Span(0) {
        return calls.ask(call).await;
    }
    let (deadline, mut pause) = (clock.now() + patience, PAUSE_FIRST);
    loop {
        match calls.ask(call.clone()).await {
            Err(error) if is_away(&error) && clock.now() < deadline => {
                tracing::debug!(%error, "the store is away; looking again");
            }
            answer => return answer,
        }
        clock.rest(chance.jittered(pause)).await;
        pause = Span(pause.0 * 2).min(PAUSE_MAX);
    }
}

fn is_away(error: &Error) -> bool {
    matches!(error, Error::Engine(EngineError::Store { kind: ErrorKind::Unavailable, .. }))
}
