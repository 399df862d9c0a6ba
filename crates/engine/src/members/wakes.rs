//! Handles wake-ups from other processes: reads again what they announced, if it is needed here.

use crate::members::topics::{self, DueNamed, Heard};
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
    heard.note_company(shared);
    tell_watches(shared, &mut heard);
    for DueNamed { partition, kind, due, key } in std::mem::take(&mut heard.due_named) {
        if shared.is_home(partition) {
            shared.timers.of(kind).remind(partition, &key, due);
        }
    }
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

/// Has read what callers here wait for and another process may have changed.
fn tell_watches(shared: &Shared, heard: &mut Heard) {
    if topics::say_nothing(shared) {
        shared.watches.tell_news();
    } else if heard.anything {
        shared.watches.suspect_all();
    }
    for (partition, ended) in std::mem::take(&mut heard.ended) {
        shared.watches.tell(partition, ended);
    }
}
