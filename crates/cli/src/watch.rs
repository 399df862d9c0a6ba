//! `--watch`: shows an answer again whenever it has changed, until it is final or nobody looks any more.

use crate::args::WatchArgs;
use crate::problem::{Exit, Problem};
use crate::{output, time};
use onward::engine::clock::{Clock, SystemClock};
use onward::{Client, Span};
use std::io::IsTerminal;

/// What there is to show now.
pub(crate) struct Shown {
    pub(crate) text: String,
    /// Whether it will never change again.
    pub(crate) is_final: bool,
}

impl Shown {
    /// Something that may change at any time.
    pub(crate) fn passing(text: String) -> Self {
        Self { text, is_final: false }
    }
}

/// Shows an answer once, or as often as it changes if asked to, and closes the client that it is about.
pub(crate) async fn show<F>(client: &Client, args: &WatchArgs, look: F) -> Result<Exit, Problem>
where
    F: AsyncFn() -> Result<Shown, onward::Error>,
{
    let shown = repeat(args, look).await;
    client.shutdown().await?;
    shown.map(|()| Exit::Success)
}

async fn repeat<F>(args: &WatchArgs, look: F) -> Result<(), Problem>
where
    F: AsyncFn() -> Result<Shown, onward::Error>,
{
    let Some(every) = &args.watch else {
        output::print(&look().await?.text);
        return Ok(());
    };
    let every = time::duration("--watch", every)?;
    let every = Span(u64::try_from(every.as_millis()).unwrap_or(u64::MAX).max(100));
    let mut before = None;
    loop {
        let shown = look().await?;
        if before.as_ref() != Some(&shown.text) {
            if std::io::stdout().is_terminal() {
                // The screen is a page: home, and away with what was there.
                output::print("\x1b[H\x1b[2J");
            }
            output::print(&shown.text);
        }
        if shown.is_final || output::closed() || output::lost().is_some() {
            return Ok(());
        }
        before = Some(shown.text);
        tokio::select! {
            biased;
            // A person who has seen enough ends this in good order.
            _ = tokio::signal::ctrl_c() => return Ok(()),
            () = SystemClock.sleep(every) => {}
        }
    }
}
