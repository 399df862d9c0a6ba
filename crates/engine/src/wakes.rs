//! Hints from other processes: look again at what they told of, if somebody here waits for it.

use crate::shared::Shared;
use crate::topics::Heard;
use crate::{claims, clockwork};
use futures_util::{FutureExt, StreamExt};
use onward_core::Span;
use std::sync::Arc;

/// After a look, further hints gather for this span, so that many of them are answered by one.
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
    shared.reading.tell();
    let told = !heard.ready.is_empty();
    for (queue, partitions) in std::mem::take(&mut heard.ready) {
        // A queue that is not known belongs to a class that is not known.
        heard.registry |= !partitions.into_iter().all(|partition| shared.board.told(&queue, partition));
    }
    if heard.anything || heard.registry {
        claims::look_again(shared, false).await;
    } else if told {
        claims::serve_waiters(shared).await;
    }
    if heard.anything || heard.due.iter().any(|partition| shared.is_home(*partition)) {
        clockwork::read_near(shared).await;
    }
}
