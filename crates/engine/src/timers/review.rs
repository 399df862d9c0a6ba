//! Looks at every lease once when the store's time may have been set back, however far ahead its end lies.

use crate::Error;
use crate::members::roster::Homes;
use crate::shared::Shared;
use crate::timers::due;
use futures_util::future::join_all;
use onward_core::index::DueKind;
use onward_core::{Due, Key, Millis, PartitionId, Span, limits};
use onward_store::{Found, Range};
use std::sync::Arc;

/// Pause after a failed read.
const RETRY_AFTER: Span = Span::seconds(1);

/// Looks at all leases after a start, since the time may have been set back while no process looked, after a change of
/// homes, and after a step back. The rule brings those nearer that were computed before.
pub(crate) async fn run(shared: Arc<Shared>) {
    loop {
        let pause = match look_over(&shared).await {
            Ok(()) => None,
            Err(error) => {
                tracing::warn!(%error, "leases could not be read; trying again");
                Some(RETRY_AFTER)
            }
        };
        let sleep = async {
            match pause {
                Some(pause) => shared.clock.sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = shared.stopped() => return,
            () = shared.homes_changed.review.notified() => {}
            () = shared.time.set_back.notified() => {}
            () = sleep => {}
        }
    }
}

async fn look_over(shared: &Shared) -> Result<(), Error> {
    let kind = DueKind::Lease;
    let mut range = Range::between(kind.rank(shared.time.now()), kind.rank(Millis(u64::MAX)));
    while let Some(homes) = shared.homes().partitions().filter(|_| shared.homes() != Homes::Nowhere) {
        let page = shared.store.due(&homes, range.clone(), limits::DUE_FIRED_MAX).await?;
        range.after = page.items.last().map(|last| (last.rank, last.key.clone()));
        join_all(page.items.iter().map(|found| look(shared, found))).await;
        if !page.more || shared.is_stopping() {
            break;
        }
    }
    Ok(())
}

/// Looks at one lease. One that cannot be looked at keeps its end, as does every lease until it is looked at.
async fn look(shared: &Shared, found: &Found) {
    let partition = PartitionId(found.partition.0);
    let Ok(key) = found.key.as_str().parse::<Key>() else { return };
    if let Ok(true) = due::in_scope(shared, partition, &key).await
        && let Err(error) = shared.call(partition, Due { key: key.clone() }).await
    {
        tracing::debug!(%key, %error, "a lease could not be looked at");
    }
}
