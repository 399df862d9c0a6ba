//! Reads what is watched: one load for each partition at a time, for all watches together.

use super::registry::Load;
use crate::api::query;
use crate::shared::Shared;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use onward_core::{PartitionId, Span};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Maximum partitions read at once.
const LOADS_MAX: usize = 16;
/// Pause before a partition is read again that could not be read.
const RETRY_AFTER: Span = Span(250);
/// Minimum time between two reads of everything that may have changed unnamed.
const UNNAMED_EVERY: Span = Span(100);

/// Reads records for all watches, for as long as the engine runs.
pub(crate) async fn run(shared: Arc<Shared>) {
    let watches = &shared.watches;
    let mut loads: FuturesUnordered<BoxFuture<'static, PartitionId>> = FuturesUnordered::new();
    let mut busy = BTreeSet::new();
    let mut sweep = next_sweep(&shared);
    let mut rest: Option<BoxFuture<'static, ()>> = None;
    loop {
        if rest.is_none() && watches.want_unnamed() {
            rest = Some(shared.clock.sleep(UNNAMED_EVERY));
        }
        while loads.len() < LOADS_MAX
            && let Some(load) = watches.take(&busy)
        {
            busy.insert(load.partition);
            loads.push(Box::pin(read(shared.clone(), load)));
        }
        let rested = async {
            match &mut rest {
                Some(rest) => rest.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = shared.stopped() => return,
            Some(partition) = loads.next(), if !loads.is_empty() => drop(busy.remove(&partition)),
            () = watches.work.notified() => {}
            () = rested => rest = None,
            () = &mut sweep => {
                watches.sweep();
                sweep = next_sweep(&shared);
            }
        }
    }
}

/// The pause before the next read of everything that a lost hint may have been about.
fn next_sweep(shared: &Shared) -> BoxFuture<'static, ()> {
    let every = shared.options.watched_every;
    shared.clock.sleep(Span(every.0 + shared.chance.jittered(every).0 / 2))
}

/// Reads once and shows what was found. A temporary failure is shown as well, and followed by another read.
async fn read(shared: Arc<Shared>, load: Load) -> PartitionId {
    match query::records(&shared, load.partition, &load.keys).await {
        Ok(records) => shared.watches.show(&load, records.into_iter().map(|record| Ok(record.map(Arc::new)))),
        Err(error) => {
            shared.watches.show(&load, load.keys.iter().map(|_| Err(error.clone())));
            if error.is_temporary() {
                shared.clock.rest(RETRY_AFTER).await;
                shared.watches.want(load.keys.iter());
            }
        }
    }
    load.partition
}
