//! Claimed work on its way to the task that asked for it; what does not arrive is given back.

use super::exchange::Exchange;
use super::reports;
use onward_core::{Claimed, CommandId, Namespace, Report, end};
use std::sync::Arc;

/// Work that was claimed and not accepted yet. Dropped before [`UndeliveredWork::accept`], it is given back.
#[derive(Debug)]
pub(super) struct UndeliveredWork {
    claimed: Vec<Claimed>,
    namespace: Namespace,
    exchange: Arc<Exchange>,
}

impl UndeliveredWork {
    pub(super) fn new(exchange: &Arc<Exchange>, namespace: &Namespace, claimed: Vec<Claimed>) -> Self {
        Self { claimed, namespace: namespace.clone(), exchange: exchange.clone() }
    }

    /// Takes the work; from then on the caller has to report its end.
    pub(super) fn accept(mut self) -> Vec<Claimed> {
        std::mem::take(&mut self.claimed)
    }
}

impl Drop for UndeliveredWork {
    fn drop(&mut self) {
        let claimed = std::mem::take(&mut self.claimed);
        // Without a runtime the program is at its end, and the leases run out.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if claimed.is_empty() {
            return;
        }
        let (exchange, namespace, under_way) = (self.exchange.clone(), self.namespace.clone(), self.exchange.hold());
        runtime.spawn(async move {
            let _under_way = under_way;
            let report = |claimed: Claimed| {
                let command = CommandId(exchange.chance.id());
                Report { command, fence: claimed.fence, end: end::Unclaim.into() }
            };
            let reports = claimed.into_iter().map(report).collect();
            if let Err(error) = reports::send(&exchange, &namespace, reports, None).await {
                tracing::debug!(%error, "work that nobody took could not be given back; its lease will run out");
            }
        });
    }
}
