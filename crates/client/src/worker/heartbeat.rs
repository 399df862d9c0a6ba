//! One heartbeat for all leases of a worker: renews each at half its time and gives up those that are lost.

use super::leases::Leases;
use crate::call::Ask;
use crate::{Client, Result};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use onward_core::{Fence, LeaseId, Millis, PartitionId, Renewed, Span};
use std::collections::BTreeMap;

/// How long a renewal that could not be carried out waits, as a part of the lease, and the longest such pause.
const RETRY_PART: u64 = 16;
const RETRY_MAX: Span = Span::seconds(1);

type Answers = Vec<(LeaseId, Result<Renewed>)>;

/// Renews leases for as long as it is polled.
pub(crate) async fn run(client: Client, leases: Leases, ttl: Span) {
    let mut asked: FuturesUnordered<BoxFuture<'static, Answers>> = FuturesUnordered::new();
    loop {
        let now = client.store_time();
        leases.lose_expired(now);
        // Those of one partition share its fate; a partition that does not answer holds up no other.
        let mut due: BTreeMap<PartitionId, Vec<Fence>> = BTreeMap::new();
        for fence in leases.due(now) {
            due.entry(fence.execution.partition()).or_default().push(fence);
        }
        asked.extend(due.into_values().map(|due| Box::pin(renew(client.clone(), due, ttl)) as BoxFuture<_>));
        let next = leases.next();
        let wait = async {
            match next {
                Some(at) => client.clock().sleep((at - now).max(Span(1))).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(answers) = asked.next(), if !asked.is_empty() => {
                for (lease, answer) in answers {
                    settle(&leases, lease, answer, client.store_time(), ttl);
                }
            }
            () = leases.taken() => {}
            () = wait => {}
        }
    }
}

async fn renew(client: Client, due: Vec<Fence>, ttl: Span) -> Answers {
    let leases: Vec<LeaseId> = due.iter().map(|fence| fence.lease).collect();
    match client.ask::<Vec<Result<Renewed>>>(Ask::Renew { leases: due, ttl }).await {
        Ok(answers) => leases.into_iter().zip(answers).collect(),
        Err(error) => leases.into_iter().map(|lease| (lease, Err(error.clone()))).collect(),
    }
}

fn settle(leases: &Leases, lease: LeaseId, answer: Result<Renewed>, now: Millis, ttl: Span) {
    match answer {
        Ok(renewed) => leases.renewed(lease, renewed, ttl),
        Err(error) if error.is_refused() => {
            tracing::debug!(%lease, %error, "a lease is lost");
            leases.lose(lease);
        }
        Err(error) => {
            tracing::warn!(%lease, %error, "a lease could not be renewed; trying again");
            leases.try_again(lease, now + Span(ttl.0 / RETRY_PART).min(RETRY_MAX));
        }
    }
}
