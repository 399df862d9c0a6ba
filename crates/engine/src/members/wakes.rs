//! Handles wake-ups from other processes: reads again what they announced, if it is needed here.

use crate::members::topics::Heard;
use crate::shared::Shared;
use crate::timers::due;
use crate::work::claims;
use futures_util::{FutureExt, StreamExt};
use onward_core::Span;
use std::sync::Arc;

/// After a wake-up is handled, further ones gather for this span, so that one read serves many.
const MERGE: Span = Span(2);

/// Listens to the store's wake-ups and for waiters that may have missed work.
pub(crate) async fn run(shared: Arc<Shared>) {
    let mut wakes = shared.store.watch();
    let mut open = true;
    loop {
        tokio::select! {
            biased;
            () = shared.stopped() => return,
            wake = wakes.next(), if open => {
                // When the store sends no more wake-ups, the sweep has to find what changed.
                open = wake.is_some();
                let mut heard = Heard::default();
                wake.into_iter().for_each(|wake| heard.add(wake));
                while let Some(Some(wake)) = wakes.next().now_or_never() {
                    heard.add(wake);
                }
                look(&shared, heard).await;
                let merge = shared.clock.sleep(MERGE);
                tokio::select! { biased; () = shared.stopped() => return, () = merge => {} }
            }
            () = shared.board.unserved.notified() => claims::serve_waiters(&shared).await,
        }
    }
}

async fn look(shared: &Shared, mut heard: Heard) {
    shared.event_reads.tell();
    let told = !heard.ready.is_empty();
    for (queue, partitions) in std::mem::take(&mut heard.ready) {
        // An unknown queue is in the registry.
        heard.registry |= !partitions.into_iter().all(|partition| shared.board.told(&queue, partition));
    }
    if heard.anything || heard.registry {
        claims::look_again(shared, false).await;
    } else if told {
        claims::serve_waiters(shared).await;
    }
    if heard.anything || heard.due.iter().any(|partition| shared.is_home(*partition)) {
        due::read_near(shared).await;
    }
}
