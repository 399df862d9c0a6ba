//! Hints from other processes: look again at what somebody here waits for.

use crate::shared::Shared;
use crate::{claims, clockwork};
use futures_util::{FutureExt, StreamExt};
use onward_core::Span;
use std::sync::Arc;

/// Hints that arrive within this span are answered by one look.
const MERGE: Span = Span(2);

/// Listens to the store and to changed lanes.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut wakes = shared.store.watch();
    let mut open = true;
    loop {
        tokio::select! {
            biased;
            () = shared.stopped() => return,
            wake = wakes.next(), if open => {
                // A store that hints no more leaves it to the sweep.
                open = wake.is_some();
                let merge = shared.clock.sleep(MERGE);
                tokio::select! { biased; () = shared.stopped() => return, () = merge => {} }
                while let Some(Some(_)) = wakes.next().now_or_never() {}
                look(&shared).await;
            }
            () = shared.unserved.notified() => claims::serve_waiters(&shared).await,
        }
    }
}

async fn look(shared: &Shared) {
    shared.fed.notify_waiters();
    claims::look_again(shared, false).await;
    clockwork::read_near(shared).await;
}
